"""What the ledger forgets (SPEC X3): documents, conversations, and what was made of them, wherever it was used again.

An earlier answer that was evidence for a later one counts as a document ("run:" and its id), and a writer had the
turns of its conversation before it. That also holds for a run that was under way meanwhile and hands in later what it
had read before. Knows nothing about files.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, false, func, insert, null, select, update

from veracity.errors import LedgerError, reason_of
from veracity.ledger import leases, observations
from veracity.ledger.database import explained, write_anew
from veracity.ledger.rows import approvals, conversations, evidence, feedback, recall, runs, weak_points
from veracity.ledger.rows import evidence as evidence_rows
from veracity.ledger.tables import forgotten_documents, steps
from veracity.ledger.tables import runs as run_rows
from veracity.models import Answer, Decision, Dimension, EvaluationResult, Notice, NoticeCode, Review, Step

GONE = "(removed with what was forgotten)"
NOTHING_BUT: NoticeCode = "evaluator_warning"  # has no words of ours
# Notices that end with such words, behind a colon (runs/notices.py).
QUOTING: frozenset[NoticeCode] = frozenset(
    (
        "not_reviewed",
        "redraft_failed",
        "rewrite_failed",
        "not_reranked",
        "not_scored",
        "web_failed",
        "web_not_written",
        "not_routed",
        "not_summarized",
    )
)
_FACTS = frozenset(("problem", "failed"))
_FACTS_OF = {"web_search": _FACTS | {"outcome"}}  # elsewhere an outcome is a word of ours
_BEHIND = re.compile("([:：]).*", re.S)
_ENDS = {":": ".", "：": "。"}


def notices_without(notices: Iterable[Notice]) -> list[Notice]:
    return [_without(one) if one.code in QUOTING else one for one in notices if one.code != NOTHING_BUT]


def facts_without(step: str, facts: dict[str, Any]) -> dict[str, Any]:
    quoting = _FACTS_OF.get(step, _FACTS)
    return {name: GONE if name in quoting else fact for name, fact in facts.items()}


def _without(notice: Notice) -> Notice:
    return notice.model_copy(update={"text": _BEHIND.sub(lambda found: _ENDS[found[1]], notice.text)})


NOTHING, FOUND, GIVEN, ALL = 0, 1, 2, 3  # how far a run is touched; ALL: its conversation was forgotten
# Steps that tell of queries: a rewritten one may hold words of a document that was found, and not given.
QUERYING = ("rewrite_query", "grade_documents", "prepare_messages")
# Steps that had the conversation before them.
CONVERSING = ("decide_route", "summarize_if_needed", "search_context")
CITING = ("extractive", "recalled", "direct")  # forms of answers that have only what they cite
RESTED = "A document the draft rests on was forgotten."
NOTICES = {
    "en": "A document this answer rests on was forgotten, and its text with it.",
    "zh": "本回答所依据的文档已被遗忘，其内容已随之删除。",
    "ja": "この回答の根拠となった文書は削除され、本文も消去されました。",
}


def strip(connection: Connection, run_id: str, touched: int, *, told: bool = False) -> int:
    """Take from a run what may come from what its passages were emptied of; `told`: from its conversation. How far it
    is touched in the end."""
    emptied = evidence_rows.emptied_ids(connection, run_id)
    answer, drafts = runs.answer_of(connection, run_id), approvals.of_run(connection, run_id)
    texts = [one for one in (answer, *(approval.draft for approval in drafts)) if one is not None]
    reached = max((extent(one, touched, emptied) for one in texts), default=touched)
    if answer is not None:
        kept = as_kept(answer, extent(answer, touched, emptied), emptied, told=told)
        connection.execute(
            update(run_rows).where(run_rows.c.run_id == run_id), {"answer": kept.model_dump(mode="json")}
        )
    for approval in drafts:
        level = extent(approval.draft, touched, emptied)
        draft = as_kept(approval.draft, level, emptied, told=told)
        approvals.replace_draft(connection, approval.approval_id, draft, mute=level >= GIVEN)
    if reached >= GIVEN:
        feedback.mute(connection, run_id)
    _strip_problem(connection, run_id)
    _strip_steps(connection, run_id, reached, told)
    _mark(connection, run_id, reached)
    observations.withdraw(connection, run_id)
    return reached


def extent(answer: Answer | None, touched: int, emptied: set[str]) -> int:
    """How far an answer is touched: one that shows a passage had it, whatever was said when the passage was kept. Some
    have only what they cite."""
    if answer is None or touched in (NOTHING, ALL):
        return touched
    if answer.form in CITING:
        cited = {citation.evidence_id for sentence in answer.sentences for citation in sentence.citations}
        return GIVEN if cited & emptied else FOUND
    return GIVEN if touched == GIVEN or any(item.id in emptied for item in answer.evidence) else FOUND


def as_kept(answer: Answer, touched: int, emptied: set[str], *, told: bool) -> Answer:
    """The answer as one that is touched may be kept. The places of other passages stay, since [n] names them."""
    if touched >= GIVEN:
        return _without_texts(answer, ALL if touched == ALL else GIVEN)
    evidence = [evidence_rows.blank(item) if item.id in emptied else item for item in answer.evidence]
    kept = {"evidence": evidence, "notices": notices_without(answer.notices)}
    return answer.model_copy(update={**kept, "standalone": "" if told else answer.standalone})


def step_as_kept(step: Step, touched: int) -> Step:
    if touched == NOTHING:
        return step
    texts = step.texts if touched == FOUND and step.name not in QUERYING else None
    return step.model_copy(update={"texts": texts, "facts": facts_without(step.name, step.facts)})


def problem_as_kept(problem: str, touched: int) -> str:
    return GONE if problem and touched != NOTHING else problem


def _strip_problem(connection: Connection, run_id: str) -> None:
    told = (run_rows.c.run_id == run_id) & run_rows.c.problem.not_in(("", RESTED))
    connection.execute(update(run_rows).where(told).values(problem=GONE))


def _strip_steps(connection: Connection, run_id: str, touched: int, told: bool) -> None:
    theirs = steps.c.run_id == run_id
    if touched == FOUND:
        theirs &= steps.c.name.in_((*QUERYING, *CONVERSING) if told else QUERYING)
    connection.execute(update(steps).where(theirs).values(texts=null()))
    for row in connection.execute(select(steps.c.seq, steps.c.name, steps.c.facts).where(steps.c.run_id == run_id)):
        kept = facts_without(row.name, row.facts)
        if kept != row.facts:
            same = (steps.c.run_id == run_id) & (steps.c.seq == row.seq)
            connection.execute(update(steps).where(same).values(facts=kept))


def _mark(connection: Connection, run_id: str, touched: int) -> None:
    run = runs.held(connection, run_id)
    less = (run_rows.c.run_id == run_id) & (run_rows.c.forgotten < touched)
    connection.execute(update(run_rows).where(less).values(forgotten=touched))
    recall.remove(connection, run.number)
    if run.status != "awaiting_approval":
        return
    approvals.cannot_search(connection, run_id)
    if touched >= GIVEN:
        approvals.supersede(connection, run_id)
        runs.set_status(connection, run_id, "failed", RESTED)
        leases.revoke(connection, run_id)


def _without_texts(answer: Answer, touched: int) -> Answer:
    notices = [notice for notice in notices_without(answer.notices) if notice.code != "forgotten"]
    told = Notice(code="forgotten", text=NOTICES.get(answer.language, NOTICES["en"]))
    emptied = {"text": "", "standalone": "", "sentences": [], "evidence": [], "missing": []}
    if touched == ALL:
        emptied |= {"question": "", "conversation": ""}
    found = {
        "review": _verdict(answer.review),
        "evaluation": _scores(answer.evaluation),
        "decisions": [_decision(one) for one in answer.decisions],
    }
    return answer.model_copy(update={**emptied, **found, "notices": [*notices, told]})


def _verdict(review: Review | None) -> Review | None:
    """What was found, without the words of it: they quote."""
    if review is None:
        return None
    parts = {"reasonableness": _mute(review.reasonableness), "evidence": _mute(review.evidence)}
    return review.model_copy(update={**parts, "suggestions": [], "problem": ""})


def _mute(dimension: Dimension | None) -> Dimension | None:
    return None if dimension is None else Dimension(passed=dimension.passed)


def _scores(result: EvaluationResult | None) -> EvaluationResult | None:
    if result is None:
        return None
    metrics = [score.model_copy(update={"evaluator_comment": ""}) for score in result.metrics]
    return result.model_copy(update={"metrics": metrics, "warnings": []})


def _decision(decision: Decision) -> Decision:
    return decision.model_copy(update={"reason": "", "edit": None})


FILE_TYPED = "chat_history"
_ENTRY = re.compile(rb"(?:^(?!\+).*\n)*(?:^\+.*\n?)+", re.M)


def forget_typed(folder: Path, texts: Iterable[str]) -> None:
    """Remove these from the history, and with them every other form in which they were typed."""
    path, unwanted = folder / FILE_TYPED, {text.strip() for text in texts}
    try:
        entries = _ENTRY.findall(path.read_bytes())
        kept = [entry for entry in entries if _text(entry).strip() not in unwanted]
        if len(kept) < len(entries):
            _replace(path, b"".join(kept))
    except FileNotFoundError:
        return
    except OSError as problem:
        raise LedgerError(
            f'What was typed in the conversation may still be in "{path}" ({reason_of(problem)}): remove it.'
        ) from None


def _text(entry: bytes) -> str:
    lines = entry.decode("utf-8", "replace").split("\n")
    return "\n".join(line[1:] for line in lines if line.startswith("+"))


def _replace(path: Path, content: bytes) -> None:
    """Only its owner may read it."""
    rest = path.with_suffix(".new")
    rest.unlink(missing_ok=True)
    with os.fdopen(os.open(rest, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    rest.replace(path)


FILE = "checkpoints.sqlite"
REMEDY = "remove it: only runs under way lose their progress."
PATIENCE = 30.0  # seconds to wait for another process that uses it


def scrub(folder: Path, spare: Collection[str] = ()) -> None:
    """Remove all progress, of killed runs too, and its bytes from the disk; but not that of the runs in `spare`, which
    wait for a person. Runs under way go on: they only need it to be taken up again."""
    path = folder / FILE
    if not path.exists():
        return
    with (
        explained(path, REMEDY),
        contextlib.closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as connection,
    ):
        connection.execute("CREATE TEMP TABLE spared (thread_id TEXT PRIMARY KEY)")
        connection.executemany("INSERT OR IGNORE INTO spared VALUES (?)", [(run_id,) for run_id in spare])
        connection.execute("BEGIN IMMEDIATE")
        for table in ("checkpoints", "writes"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id NOT IN (SELECT thread_id FROM spared)")
        connection.execute("COMMIT")
        write_anew(connection, path)


AT_ONCE = 500
ENDED = "Its conversation was forgotten."


class _Reach:
    """How far forgetting has come, so that nothing is done twice."""

    def __init__(self) -> None:
        self.since: dict[tuple[str, str], int] = {}  # by user and conversation, the turn after which all were told
        self.emptied: set[tuple[str, str]] = set()  # conversations that have no summary any more
        self.told: set[str] = set()  # runs that lost what they may have from their conversation, in this batch


def forget(connection: Connection, document_ids: Sequence[str]) -> None:
    last_run = connection.execute(select(func.max(run_rows.c.number))).scalar() or 0
    known, reach = dict.fromkeys(document_ids), _Reach()
    left = list(known)
    while left:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        _remember(connection, some, last_run)
        touched = evidence.empty(connection, some)
        reach.told.clear()
        for run, run_id in sorted((runs.held(connection, run_id), run_id) for run_id in touched):
            lost = _strip_with_later(connection, run_id, run, GIVEN if touched[run_id] else FOUND, reach)
            fresh = [document for one in lost if (document := as_document(one)) not in known]
            known.update(dict.fromkeys(fresh))
            left += fresh


def forget_conversation(connection: Connection, user: str, conversation: str) -> list[str]:
    """Its runs, which keep nothing but when they ran and what they used."""
    theirs = conversations.run_ids(connection, user, conversation)
    forget(connection, [as_document(run_id) for run_id in theirs])
    for run_id in theirs:
        evidence.empty_run(connection, run_id)
        unfinished = runs.held(connection, run_id).status in ("running", "awaiting_approval")
        strip(connection, run_id, ALL)
        approvals.remove_question(connection, run_id)
        weak_points.remove(connection, run_id)
        feedback.remove(connection, run_id)
        if unfinished:
            approvals.supersede(connection, run_id)
            runs.set_status(connection, run_id, "failed", ENDED)
            leases.revoke(connection, run_id)
    conversations.remove(connection, user, conversation, theirs)
    return theirs


def as_document(run_id: str) -> str:
    """An earlier answer as evidence has this id of a document."""
    return f"run:{run_id}"


def among(connection: Connection, document_ids: set[str], number: int) -> set[str]:
    """Those of the documents that were forgotten after the run of this number began."""
    gone = select(forgotten_documents.c.document_id).where(forgotten_documents.c.last_run >= number)
    return set(connection.execute(gone.where(forgotten_documents.c.document_id.in_(document_ids))).scalars())


def strip_late(connection: Connection, run_id: str, document_ids: set[str], was_given: bool) -> None:
    """For a run that hands in passages of documents which were forgotten meanwhile."""
    strip(connection, run_id, GIVEN if was_given else FOUND)
    mark_scrubbed(connection, sorted(document_ids), scrubbed=False)


def not_scrubbed(connection: Connection) -> list[str]:
    """The documents whose rows were emptied, while their bytes may still be in the files."""
    left = select(forgotten_documents.c.document_id).where(forgotten_documents.c.is_scrubbed == false())
    return list(connection.execute(left).scalars())


def mark_scrubbed(connection: Connection, document_ids: Sequence[str], *, scrubbed: bool = True) -> None:
    for some in _batches(document_ids):
        theirs = forgotten_documents.c.document_id.in_(some)
        connection.execute(update(forgotten_documents).where(theirs).values(is_scrubbed=scrubbed))


def _strip_with_later(connection: Connection, run_id: str, run: runs.HeldRun, touched: int, reach: _Reach) -> list[str]:
    """The run, and the later turns of its conversation, whose writers had it. Those that lost their texts."""
    here = (run.user, run.conversation)
    if run.conversation and here not in reach.emptied:
        conversations.empty_summary(connection, *here)
        reach.emptied.add(here)
    if run_id in reach.told or strip(connection, run_id, touched) < GIVEN:
        return []
    lost = [run_id]
    if run.conversation and run.turn < reach.since.get(here, run.turn + 1):
        later = conversations.run_ids(connection, *here, run.turn, reach.since.get(here))
        lost += [one for one in later if strip(connection, one, GIVEN, told=True) >= GIVEN]
        reach.told.update(later)
        reach.since[here] = run.turn
    return lost


def _remember(connection: Connection, document_ids: Sequence[str], last_run: int) -> None:
    known = set(
        connection.execute(
            select(forgotten_documents.c.document_id).where(forgotten_documents.c.document_id.in_(document_ids))
        ).scalars()
    )
    values = {"last_run": last_run, "is_scrubbed": False}
    connection.execute(
        update(forgotten_documents).where(forgotten_documents.c.document_id.in_(known)).values(values),
    )
    if fresh := [{"document_id": one, **values} for one in document_ids if one not in known]:
        connection.execute(insert(forgotten_documents), fresh)


def _batches(document_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (document_ids[start : start + AT_ONCE] for start in range(0, len(document_ids), AT_ONCE))
