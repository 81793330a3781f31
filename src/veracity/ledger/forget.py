"""Forgetting (SPEC X3): erases documents and conversations, and everything derived from them, wherever it was reused.

An earlier answer used as evidence counts as a document ("run:" and the run's id). Writers see earlier turns of their
conversation, so erasing a turn erases the later ones. What a run read before and stores later is erased on arrival.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, delete, false, func, insert, select, update

from veracity.errors import LedgerError, reason_of
from veracity.ledger import leases, observations
from veracity.ledger.rows import approvals, calls, conversations, evidence, feedback, recall, runs, weak_points
from veracity.ledger.tables import forgotten_documents
from veracity.ledger.tables import runs as run_table
from veracity.locales import LANGUAGES, text
from veracity.models import Answer, Dimension, ModelCall, Notice, NoticeCode, Step
from veracity.models.steps import ERASED_TEXT
from veracity.workspace import CHAT_HISTORY_FILE

BATCH_SIZE = 500
DRAFT_FORGOTTEN = "A document this draft depends on was forgotten."
CONVERSATION_FORGOTTEN = "The conversation was forgotten."
QUERY_STEPS = ("rewrite_query", "grade_documents", "prepare_messages")  # queries may quote retrieved passages
HISTORY_STEPS = ("decide_route", "summarize_if_needed", "search_context")  # these read the conversation
WEAK_POINTS_ROLE = "rewriter"  # its prompts name weak points: questions from any conversation of the user
CITING_FORMS = ("extractive", "recalled", "direct")  # forms of answers that contain only what they cite
# Notices that may quote a document after a colon (section "notices" of the locales).
QUOTING_NOTICES: tuple[NoticeCode, ...] = (
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
_QUOTE = re.compile("([:：]).*", re.S)
_SENTENCE_ENDS = {":": ".", "：": "。"}
_HISTORY_ENTRY = re.compile(rb"(?:^(?!\+).*\n)*(?:^\+.*\n?)+", re.M)


class Exposure(IntEnum):
    """How much of a run may come from forgotten texts. Stored in `runs.forgotten`."""

    NONE = 0
    RETRIEVED = 1  # found by a search, not given to the writer
    WRITTEN = 2  # given to the writer
    ALL = 3  # the conversation of the run was forgotten


class _Cascade:
    """Records what was erased, so that nothing is erased twice."""

    def __init__(self) -> None:
        self.first_erased: dict[tuple[str, str], int] = {}  # by user and conversation, the turn all later ones followed
        self.summaries: set[tuple[str, str]] = set()  # conversations whose summary was emptied
        self.runs: set[str] = set()  # erased because of an earlier turn, in this batch


def forget_documents(connection: Connection, document_ids: Sequence[str]) -> None:
    last_run = connection.execute(select(func.max(run_table.c.number))).scalar() or 0
    seen, cascade = dict.fromkeys(document_ids), _Cascade()
    queue = list(seen)
    while queue:
        batch, queue = queue[:BATCH_SIZE], queue[BATCH_SIZE:]
        add_forgotten(connection, batch, last_run)
        affected = evidence.blank_documents(connection, batch)
        cascade.runs.clear()
        for run, run_id in sorted((runs.lock(connection, run_id), run_id) for run_id in affected):
            exposure = Exposure.WRITTEN if affected[run_id] else Exposure.RETRIEVED
            erased = _erase_with_later_turns(connection, run_id, run, exposure, cascade)
            new = [document for erased_id in erased if (document := document_id_of(erased_id)) not in seen]
            seen.update(dict.fromkeys(new))
            queue += new


def forget_conversation(connection: Connection, user: str, conversation: str) -> list[str]:
    """Returns the runs of the conversation, which keep only their times and usage."""
    run_ids = conversations.list_run_ids(connection, user, conversation)
    forget_documents(connection, [document_id_of(run_id) for run_id in run_ids])
    for run_id in run_ids:
        evidence.blank_run(connection, run_id)
        is_unfinished = runs.lock(connection, run_id).status in ("running", "awaiting_approval")
        erase_run(connection, run_id, Exposure.ALL)
        approvals.erase_question(connection, run_id)
        weak_points.remove(connection, run_id)
        feedback.remove(connection, run_id)
        if is_unfinished:
            _fail(connection, run_id, CONVERSATION_FORGOTTEN)
    if run_ids:
        calls.erase_role_after(connection, user, WEAK_POINTS_ROLE, runs.lock(connection, run_ids[0]).number)
    conversations.remove(connection, user, conversation, run_ids)
    return run_ids


def document_id_of(run_id: str) -> str:
    """The document id of an earlier answer that is used as evidence."""
    return f"run:{run_id}"


def erase_run(connection: Connection, run_id: str, exposure: int, *, with_history: bool = False) -> int:
    """Erase what may come from forgotten passages and, `with_history`, from the conversation. Returns the exposure."""
    blank_ids = evidence.list_blank_ids(connection, run_id)
    with_history = with_history or any(blank_id.startswith(evidence.HANDED_DOWN) for blank_id in blank_ids)
    answer, drafts = runs.get_answer(connection, run_id), approvals.list_of_run(connection, run_id)
    texts = [draft for draft in (answer, *(approval.draft for approval in drafts)) if draft is not None]
    highest = max((measure_exposure(draft, exposure, blank_ids) for draft in texts), default=exposure)
    if answer is not None:
        own = measure_exposure(answer, exposure, blank_ids)
        runs.set_answer(connection, run_id, erase_answer(answer, own, blank_ids, with_history=with_history))
    for approval in drafts:
        own = measure_exposure(approval.draft, exposure, blank_ids)
        draft = erase_answer(approval.draft, own, blank_ids, with_history=with_history)
        erase_decision = own >= Exposure.WRITTEN
        approvals.replace_draft(connection, approval.approval_id, draft, erase_decision=erase_decision)
    if highest >= Exposure.WRITTEN:
        feedback.erase_reasons(connection, run_id)
    for number, step in runs.get_steps_by_number(connection, run_id).items():
        erased = erase_step(step, highest, with_history=with_history)
        if erased != step:
            runs.replace_step(connection, run_id, number, erased)
    if highest > Exposure.NONE:
        calls.erase(connection, run_id)
    _mark_run(connection, run_id, highest)
    observations.withdraw(connection, run_id)
    return highest


def measure_exposure(answer: Answer | None, exposure: int, blank_ids: set[str]) -> int:
    """The exposure of one draft of a run. A draft that lists a passage had it, even if it was stored as not given."""
    if answer is None or exposure in (Exposure.NONE, Exposure.ALL):
        return exposure
    if answer.form in CITING_FORMS and answer.status != "rejected":  # a rejection's reason may quote the draft
        cited = {citation.evidence_id for sentence in answer.sentences for citation in sentence.citations}
        return Exposure.WRITTEN if cited & blank_ids else Exposure.RETRIEVED
    if exposure == Exposure.WRITTEN or any(passage.id in blank_ids for passage in answer.evidence):
        return Exposure.WRITTEN
    return Exposure.RETRIEVED


def erase_answer(answer: Answer, exposure: int, blank_ids: set[str], *, with_history: bool) -> Answer:
    """A copy without erased texts. Other passages keep their positions, because [n] refers to them."""
    if exposure >= Exposure.WRITTEN:
        return _erase_all_texts(answer, keep_question=exposure != Exposure.ALL)
    passages = [evidence.blank(passage) if passage.id in blank_ids else passage for passage in answer.evidence]
    standalone = "" if with_history else answer.standalone
    notices = erase_notices(answer.notices)
    return answer.model_copy(update={"evidence": passages, "notices": notices, "standalone": standalone})


def erase_step(step: Step, exposure: int, *, with_history: bool = False) -> Step:
    if exposure == Exposure.NONE:
        return step
    erased_steps = (*QUERY_STEPS, *HISTORY_STEPS) if with_history else QUERY_STEPS
    return step.erase(texts=exposure >= Exposure.WRITTEN or step.name in erased_steps)


def erase_calls(connection: Connection, run: runs.LockedRun, new: Sequence[ModelCall]) -> list[ModelCall]:
    """The calls of a run as they may be stored now. Prompts hold passages that were only retrieved, too."""
    if run.forgotten > Exposure.NONE:
        return [call.erase() for call in new]
    if not any(call.role == WEAK_POINTS_ROLE for call in new) or not _has_forgotten_turn(connection, run):
        return list(new)
    return [call.erase() if call.role == WEAK_POINTS_ROLE else call for call in new]


def erase_notices(notices: Iterable[Notice]) -> list[Notice]:
    """Drops the evaluator's own warnings and cuts quotes from the others."""
    kept = []
    for notice in notices:
        if notice.code in QUOTING_NOTICES:
            translations = {language: _cut_quote(sentence) for language, sentence in notice.translations.items()}
            kept.append(notice.model_copy(update={"text": _cut_quote(notice.text), "translations": translations}))
        elif notice.code != "evaluator_warning":
            kept.append(notice)
    return kept


