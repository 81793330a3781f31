"""Forgetting also erases derived texts: pending drafts, later turns, reused answers and conversations (SPEC X3)."""

import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

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
from tests.ledger.test_observations import keys
from veracity.errors import InputError, LedgerError, LostLeaseError, SupersededError
from veracity.ledger import Ledger, Observations, RunRecords, database, sqlite
from veracity.models import Answer, Decision, EvaluationResult, Evidence, MetricScore, OnReject
from veracity.runs.checkpoints import SqliteCheckpoints

RARE = "zanzibarquartz"


def passage(document: str = "d1", name: str = "secret") -> Evidence:
    return make_evidence(name, document, f"{RARE} 天数 有給", title=RARE, location=RARE, headings=[RARE])


def earlier_answer(run_id: str) -> Evidence:
    """An earlier answer as evidence."""
    return passage(f"run:{run_id}", f"of {run_id}").model_copy(update={"source": "history"})


def text_of(ledger: Ledger, run_id: str) -> str:
    answer = ledger.answer(run_id)
    assert answer is not None
    return answer.text


def turn(ledger: Ledger, run_id: str, text: str, conversation: str = "c", **more: Any) -> None:
    """Answer a question, with the text in every step."""
    token = begin(ledger, run_id, f"What about {run_id}?", conversation=conversation)
    names = ("decide_route", "summarize_if_needed", "search_context", "rewrite_query", "generate_answer", "evaluate")
    ledger.record(run_id, *(make_step(name, said=text) for name in names), token=token)
    evidence = more.pop("evidence", [])
    ledger.keep_evidence(run_id, evidence, given=True)
    answer = make_answer(run_id, evidence, text)
    answer = answer.model_copy(update={"form": more.pop("form", "written"), "standalone": text})
    records = {"recallable": True, "observation": {"output": text}}
    ledger.finish(answer, RunRecords(**{**records, **more}), token=token)


def test_a_pending_draft_of_a_forgotten_document_is_superseded(ledger: Ledger, tmp_path: Path) -> None:
    token = begin(ledger, "r1")
    ledger.keep_evidence("r1", [passage()], given=True)
    ledger.record("r1", make_step("human_approval", said=RARE), make_step("web_search", said=RARE), token=token)
    draft = make_answer("r1", [passage()], RARE)
    ledger.suspend("r1", token, make_approval(draft), USED, 1.0)
    suspend_run(ledger, "other")  # its evidence is from d1 too
    begin(ledger, "third")
    ledger.suspend("third", 1, make_approval(make_answer("third", [make_evidence("p", "d3")])), USED, 1.0)
    ledger.forget_documents(["d1"])
    assert ledger.pending_runs() == ["third"]
    summary, approval = ledger.summary("r1"), ledger.approval("r1")
    assert (summary.status, summary.problem) == ("failed", "A document this draft depends on was forgotten.")
    assert (approval.state, approval.draft.text, approval.draft_hash) == (
        "superseded",
        "",
        make_approval(draft).draft_hash,
    )
    with pytest.raises(SupersededError, match="can no longer be decided: a document it depends on was forgotten"):
        ledger.decide("r1.1", "approve", by="bob")
    assert ledger.interrupted() == []
    assert bytes_of(tmp_path / "ledger").count(RARE.encode()) == 0


def test_a_decided_draft_of_a_forgotten_document_fails(ledger: Ledger) -> None:
    suspend_run(ledger, "r1", RARE)
    ledger.decide("r1.1", "approve", by="bob", edit=f"{RARE}!", reason=RARE)
    ledger.forget_documents(["d1"])
    approval = ledger.approval("r1")
    assert (approval.state, ledger.summary("r1").status, ledger.interrupted()) == ("approved", "failed", [])
    assert RARE not in approval.model_dump_json()
    assert approval.decision is not None
    assert (approval.decision.by, approval.decision.edit) == ("bob", None)


