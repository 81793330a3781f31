"""Retention removes what is older than allowed, wherever it is stored, and never what waits for a person."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.ledger.material import (
    USED,
    answer_run,
    begin,
    bytes_of,
    finish_run,
    make_answer,
    make_approval,
    make_draft,
    make_evidence,
    make_step,
    suspend_run,
)
from veracity.deadlines import Stop
from veracity.errors import NotFoundError, Stopped
from veracity.ledger import Ledger, Observations, RunRecords, prune
from veracity.ledger.expiry import Cutoffs, ExpiredRun
from veracity.ledger.tables import approvals, metadata, runs
from veracity.models import CallMessage, Evidence, Exchange, ModelCall, Pruned

SECRETS = ("zanzibarquartz", "机密斑马条纹", "秘密のシマウマ")
SECRET = " ".join(SECRETS)
OLD = 100  # days
CUTOFFS = Cutoffs.of(runs=90)
VECTOR = b"\0\0\x80\x3f" * 4


def make_old(ledger: Ledger, *run_ids: str, days: int = OLD) -> None:
    moment = datetime.now(UTC) - timedelta(days=days)
    with ledger._database.writing() as connection:
        connection.execute(sa.update(runs).where(runs.c.run_id.in_(run_ids)).values(started=moment))
        decided = approvals.c.run_id.in_(run_ids) & approvals.c.decided_at.is_not(None)
        connection.execute(sa.update(approvals).where(decided).values(decided_at=moment))


def full_run(ledger: Ledger, run_id: str, conversation: str = "", document: str = "d1") -> None:
    """A run with a row in every table, and the secrets in every text."""
    token = begin(ledger, run_id, f"What is {SECRET}?", conversation=conversation, key=f"key of {run_id}")
    passage = make_evidence(f"p of {run_id}", document, SECRET)
    other = make_evidence(f"q of {run_id}", "d9", f"other {SECRET}")
    ledger.keep_evidence(run_id, [passage, other], given=True)
    texts = Exchange(prompt=[CallMessage(role="user", text=SECRET)])
    call = ModelCall(role="writer", model="m", started=datetime.now(UTC), seconds=1.0, texts=texts)
    ledger.record(run_id, make_step("generate_answer", draft=f"draft: {SECRET}"), token=token, model_calls=[call])
    draft = make_draft(run_id, f"first {SECRET}")
    ledger.suspend(run_id, token, make_approval(draft), USED, 1.0)
    ledger.decide(f"{run_id}.1", "approve", by="bob", reason=f"because {SECRET}")
    resumed = ledger.acquire_lease(run_id)
    assert resumed is not None
    answer = make_answer(run_id, [passage, other], f"It is {SECRET} [1].")
    sentence = answer.sentences[0]
    cited = sentence.model_copy(update={"citations": sentence.citations[:1]})
    answer = answer.model_copy(
        update={"sentences": [cited], "conversation": conversation, "decisions": [ledger.approval(run_id).decision]}
    )
    observation = {"output": SECRET}
    records = RunRecords(weak_point="low_score", observation=observation, recallable=True, vector=VECTOR)
    ledger.finish(answer, records, token=resumed)
    ledger.rate(run_id, "up", by="eve", why=f"nice {SECRET}")


def references(ledger: Ledger, *names: str) -> list[str]:
    """The tables with a row that mentions one of these runs or texts."""
    found = []
    with ledger._database.reading() as connection:
        for table in metadata.sorted_tables:
            rows = [str(tuple(row)) for row in connection.execute(sa.select(table))]
            found += [table.name for name in names if any(name in row for row in rows)]
    return found


def check_foreign_keys(ledger: Ledger, folder: Path) -> None:
    path = folder / "ledger" / "ledger.sqlite"
    if path.exists():  # Postgres checks them itself
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_nothing_expires_without_a_setting(ledger: Ledger, observations: Observations) -> None:
    assert ledger.prune(Cutoffs.of(runs=1), observations).is_empty  # no ledger yet
    full_run(ledger, "old")
    make_old(ledger, "old", days=9999)
    unset = Cutoffs.of(runs=None, receipts=None, conversations=None)
    assert ledger.prune(unset, observations) == Pruned(dry_run=False)
    assert ledger.steps("old") and ledger.answer("old")


def test_an_expired_run_leaves_every_table_and_every_byte(
    ledger: Ledger, observations: Observations, tmp_path: Path
) -> None:
    full_run(ledger, "expired1")
    full_run(ledger, "expired2", "talk")
    finish_run(ledger, "recent", "What is a tiger?")
    ledger.deliver(observations)
    make_old(ledger, "expired1", "expired2")
    (tmp_path / "ledger").mkdir(exist_ok=True)
    (tmp_path / "ledger" / "chat_history").write_text(f"\n# 2026\n+What is {SECRET}?\n\n# 2026\n+What is a tiger?\n")
    assert all(secret.encode() in bytes_of(tmp_path) for secret in SECRETS)
    mentioned = references(ledger, "expired1")
    assert {"runs", "steps", "model_calls", "evidence", "weak_points", "outbox", "leases", "approvals", "feedback"} <= {
        *mentioned
    }

    expected = ledger.prune(CUTOFFS, observations, dry_run=True)
    assert (expected.runs, expected.conversations, expected.receipts) == (2, 1, 0)
    assert references(ledger, "expired1") == mentioned  # a dry run changes nothing
    pruned = ledger.prune(CUTOFFS, observations)
    assert pruned == expected.model_copy(update={"dry_run": False})
    assert pruned.oldest == pruned.newest is not None

    assert references(ledger, "expired1", "expired2", *SECRETS) == []
    assert [secret for secret in SECRETS if secret.encode() in bytes_of(tmp_path)] == []
    assert list(observations.read()) == []
    check_foreign_keys(ledger, tmp_path)
    assert [run.run_id for run in ledger.runs()] == ["recent"] == [ledger.find("last")]
    assert ledger.conversations("ann") == [] and ledger.weak_points("ann", f"What is {SECRET}?") == []
    assert ledger.past_turns("ann", None, f"What is {SECRET}?", VECTOR, 5) == []
    for call in (ledger.find, ledger.summary, ledger.parameters):
        with pytest.raises(NotFoundError):
            call("expired1")
    assert ledger.run_state("expired1") is None and ledger.run_by_key("ann", "key of expired1") is None
    full_run(ledger, "expired1")  # id and key are free again
    assert ledger.prune(CUTOFFS, observations).is_empty


def test_what_is_under_way_or_waits_is_kept_whatever_its_age(
    ledger: Ledger, observations: Observations, tmp_path: Path
) -> None:
    begin(ledger, "running", conversation="talk")
    suspend_run(ledger, "waiting", conversation="wait")
    suspend_run(ledger, "decided")
    ledger.decide("decided.1", "reject", by="bob", reason="no")
    full_run(ledger, "answered just now")
    answer_run(ledger, "turn after", "What else?", "Nothing.", "wait")
    everything = ("running", "waiting", "decided", "answered just now", "turn after")
    make_old(ledger, *everything, days=5000)
    with ledger._database.writing() as connection:  # a person decided it yesterday
        late = approvals.c.run_id == "answered just now"
        moment = datetime.now(UTC) - timedelta(days=1)
        connection.execute(sa.update(approvals).where(late).values(decided_at=moment))
    kept = {run.run_id for run in ledger.runs()}

    assert ledger.prune(Cutoffs.of(conversations=1, receipts=90), observations, dry_run=True).runs == 0
    before = {run_id: (ledger.steps(run_id), ledger.evidence(run_id)) for run_id in everything[:4]}
    waiting = ledger.approval("waiting.1")
    assert ledger.prune(Cutoffs.of(runs=90, receipts=30, conversations=30), observations).runs == 1
    assert {run.run_id for run in ledger.runs()} == kept - {"turn after"}
    assert {run_id: (ledger.steps(run_id), ledger.evidence(run_id)) for run_id in before} == before
    assert ledger.approval("waiting.1") == waiting and ledger.pending_count() == 1
    token = ledger.acquire_lease("decided")
    assert token is not None and ledger.decision("decided", 1) is not None
    ledger.finish(make_answer("decided", []), token=token)
    assert ledger.decide("waiting.1", "approve", by="bob").state == "approved"
    check_foreign_keys(ledger, tmp_path)


def test_an_interrupted_prune_leaves_whole_runs_and_is_continued(
    ledger: Ledger, observations: Observations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "BATCH_SIZE", 2)
    names = [f"run{number}" for number in range(5)]
    for name in names:
        full_run(ledger, name)
    make_old(ledger, *names)
    remove_runs, calls = prune.remove_runs, []

    def fail_in_the_second(connection: sa.Connection, expired: list[ExpiredRun], folder: Path) -> int:
        calls.append(len(expired))
        count = remove_runs(connection, expired, folder)
        if len(calls) == 2:
            raise KeyboardInterrupt  # after its rows were deleted, before the commit
        return count

    monkeypatch.setattr(prune, "remove_runs", fail_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        ledger.prune(CUTOFFS, observations)
    assert calls == [2, 2]
    assert [run.run_id for run in ledger.runs()] == ["run2", "run1", "run0"]
    assert all(ledger.steps(name) and ledger.calls(name) and ledger.answer(name) for name in names[:3])
    assert references(ledger, "run4", "run3") == []
    check_foreign_keys(ledger, tmp_path)

    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        ledger.prune(CUTOFFS, observations, stop=stop)
    assert len(ledger.runs()) == 3

    # Killed after the last transaction: the next delivery removes the bytes.
    monkeypatch.setattr(prune, "_scrub", lambda database: None)
    assert ledger.prune(CUTOFFS, observations).runs == 3
    scrubs: list[None] = []
    scrub = ledger._database.scrub
    monkeypatch.setattr(ledger._database, "scrub", lambda: scrubs.append(scrub()))
    ledger.deliver(observations)
    ledger.deliver(observations)
    assert len(scrubs) == 1 and references(ledger, *names) == []
    assert not any(secret.encode() in bytes_of(tmp_path) for secret in SECRETS)


def test_the_files_are_rewritten_once_and_only_if_something_was_removed(
    ledger: Ledger, observations: Observations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "BATCH_SIZE", 1)
    scrubs: list[None] = []
    scrub = ledger._database.scrub
    monkeypatch.setattr(ledger._database, "scrub", lambda: scrubs.append(scrub()))
    for name in ("a", "b", "c"):
        full_run(ledger, name)
    make_old(ledger, "a", "b")
    make_old(ledger, "c", days=50)
    both = Cutoffs.of(runs=90, receipts=30)
    pruned = ledger.prune(both, observations)
    assert (pruned.runs, pruned.receipts, len(scrubs)) == (2, 1, 1)
    assert ledger.prune(both, observations).is_empty and len(scrubs) == 1


def test_a_receipt_is_reduced_to_the_question_and_the_answer(
    ledger: Ledger, observations: Observations, tmp_path: Path
) -> None:
    full_run(ledger, "old", "talk")
    full_run(ledger, "new")
    make_old(ledger, "old")
    ledger.deliver(observations)
    before, details = ledger.answer("old"), ledger.steps("new")
    cutoffs = Cutoffs.of(receipts=90)
    assert ledger.prune(cutoffs, observations, dry_run=True).receipts == 1
    assert ledger.prune(cutoffs, observations).receipts == 1
    assert ledger.prune(cutoffs, observations).receipts == 0
    after = ledger.answer("old")
    assert before is not None and after is not None and before.review is not None and after.review is not None
    for field in ("question", "text", "sentences", "status", "form", "quality", "usage", "conversation"):
        assert getattr(after, field) == getattr(before, field)
    assert after.notices[:-1] == before.notices and after.notices[-1].code == "reduced"
    assert [passage.text for passage in after.evidence] == [SECRET, ""]  # the cited one is kept
    assert (after.review.outcome, after.review.suggestions) == (before.review.outcome, [])
    assert [decision.by for decision in after.decisions] == ["bob"] and SECRET not in str(after.decisions)
    (approval,) = ledger.approvals_of("old")
    assert approval.decision is not None and (approval.decision.by, approval.decision.reason) == ("bob", "")
    assert SECRET not in approval.draft.model_dump_json()
    assert (ledger.steps("old"), ledger.calls("old")) == ([], [])
    assert [passage.text for passage in ledger.evidence("old").values()] == ["", ""]
    assert ledger.steps("new") == details and len(list(observations.read())) == 2
    assert [turn.run_id for turn in ledger.past_turns("ann", "talk", f"What is {SECRET}?", None, 5)] == ["old"]
    check_foreign_keys(ledger, tmp_path)

    ledger.forget_documents(["d1"], observations)  # still finds the answer, although the passages have no text
    forgotten = ledger.answer("old")
    assert forgotten is not None and SECRET not in forgotten.model_dump_json(exclude={"question"})


def test_turns_leave_a_conversation_that_goes_on(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    full_run(ledger, "turn1", "talk")
    full_run(ledger, "turn2", "talk", "d2")
    answer_run(ledger, "turn3", "And tigers?", "Tigers are big.", "talk")
    answer_run(ledger, "turn4", "And lions?", "Lions roar.", "talk", form="direct")
    ledger.keep_summary("ann", "talk", f"They spoke about {SECRET}.", 2)
    make_old(ledger, "turn1", "turn2")
    pruned = ledger.prune(CUTOFFS, observations)
    assert (pruned.runs, pruned.conversations) == (2, 0)
    remembered = ledger.remembered("ann", "talk")
    assert (remembered.summary, [turn.run_id for turn in remembered.turns]) == ("", ["turn3", "turn4"])
    assert not any(secret.encode() in bytes_of(tmp_path) for secret in SECRETS)
    assert references(ledger, "turn1", "turn2") == []
    begin(ledger, "turn5", conversation="talk")
    assert ledger.turns("ann", "talk")[-1].number == 5

    ledger.forget_documents(["d1"], observations)  # the third turn was written with the first, which came from it
    turn3, turn4 = ledger.answer("turn3"), ledger.answer("turn4")
    assert turn3 is not None and turn3.text == ""
    assert turn4 is not None and turn4.text == "Lions roar."  # contains only what it cites
    check_foreign_keys(ledger, tmp_path)


def test_a_conversation_is_removed_days_after_its_last_turn(ledger: Ledger, observations: Observations) -> None:
    for conversation in ("quiet", "busy"):
        full_run(ledger, f"{conversation}1", conversation)
        full_run(ledger, f"{conversation}2", conversation)
    full_run(ledger, "single")
    make_old(ledger, "quiet1", "quiet2", "busy1", "single")
    pruned = ledger.prune(Cutoffs.of(conversations=90), observations)
    assert (pruned.runs, pruned.conversations) == (2, 1)
    assert [run.run_id for run in ledger.runs()] == ["single", "busy2", "busy1"]
    assert [listed.conversation for listed in ledger.conversations("ann")] == ["busy"]
    assert references(ledger, "quiet") == []


def recalled(run_id: str) -> Evidence:
    return make_evidence(f"answer of {run_id}", f"run:{run_id}", "As said before.").model_copy(
        update={"source": "history"}
    )


def test_an_answer_stays_as_long_as_another_one_uses_it(
    ledger: Ledger, observations: Observations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "BATCH_SIZE", 2)
    full_run(ledger, "base")
    answer_run(ledger, "middle", "Again?", "As said before [1].", evidence=[recalled("base")])
    answer_run(ledger, "top", "Once more?", "As said before [1].", evidence=[recalled("middle")])
    full_run(ledger, "unused")
    make_old(ledger, "base", "middle", "unused")
    assert ledger.prune(CUTOFFS, observations).runs == 1
    assert [run.run_id for run in ledger.runs()] == ["top", "middle", "base"]
    make_old(ledger, "top")
    assert ledger.prune(CUTOFFS, observations, dry_run=True).runs == 3
    assert ledger.prune(CUTOFFS, observations).runs == 3
    assert references(ledger, "base", "middle", "top") == []


def test_a_run_that_read_a_removed_answer_cannot_store_it(ledger: Ledger, observations: Observations) -> None:
    full_run(ledger, "removed")
    token = begin(ledger, "reader")  # has found the answer, and not stored it yet
    make_old(ledger, "removed")
    assert ledger.prune(CUTOFFS, observations).runs == 1
    ledger.keep_evidence("reader", [recalled("removed")], given=True)
    ledger.finish(make_answer("reader", [recalled("removed")], f"As {SECRET} said."), token=token)
    answer = ledger.answer("reader")
    assert answer is not None and answer.text == "" and ledger.evidence("reader")["answer of removed"].text == ""
    finish_run(ledger, "later")
    make_old(ledger, "later")
    ledger.deliver(observations)
    ledger.prune(CUTOFFS, observations)
    assert "forgotten_documents" not in references(ledger, "run:removed")