def _cut_quote(sentence: str) -> str:
    return _QUOTE.sub(lambda match: _SENTENCE_ENDS[match[1]], sentence)


def find_forgotten(connection: Connection, document_ids: set[str], run_number: int) -> set[str]:
    """The documents among these that were forgotten after the run with this number began."""
    forgotten = select(forgotten_documents.c.document_id).where(forgotten_documents.c.last_run >= run_number)
    return set(connection.execute(forgotten.where(forgotten_documents.c.document_id.in_(document_ids))).scalars())


def add_forgotten(
    connection: Connection, document_ids: Sequence[str], last_run: int, *, is_scrubbed: bool = False
) -> None:
    """Runs up to number `last_run` can no longer store texts of these documents."""
    connection.execute(delete(forgotten_documents).where(forgotten_documents.c.document_id.in_(document_ids)))
    values = {"last_run": last_run, "is_scrubbed": is_scrubbed}
    rows = [{"document_id": document_id, **values} for document_id in document_ids]
    connection.execute(insert(forgotten_documents), rows)


def list_unscrubbed(connection: Connection) -> list[str]:
    """The documents whose rows were erased, but whose bytes may still be in the files."""
    unscrubbed = select(forgotten_documents.c.document_id).where(forgotten_documents.c.is_scrubbed == false())
    return list(connection.execute(unscrubbed).scalars())