def test_a_pending_run_that_only_retrieved_the_document_loses_its_checkpoints(ledger: Ledger, tmp_path: Path) -> None:
    token = begin(ledger, "r1")
    ledger.keep_evidence("r1", [passage()], given=False)
    cited = make_evidence("p", "d2")
    draft = make_answer("r1", [cited]).model_copy(update={"form": "extractive", "evidence": [cited, passage()]})
    ledger.suspend("r1", token, make_approval(draft), USED, 1.0)
    assert (ledger.pending_runs(), ledger.approval("r1").on_reject) == (["r1"], "search")
    ledger.forget_documents(["d1"])
    approval = ledger.approval("r1")
    assert approval.on_reject == "end", "without checkpoints it cannot search the web"
    assert (approval.state, approval.draft.text) == ("pending", "24 days [1].")
    assert [passage.text for passage in approval.draft.evidence] == [cited.text, ""]
    assert (ledger.pending_runs(), ledger.summary("r1").status) == ([], "awaiting_approval")
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    ledger.decide("r1.1", "approve", by="bob", draft_hash=approval.draft_hash)
    assert ledger.interrupted() == ["r1"]


@pytest.mark.parametrize(("before", "after"), [("search", "end"), ("searched", "searched"), ("end", "end")])
def test_rejecting_a_run_that_retrieved_a_forgotten_document_ends_it(
    ledger: Ledger, before: OnReject, after: str
) -> None:
    token = begin(ledger, "r1")
    ledger.forget_documents(["d1"])
    ledger.keep_evidence("r1", [passage()], given=False)
    approval = make_approval(make_answer("r1", [make_evidence("p", "d2")])).model_copy(update={"on_reject": before})
    assert ledger.suspend("r1", token, approval, USED, 1.0).on_reject == after
    assert ledger.pending_runs() == []


def test_a_run_under_way_cannot_suspend_a_forgotten_draft(ledger: Ledger, tmp_path: Path) -> None:
    token = begin(ledger, "r1")
    ledger.forget_documents(["d1"])
    ledger.keep_evidence("r1", [passage()], given=True)
    kept = ledger.suspend("r1", token, make_approval(make_answer("r1", [passage()], RARE)), USED, 1.0)
    assert (kept.state, kept.draft.text, ledger.summary("r1").status) == ("superseded", "", "failed")
    ledger.deliver(Observations(tmp_path / "observational_data.json"))
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_comments_of_judges_and_people_are_erased(ledger: Ledger, tmp_path: Path) -> None:
    token = begin(ledger, "r1")
    ledger.keep_evidence("r1", [passage()], given=True)
    score = MetricScore(metric_name="Coverage", score=50, evaluator_comment=RARE)
    decision = Decision(verdict="approve", by="bob", at=ledger.summary("r1").started, reason=RARE, edit=RARE)
    said = {
        "evaluation": EvaluationResult(metrics=[score], overall_score=50, warnings=[RARE]),
        "score": 0.5,
        "decisions": [decision],
        "standalone": RARE,
        "quality": None,
    }
    answer = make_answer("r1", [passage()], RARE).model_copy(update=said)
    ledger.finish(answer, token=token)
    ledger.forget_documents(["d1"])
    kept = ledger.answer("r1")
    assert kept is not None
    assert kept.evaluation is not None
    assert (kept.score, kept.evaluation.overall_score, kept.decisions[0].by) == (0.5, 50, "bob")
    assert bytes_of(tmp_path / "ledger").count(RARE.encode()) == 0


def test_answers_that_reused_a_forgotten_answer_are_erased_transitively(
    ledger: Ledger, observations: Observations, tmp_path: Path
) -> None:
    answer_run(ledger, "r1", "How?", RARE, "a", evidence=[passage()])
    answer_run(
        ledger, "r2", "How?", RARE, "b", evidence=[earlier_answer("r1")], form="recalled", observation={"output": RARE}
    )
    answer_run(ledger, "r3", "How?", RARE, evidence=[earlier_answer("r2")], form="recalled")
    answer_run(ledger, "r4", "How?", "Another thing.", evidence=[make_evidence("p", "run:r9")], form="recalled")
    ledger.deliver(observations)
    ledger.forget_documents(["d1"], observations)
    assert [text_of(ledger, run_id) for run_id in ("r1", "r2", "r3", "r4")] == ["", "", "", "Another thing."]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    assert [turn.run_id for turn in ledger.past_turns("ann", None, "another thing", None, 9)] == ["r4"]


