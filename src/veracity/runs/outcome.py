"""Builds the answer of a run, with its notices, and decides what is learned from it.

A notice must not quote a document, a draft or a reviewer, except in `{problem}` behind a colon: forgetting a document
keeps the notices and drops what follows the first colon (ledger/forget.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from veracity.graph.state import RunState
from veracity.grounding.citation_check import read_answer_sentences
from veracity.locales import text
from veracity.models import (
    Answer,
    AnswerSentence,
    AnswerStatus,
    Approval,
    Decision,
    Evidence,
    Notice,
    NoticeCode,
    Quality,
    Review,
    Usage,
)

# Notices about the wording of a draft. They do not apply to a person's edit of it.
DRAFT_NOTICES = (
    "extractive",
    "recalled",
    "unsupported",
    "revised",
    "review_failed",
    "not_reviewed",
    "doubtful_review",
    "not_scored",
)


def build_answer(state: RunState, usage: Usage, seconds: float, threshold: float = 0.0) -> Answer:
    """The answer that the state holds: the draft, if it still needs approval.

    A score below `threshold` adds a notice that no approval was requested.
    """
    evidence = [Evidence.model_validate(item) for item in state["retrieved_nodes_score"]]
    graded = state["best_round"].get("quality")
    quality = Quality.model_validate(graded) if graded else None
    is_edited = state["form"] == "edited"
    review = Review.model_validate(state["final_review"]) if state["final_review"] and not is_edited else None
    sentences = [] if state["form"] == "direct" else read_answer_sentences(state["final_answer"], evidence)
    decisions = [Decision.model_validate(item) for item in state["decisions"]]
    answer = Answer.model_validate(
        {
            "run_id": state["run_id"],
            "status": "abstained" if state["abstains"] else "answered",
            "question": state["question"],
            "standalone": state["standalone"] or state["question"],
            "conversation": state["conversation"],
            "route": state["route"],
            "attempt": state["attempt"],
            "text": _abstention(state) if state["abstains"] else state["final_answer"],
            "form": state["form"],
            "language": state["language"],
            "sentences": sentences,
            "evidence": evidence,
            "missing": state["missing"],
            "review": review,
            "quality": quality,
            "evaluation": None if is_edited else state["evaluation"],
            "score": None if is_edited else state["score"],
            "notices": list(_notices(state, quality, review, sentences)),
            "usage": usage,
            "seconds": seconds,
        }
    )
    return _apply_decisions(answer, decisions, threshold)


def pending_answer(approval: Approval) -> Answer:
    """The answer while approval is pending, without the draft."""
    language = approval.draft.language
    why = text(language, "notices", f"waiting_{approval.why}")
    pending = notice(language, "waiting", approval_id=approval.approval_id, why=why)
    hidden: dict[str, Any] = {"sentences": [], "evidence": [], "missing": [], "review": None, "evaluation": None}
    status: AnswerStatus = "awaiting_approval"
    shown = {"status": status, "text": pending.text, "approval_id": approval.approval_id, "notices": [pending]}
    return approval.draft.model_copy(update={**hidden, **shown})


def decided_answer(approval: Approval, decision: Decision) -> Answer:
    """The answer by the decision alone, for a run whose progress is lost."""
    draft = approval.draft
    if decision.verdict == "reject":
        lost = notice(draft.language, "progress_lost")
        draft = draft.model_copy(update={"notices": [*draft.notices, lost]})
    elif decision.edit is not None:
        draft = _edit(draft, decision.edit)
    return _apply_decisions(draft, [*draft.decisions, decision])


def weak_point(answer: Answer, threshold: float) -> Literal["failed_review", "low_score", "rejected"] | None:
    """Why the question is remembered as a weak point (SPEC C3). An approved answer is none."""
    if any(decision.verdict == "reject" for decision in answer.decisions):
        return "rejected"
    if answer.decisions or answer.status != "answered":
        return None
    if answer.review and answer.review.outcome == "failed":
        return "failed_review"
    return "low_score" if answer.score is not None and answer.score < threshold else None


def is_recallable(answer: Answer) -> bool:
    """Whether later questions may use it as an earlier answer (SPEC D4): it passed its review or was approved."""
    if answer.status != "answered" or answer.form in ("direct", "recalled"):
        return False
    return bool(answer.decisions) or (answer.review is not None and answer.review.outcome in ("passed", "doubtful"))


def notice(language: str, code: NoticeCode, **values: Any) -> Notice:
    return Notice(code=code, text=text(language, "notices", code, **values))


def _edit(draft: Answer, edit: str) -> Answer:
    """Replace the text and drop what was measured on the draft's own wording. The approval keeps the draft."""
    sentences = read_answer_sentences(edit, draft.evidence)
    notices = [notice for notice in draft.notices if notice.code not in DRAFT_NOTICES]
    edited = {"text": edit, "form": "edited", "status": "answered", "sentences": sentences, "missing": []}
    unmeasured = {"review": None, "evaluation": None, "score": None}
    return draft.model_copy(
        update={**edited, **unmeasured, "notices": [*notices, *_unsupported(draft.language, sentences)]}
    )