def mark_scrubbed(connection: Connection, document_ids: Sequence[str], *, scrubbed: bool = True) -> None:
    for start in range(0, len(document_ids), BATCH_SIZE):
        batch = forgotten_documents.c.document_id.in_(document_ids[start : start + BATCH_SIZE])
        connection.execute(update(forgotten_documents).where(batch).values(is_scrubbed=scrubbed))


def erase_chat_history(folder: Path, questions: Iterable[str]) -> None:
    """Remove these questions from the prompt's history file."""
    path, unwanted = folder / CHAT_HISTORY_FILE, {question.strip() for question in questions}
    try:
        entries = _HISTORY_ENTRY.findall(path.read_bytes())
        kept = [entry for entry in entries if _entry_text(entry).strip() not in unwanted]
        if len(kept) < len(entries):
            _replace_file(path, b"".join(kept))
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(f'"{path}" may still contain the conversation ({reason_of(error)}): delete it.') from None


def _erase_with_later_turns(
    connection: Connection, run_id: str, run: runs.LockedRun, exposure: int, cascade: _Cascade
) -> list[str]:
    """Erase the run and, if its answer is erased, the later turns of its conversation. Returns the erased answers."""
    conversation = (run.user, run.conversation)
    if run.conversation and conversation not in cascade.summaries:
        conversations.empty_summary(connection, *conversation)
        cascade.summaries.add(conversation)
    if run_id in cascade.runs or erase_run(connection, run_id, exposure) < Exposure.WRITTEN:
        return []
    erased = [run_id]
    first_erased = cascade.first_erased.get(conversation)
    if run.conversation and (first_erased is None or run.turn < first_erased):
        later = conversations.list_run_ids(connection, *conversation, run.turn, first_erased)
        for later_id in later:
            if erase_run(connection, later_id, Exposure.WRITTEN, with_history=True) >= Exposure.WRITTEN:
                erased.append(later_id)
        cascade.runs.update(later)
        cascade.first_erased[conversation] = run.turn
    return erased