def test_a_run_under_way_cannot_reuse_a_forgotten_answer(ledger: Ledger, tmp_path: Path) -> None:
    answer_run(ledger, "r1", "How?", RARE, "a", evidence=[passage()])
    token = begin(ledger, "r2")
    ledger.forget_documents(["d1"])
    ledger.keep_evidence("r2", [earlier_answer("r1")], given=True)
    answer = make_answer("r2", [earlier_answer("r1")], RARE).model_copy(update={"form": "recalled"})
    ledger.finish(answer, RunRecords(recallable=True), token=token)
    ledger.deliver(Observations(tmp_path / "observational_data.json"))
    assert text_of(ledger, "r2") == ""
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_later_turns_of_the_conversation_are_erased(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    turn(ledger, "r1", "Before.")
    turn(ledger, "r2", RARE, evidence=[passage()])
    turn(ledger, "r3", f"As I said, {RARE}.")
    turn(ledger, "r4", "Another document.", evidence=[make_evidence("p", "d2")], form="extractive")
    turn(ledger, "elsewhere", "Not touched.", "other")
    ledger.keep_summary("ann", "c", f"They spoke of {RARE}.", 2)
    ledger.keep_summary("ann", "other", "kept", 1)
    ledger.deliver(observations)
    ledger.forget_documents(["d1"], observations)
    texts = {run_id: text_of(ledger, run_id) for run_id in ("r1", "r2", "r3", "r4", "elsewhere")}
    assert texts == {"r1": "Before.", "r2": "", "r3": "", "r4": "Another document.", "elsewhere": "Not touched."}
    unchanged = {step.name for step in ledger.steps("r4") if step.texts is not None}
    assert unchanged == {"generate_answer", "evaluate"}
    fourth = ledger.answer("r4")
    assert fourth is not None
    assert fourth.standalone == ""
    memory = ledger.remembered("ann", "c")
    assert (memory.summary, memory.folded, [past.answer for past in memory.turns]) == (
        "",
        0,
        ["Before.", "", "", "Another document."],
    )
    assert ledger.remembered("ann", "other").summary == "kept"
    assert keys(tmp_path / "observational_data.json") == [("r1", 1), ("elsewhere", 1)]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    ledger.keep_summary("ann", "c", "a new summary", 2)
    assert ledger.remembered("ann", "c").summary == "a new summary"


@pytest.mark.parametrize("form", ["written", "extractive"])
def test_a_later_turn_under_way_cannot_store_forgotten_texts(ledger: Ledger, tmp_path: Path, form: str) -> None:
    """It read the conversation before: its summary and its answer may contain the texts."""
    turn(ledger, "r1", RARE, evidence=[passage()])
    token = begin(ledger, "r2", conversation="c")
    ledger.forget_documents(["d1"])
    ledger.keep_summary("ann", "c", RARE, 1)
    ledger.record("r2", make_step("decide_route", said=RARE), make_step("generate_answer", said=RARE), token=token)
    text = RARE if form == "written" else "Another document."
    answer = make_answer("r2", [make_evidence("p", "d2")], text)
    answer = answer.model_copy(update={"form": form, "standalone": RARE})
    ledger.finish(answer, RunRecords(recallable=True), token=token)
    assert text_of(ledger, "r2") == ("" if form == "written" else text)
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    assert ledger.past_turns("ann", "c", "another document", None, 5) == []
    begin(ledger, "r3", conversation="c")
    ledger.keep_summary("ann", "c", "a new summary", 1)
    assert ledger.remembered("ann", "c").summary == "a new summary"


def test_a_rejected_attempt_loses_its_draft(ledger: Ledger, tmp_path: Path) -> None:
    """The first draft cited it and was rejected; the final answer is from the web."""
    token = begin(ledger, "r1")
    ledger.keep_evidence("r1", [passage()], given=True)
    ledger.record("r1", make_step("generate_answer", draft=RARE), token=token)
    first = make_answer("r1", [passage()], RARE).model_copy(update={"form": "extractive"})
    ledger.suspend("r1", token, make_approval(first), USED, 1.0)
    ledger.decide("r1.1", "reject", by="bob")
    token = ledger.acquire_lease("r1") or 0
    web = make_evidence("w", "https://example.org/")
    ledger.keep_evidence("r1", [web], given=True)
    last = make_answer("r1", [web], "From the web [1].").model_copy(update={"form": "extractive", "attempt": 2})
    ledger.finish(last, token=token)
    ledger.forget_documents(["d1"])
    assert text_of(ledger, "r1") == "From the web [1]."
    assert ledger.approval("r1").draft.text == ""
    assert ledger.approval("r1").state == "rejected"
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_an_extractive_answer_loses_uncited_passages(ledger: Ledger, tmp_path: Path) -> None:
    """Also when it is stored after they were forgotten."""
    token = begin(ledger, "r1")
    ledger.forget_documents(["d1"])
    cited = make_evidence("p", "d2")
    ledger.keep_evidence("r1", [cited, passage()], given=True)
    answer = make_answer("r1", [cited])
    answer = answer.model_copy(update={"form": "extractive", "evidence": [cited, passage()]})
    ledger.finish(answer, token=token)
    kept = ledger.answer("r1")
    assert kept is not None
    assert (kept.text, [item.text for item in kept.evidence]) == ("24 days [1].", [cited.text, ""])
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_a_conversation_is_erased_to_the_last_byte(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    name = f"{RARE} chat"
    for number in range(3):
        turn(ledger, f"r{number}", RARE, name, evidence=[passage()], weak_point="low_score", vector=b"\0\0\0\0")
    token = begin(ledger, "waiting", f"And {RARE}?", conversation=name)
    draft = make_answer("waiting", [passage()], RARE).model_copy(update={"question": RARE})
    ledger.suspend("waiting", token, make_approval(draft), USED, 1.0)
    running = begin(ledger, "running", RARE, conversation=name)
    ledger.keep_summary("ann", name, RARE, 2)
    answer_run(ledger, "used it", "How?", RARE, "another", evidence=[earlier_answer("r1")], form="recalled")
    turn(ledger, "other", "Not touched.", "third")
    ledger.deliver(observations)
    assert ledger.forget_conversation("ann", name, observations) == 5
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    assert [run.status for run in ledger.runs()] == ["answered", "answered", "failed", "failed", *["answered"] * 3]
    assert (ledger.summary("r0").question, ledger.summary("r0").conversation, ledger.parameters("r0").usage) == (
        "",
        "",
        USED,
    )
    assert ledger.summary("running").problem == ledger.summary("waiting").problem == "The conversation was forgotten."
    assert (text_of(ledger, "used it"), text_of(ledger, "other")) == ("", "Not touched.")
    assert [listed.conversation for listed in ledger.conversations("ann")] == ["third", "another"]
    assert ledger.turns("ann", name) == []
    assert ledger.weak_points("ann", "What about r1?") == []
    with pytest.raises(LostLeaseError):
        ledger.finish(draft, token=running)
    ledger.keep_evidence("running", [passage()], given=True)
    assert ledger.evidence("running")["secret"].text == ""
    with pytest.raises(SupersededError):
        ledger.decide("waiting.1", "approve", by="bob")
    with pytest.raises(InputError, match="There is no conversation"):
        ledger.forget_conversation("ann", name)
    begin(ledger, "anew", conversation=name)
    assert [past.number for past in ledger.turns("ann", name)] == [1]


def test_web_addresses_are_erased_with_the_conversation_x3(ledger: Ledger, tmp_path: Path) -> None:
    """Addresses can reveal the question."""
    address = f"https://{RARE}.example/page"
    pages = [passage(address, f"web-{number}").model_copy(update={"source": "web"}) for number in range(2)]
    turn(ledger, "r1", RARE, evidence=[*pages, passage("d1")])
    begin(ledger, "running", conversation="c")
    turn(ledger, "other", "Not touched.", "another", evidence=[make_evidence("web-0", "https://kept.example")])
    ledger.forget_documents([address])  # erases their texts first
    ledger.forget_conversation("ann", "c")
    ledger.keep_evidence("running", pages, given=True)  # stored late
    kept = ledger.evidence("r1")
    assert {name: item.document_id for name, item in kept.items()} == {
        "web-0": "forgotten",
        "web-1": "forgotten",
        "secret": "d1",
    }
    assert {item.document_id for item in ledger.evidence("running").values()} == {"forgotten"}
    assert ledger.evidence("other")["web-0"].document_id == "https://kept.example"
    ledger._database.scrub()
    with ledger._database.reading() as connection:
        rows = list(connection.execute(text("SELECT document_id || body FROM evidence")).scalars())
    assert len(rows) == 6 and not any(RARE in row for row in rows)


def test_another_users_conversation_of_the_same_name_is_kept(ledger: Ledger) -> None:
    for user in ("ann", "bob"):
        answer_run(ledger, f"of {user}", "How long do refunds take?", "14 days.", "same", user=user)
    with pytest.raises(InputError, match='There is no conversation "same"'):
        ledger.forget_conversation("carl", "same")
    assert ledger.forget_conversation("ann", "same") == 1
    assert [past.answer for past in ledger.turns("bob", "same")] == ["14 days."]
    assert [turn.run_id for turn in ledger.past_turns("bob", "same", "refunds", None, 5)] == ["of bob"]


def test_many_turns_are_erased(ledger: Ledger) -> None:
    """Each affects all later ones, but each is erased a bounded number of times."""
    for number in range(120):
        answer_run(ledger, f"r{number}", "How?", RARE, "c", evidence=[passage()])
    ledger.forget_documents(["d1"])
    assert {text_of(ledger, f"r{number}") for number in range(120)} == {""}


@pytest.mark.only_sqlite
def test_checkpoints_are_erased_except_those_of_pending_runs(ledger: Ledger, tmp_path: Path) -> None:
    store = SqliteCheckpoints(tmp_path / "ledger")
    checkpoints = store.saver(nullcontext)
    for run_id in ("waits", "touched", "killed", "%"):
        state = {"v": 1, "id": "1", "ts": "", "channel_values": {"text": RARE + run_id}, "channel_versions": {}}
        config: Any = {"configurable": {"thread_id": run_id, "checkpoint_ns": ""}}
        saved = checkpoints.put(config, {**state, "versions_seen": {}, "pending_sends": []}, {}, {})  # type: ignore[typeddict-item]
        checkpoints.put_writes(saved, [("__interrupt__", RARE + run_id)], "task")
    store.close()
    suspend_run(ledger, "touched")
    begin(ledger, "waits")
    ledger.suspend("waits", 1, make_approval(make_draft("waits").model_copy(update={"evidence": []})), USED, 1.0)
    ledger.forget_documents(["d1"])
    with closing(sqlite3.connect(tmp_path / "ledger" / "checkpoints.sqlite")) as connection:
        for table in ("checkpoints", "writes"):
            assert connection.execute(f"SELECT DISTINCT thread_id FROM {table}").fetchall() == [("waits",)]
    content = bytes_of(tmp_path / "ledger")
    assert f"{RARE}waits".encode() in content
    assert f"{RARE}touched".encode() not in content
    assert f"{RARE}killed".encode() not in content
    ledger._database.erase_checkpoints([])
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")
    sqlite.SqliteDatabase(tmp_path / "nowhere").erase_checkpoints([])


@pytest.mark.only_sqlite
def test_the_next_delivery_erases_checkpoints_that_were_being_read(
    ledger: Ledger, tmp_path: Path, observations: Observations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of a database cannot be truncated while it is read."""
    monkeypatch.setattr(sqlite, "CHECKPOINTS_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    finish_run(ledger, "r1")
    path = tmp_path / "ledger" / sqlite.CHECKPOINTS_FILE
    checkpoints = SqliteCheckpoints(tmp_path / "ledger")._connection
    columns = "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint) VALUES ('r1', '', '1', ?)"
    checkpoints.execute(columns, (RARE * 50,))
    checkpoints.commit()
    checkpoints.execute("BEGIN")
    checkpoints.execute("SELECT * FROM checkpoints").fetchall()
    with pytest.raises(LedgerError, match=f"{sqlite.CHECKPOINTS_FILE}.*try again"):
        ledger.forget_documents(["d1"])
    assert RARE.encode() in bytes_of(tmp_path / "ledger")
    checkpoints.rollback()
    ledger.deliver(observations)
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")
    checkpoints.close()
    path.write_bytes(b"rubbish" * 1000)
    with pytest.raises(LedgerError, match="only unfinished runs lose their progress"):
        ledger.scrub_progress()


def test_an_answer_without_evidence_is_stored(ledger: Ledger) -> None:
    token = begin(ledger, "r1")
    answer = Answer(
        run_id="r1", status="answered", question="Hi", text="Hello.", form="direct", language="en", quality=None
    )
    ledger.finish(answer, token=token)
    assert ledger.answer("r1") == answer