def _apply_decisions(answer: Answer, decisions: list[Decision], threshold: float = 0.0) -> Answer:
    """Add the decision on this attempt, or the notice that no approval was requested despite a low score."""
    decision = next((item for item in reversed(decisions) if item.attempt == answer.attempt), None)
    notices = list(answer.notices)
    status = answer.status
    if decision is None:
        if answer.score is not None and answer.score < threshold:
            notices.append(notice(answer.language, "low_score", score=answer.score, threshold=threshold))
    elif decision.verdict == "approve":
        notices.append(notice(answer.language, "approved" if decision.edit is None else "edited", by=decision.by))
    elif status == "answered":
        status = "rejected"
        notices.append(notice(answer.language, "rejected", by=decision.by))
    return answer.model_copy(update={"status": status, "decisions": decisions, "notices": notices})


def _abstention(state: RunState) -> str:
    language = state["language"]
    if not _was_searched(state):
        return text(language, "notices", "abstention_not_searched")
    abstention = text(language, "notices", "abstention")
    separator = text(language, "notices", "abstention_separator")
    missing = separator.join(item.rstrip(".。 ") for item in state["missing"])
    return abstention + (text(language, "notices", "abstention_missing", missing=missing) if missing else "")


def _was_searched(state: RunState) -> bool:
    is_incomplete = any(item["code"] == "search_incomplete" for item in state["notices"])
    return bool(state["retrieved_nodes_score"]) or not is_incomplete


def _notices(
    state: RunState, quality: Quality | None, review: Review | None, sentences: list[AnswerSentence]
) -> Iterator[Notice]:
    language = state["language"]
    if not state["abstains"]:
        yield from _origin(state)
    if quality and quality.grade == "low" and _was_searched(state):
        issues = [text(language, "notices", f"evidence_{issue.code}") for issue in quality.issues]
        joined = text(language, "notices", "evidence_separator").join(issues)
        yield notice(language, "evidence_weak", score=quality.score, issues=joined)
    for item in state["notices"]:
        if state["form"] != "edited" or item["code"] not in DRAFT_NOTICES:
            yield notice(language, **item)
    if review and review.outcome == "not_reviewed":
        yield notice(language, "not_reviewed", problem=review.problem)
    if review and review.outcome == "doubtful":
        yield notice(language, "doubtful_review", confidence=review.confidence)
    yield from _unsupported(language, sentences)


def _origin(state: RunState) -> Iterator[Notice]:
    """Where the answer comes from, if not from a model that read the documents."""
    language = state["language"]
    if state["form"] == "extractive":
        yield notice(language, "extractive")
    if state["evidence_from"] == "history":
        yield notice(language, "recalled")
    if state["evidence_from"] == "web":
        yield notice(language, "from_web")
        kinds = [item["metadata"].get("kind") for item in state["retrieved_nodes_score"]]
        if snippets := kinds.count("snippet"):
            yield notice(language, "snippets", count=snippets, total=len(kinds))


def _unsupported(language: str, sentences: list[AnswerSentence]) -> Iterator[Notice]:
    statements = [sentence for sentence in sentences if sentence.states]
    if count := sum(not sentence.supported for sentence in statements):
        key = "unsupported_one" if count == 1 else "unsupported"
        yield Notice(code="unsupported", text=text(language, "notices", key, count=count, total=len(statements)))