def _has_forgotten_turn(connection: Connection, run: runs.LockedRun) -> bool:
    """Whether a turn of the same user was forgotten after the run began."""
    of_turn = forgotten_documents.c.document_id == document_id_of("") + run_table.c.run_id
    is_later = (run_table.c.user_name == run.user) & (forgotten_documents.c.last_run >= run.number)
    return (
        connection.execute(select(run_table.c.number).join(forgotten_documents, of_turn).where(is_later)).first()
        is not None
    )


def _mark_run(connection: Connection, run_id: str, exposure: int) -> None:
    run, own = runs.lock(connection, run_id), run_table.c.run_id == run_id
    quoting = run_table.c.problem.not_in(("", DRAFT_FORGOTTEN))
    connection.execute(update(run_table).where(own & quoting).values(problem=ERASED_TEXT))
    connection.execute(update(run_table).where(own & (run_table.c.forgotten < exposure)).values(forgotten=exposure))
    recall.remove(connection, run.number)
    if run.status == "awaiting_approval":
        approvals.end_on_reject(connection, run_id)
        if exposure >= Exposure.WRITTEN:
            _fail(connection, run_id, DRAFT_FORGOTTEN)
    elif exposure >= Exposure.WRITTEN:
        approvals.supersede(connection, run_id)  # an audit


def _fail(connection: Connection, run_id: str, problem: str) -> None:
    approvals.supersede(connection, run_id)
    runs.set_status(connection, run_id, "failed", problem)
    leases.revoke(connection, run_id)


def _erase_all_texts(answer: Answer, *, keep_question: bool) -> Answer:
    review, evaluation = answer.review, answer.evaluation
    if review is not None:  # the verdicts are kept, their explanations quote
        dimensions = {"reasonableness": review.reasonableness, "evidence": review.evidence}
        passed = {name: dimension and Dimension(passed=dimension.passed) for name, dimension in dimensions.items()}
        review = review.model_copy(update={**passed, "suggestions": [], "problem": ""})
    if evaluation is not None:
        metrics = [score.model_copy(update={"evaluator_comment": ""}) for score in evaluation.metrics]
        evaluation = evaluation.model_copy(update={"metrics": metrics, "warnings": []})
    grounding = [check.model_copy(update={"evaluator_comment": ""}) for check in answer.grounding]
    notices = [notice for notice in erase_notices(answer.notices) if notice.code != "forgotten"]
    notice = make_notice("forgotten", answer.language)
    decisions = [decision.model_copy(update={"reason": "", "edit": None}) for decision in answer.decisions]
    erased = {
        "text": "",
        "standalone": "",
        "sentences": [],
        "evidence": [],
        "missing": [],
        "review": review,
        "evaluation": evaluation,
        "grounding": grounding,
        "decisions": decisions,
        "notices": [*notices, notice],
    }
    return answer.model_copy(update=erased if keep_question else {**erased, "question": "", "conversation": ""})


def _entry_text(entry: bytes) -> str:
    lines = entry.decode("utf-8", "replace").split("\n")
    return "\n".join(line[1:] for line in lines if line.startswith("+"))


def _replace_file(path: Path, content: bytes) -> None:
    """Atomically, and readable by its owner only."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    new.replace(path)


def make_notice(code: Literal["forgotten", "reduced"], language: str) -> Notice:
    translations = {other: text(other, "ledger", code) for other in LANGUAGES if other != language}
    return Notice(code=code, text=text(language, "ledger", code), translations=translations)
