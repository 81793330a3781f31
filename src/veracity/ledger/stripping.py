"""What a run loses when something it read is forgotten (SPEC X3).

A run whose writer had it loses its texts, its answer and its observation. One that only found it loses the passage, its
rewritten queries, which may hold words of it, and its observation. Neither is found again as an earlier answer. A draft
that rests on it cannot be decided on any more. Whatever a run tells of what went wrong goes with the first of them.
Knows nothing about what is forgotten.
"""

from __future__ import annotations

from sqlalchemy import Connection, null, select, update

from veracity.ledger import approvals, feedback, leases, outbox, passages, quoting, recalling, runs
from veracity.ledger.schema import runs as run_rows
from veracity.ledger.schema import steps
from veracity.models import Answer, Decision, Dimension, EvaluationResult, Notice, Review, Step

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
    emptied = passages.emptied_ids(connection, run_id)
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
    outbox.withdraw(connection, run_id)
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
    evidence = [passages.blank(item) if item.id in emptied else item for item in answer.evidence]
    kept = {"evidence": evidence, "notices": quoting.notices_without(answer.notices)}
    return answer.model_copy(update={**kept, "standalone": "" if told else answer.standalone})


def step_as_kept(step: Step, touched: int) -> Step:
    if touched == NOTHING:
        return step
    texts = step.texts if touched == FOUND and step.name not in QUERYING else None
    return step.model_copy(update={"texts": texts, "facts": quoting.facts_without(step.name, step.facts)})


def problem_as_kept(problem: str, touched: int) -> str:
    return quoting.GONE if problem and touched != NOTHING else problem


def _strip_problem(connection: Connection, run_id: str) -> None:
    told = (run_rows.c.run_id == run_id) & run_rows.c.problem.not_in(("", RESTED))
    connection.execute(update(run_rows).where(told).values(problem=quoting.GONE))


def _strip_steps(connection: Connection, run_id: str, touched: int, told: bool) -> None:
    theirs = steps.c.run_id == run_id
    if touched == FOUND:
        theirs &= steps.c.name.in_((*QUERYING, *CONVERSING) if told else QUERYING)
    connection.execute(update(steps).where(theirs).values(texts=null()))
    for row in connection.execute(select(steps.c.seq, steps.c.name, steps.c.facts).where(steps.c.run_id == run_id)):
        kept = quoting.facts_without(row.name, row.facts)
        if kept != row.facts:
            same = (steps.c.run_id == run_id) & (steps.c.seq == row.seq)
            connection.execute(update(steps).where(same).values(facts=kept))


def _mark(connection: Connection, run_id: str, touched: int) -> None:
    run = runs.held(connection, run_id)
    less = (run_rows.c.run_id == run_id) & (run_rows.c.forgotten < touched)
    connection.execute(update(run_rows).where(less).values(forgotten=touched))
    recalling.remove(connection, run.number)
    if run.status != "awaiting_approval":
        return
    approvals.cannot_search(connection, run_id)
    if touched >= GIVEN:
        approvals.supersede(connection, run_id)
        runs.set_status(connection, run_id, "failed", RESTED)
        leases.revoke(connection, run_id)


def _without_texts(answer: Answer, touched: int) -> Answer:
    notices = [notice for notice in quoting.notices_without(answer.notices) if notice.code != "forgotten"]
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
