"""Builds the answer of a run, with its notices, and decides what is learned from it.

A notice must not quote a document, a draft or a reviewer, except in `{problem}` behind a colon: forgetting a document
keeps the notices and drops what follows the first colon (ledger/forget.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from veracity.graph.approval import find_doubt
from veracity.graph.state import RunState
from veracity.grounding.citation_check import read_answer_sentences
from veracity.locales import LANGUAGES, text
from veracity.models import (
    Answer,
    AnswerSentence,
    AnswerStatus,
    Approval,
    ApprovalReason,
    Decision,
    Evidence,
    Notice,
    NoticeCode,
    Quality,
    Review,
    Usage,
)
from veracity.models.evaluation import points
from veracity.settings import ApprovalSettings

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
# Notices about the search alone. They are shown while the draft waits, too.
SEARCH_NOTICES = ("search_incomplete", "outdated_index", "not_reranked")
# Notices that remain when the draft is rejected: what was tried.
ATTEMPT_NOTICES = (
    "not_routed",
    "not_summarized",
    "deadline",
    "web_not_configured",
    "web_failed",
    "web_empty",
    "web_not_written",
    "progress_lost",
)
WEB_TRIED_NOTICES = ("from_web", "web_failed", "web_empty", "web_not_written")


def build_answer(state: RunState, usage: Usage, seconds: float, released_by: ApprovalSettings | None = None) -> Answer:
    """The answer that the state holds: the draft, if it still needs approval.

    For an answer that is released, `released_by` adds notices about failed checks that asked nobody.
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
            "grounding": [] if is_edited else state.get("grounding", []),
            "notices": _order(_notices(state, quality, review, sentences)),
            "usage": usage,
            "seconds": seconds,
        }
    )
    return _apply_decisions(answer, decisions, released_by)


def pending_answer(approval: Approval) -> Answer:
    """The answer while approval is pending, without the draft."""
    language = approval.draft.language
    pending = notice(
        language,
        "waiting",
        approval_id=approval.approval_id,
        why=lambda to: text(to, "notices", f"waiting_{approval.why}"),
    )
    status: AnswerStatus = "awaiting_approval"
    searched = [item for item in approval.draft.notices if item.code in SEARCH_NOTICES]
    notices = [pending, *searched]
    shown = {"status": status, "text": pending.text, "approval_id": approval.approval_id, "notices": notices}
    return _hide(approval.draft).model_copy(update=shown)


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
    if answer.status != "answered" or any(decision.verdict == "approve" for decision in answer.decisions):
        return None
    if answer.review and answer.review.outcome == "failed":
        return "failed_review"
    return "low_score" if answer.score is not None and answer.score < threshold else None


def doubt_about(answer: Answer, settings: ApprovalSettings) -> ApprovalReason | None:
    """Why the gate would hold this answer, which was released without asking, or None."""
    return find_doubt(
        answer.status == "abstained",
        answer.review.outcome if answer.review else None,
        any(notice.code == "uncertain" for notice in answer.notices),
        answer.score,
        min((check.score for check in answer.grounding), default=0.0) / 100,
        settings,
    )


def is_recallable(answer: Answer) -> bool:
    """Whether later questions may use it as an earlier answer (SPEC D4): it passed its review or was approved."""
    if answer.status != "answered" or answer.form in ("direct", "recalled"):
        return False
    is_approved = any(decision.verdict == "approve" for decision in answer.decisions)
    return is_approved or (answer.review is not None and answer.review.outcome in ("passed", "doubtful"))


def notice(language: str, code: NoticeCode, key: str = "", **values: Any) -> Notice:
    """`key` names the text if it is not `code`. A value may be a function of the language."""

    def render(to: str) -> str:
        filled = {name: value(to) if callable(value) else value for name, value in values.items()}
        return text(to, "notices", key or code, **filled)

    translations = {to: render(to) for to in LANGUAGES if to != language}
    return Notice(code=code, text=render(language), translations=translations)


def _hide(draft: Answer) -> Answer:
    """A copy without what belongs to the draft's text."""
    lists: dict[str, Any] = {"sentences": [], "evidence": [], "missing": [], "grounding": []}
    return draft.model_copy(update={**lists, "review": None, "evaluation": None})


def _edit(draft: Answer, edit: str) -> Answer:
    """Replace the text and drop what was measured on the draft's own wording. The approval keeps the draft."""
    sentences = read_answer_sentences(edit, draft.evidence)
    notices = [notice for notice in draft.notices if notice.code not in DRAFT_NOTICES]
    edited = {"text": edit, "form": "edited", "status": "answered", "sentences": sentences, "missing": []}
    unmeasured: dict[str, Any] = {"review": None, "evaluation": None, "score": None, "grounding": []}
    return draft.model_copy(
        update={**edited, **unmeasured, "notices": [*notices, *_unsupported(draft.language, sentences)]}
    )


def _apply_decisions(answer: Answer, decisions: list[Decision], released_by: ApprovalSettings | None = None) -> Answer:
    """Add the decision on this attempt, or notices about failed checks that asked nobody."""
    decision = next((item for item in reversed(decisions) if item.attempt == answer.attempt), None)
    answer = answer.model_copy(update={"decisions": decisions})
    if decision is None:
        return _add_notices(answer, *_unasked(answer, released_by)) if released_by else answer
    if decision.verdict == "approve":
        code: NoticeCode = "approved" if decision.edit is None else "edited"
        return _add_notices(answer, notice(answer.language, code, by=decision.by))
    if answer.status == "answered":
        return _reject(answer, decision)
    return _add_notices(answer, notice(answer.language, "expired")) if decision.verdict == "expire" else answer


def _reject(draft: Answer, decision: Decision) -> Answer:
    """The answer to a question whose draft was rejected (SPEC D7), or that nobody decided (D11). The receipt keeps the
    draft."""
    was_searched = any(notice.code in WEB_TRIED_NOTICES for notice in draft.notices)
    is_expired = decision.verdict == "expire"
    key = "expiration" if is_expired else "rejection_after_search" if was_searched else "rejection_without_search"
    kept = {notice.code: notice for notice in draft.notices if notice.code in ATTEMPT_NOTICES}
    decided = notice(draft.language, "expired") if is_expired else notice(draft.language, "rejected", by=decision.by)
    notices = [*kept.values(), decided]
    rejected = {"text": text(draft.language, "notices", key), "status": "rejected", "form": "direct", "score": None}
    return _hide(draft).model_copy(update={**rejected, "notices": notices})


def _unasked(answer: Answer, settings: ApprovalSettings) -> Iterator[Notice]:
    """Notices that no approval was requested despite a low score or weak grounding."""
    score, threshold, floor = answer.score, settings.threshold, settings.grounding_floor
    lowest = min((check.score / 100 for check in answer.grounding), default=floor)
    if score is not None and score < threshold:
        yield notice(answer.language, "low_score", score=points(score, threshold), threshold=points(threshold))
    if lowest < floor:
        yield notice(answer.language, "low_grounding", grounding=points(lowest, floor), floor=points(floor))


def _add_notices(answer: Answer, *notices: Notice) -> Answer:
    return answer.model_copy(update={"notices": [*answer.notices, *notices]})


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
        codes = [issue.code for issue in quality.issues]
        yield notice(language, "evidence_weak", issues=lambda to: _join_issues(to, codes))
    for item in state["notices"]:
        if state["form"] != "edited" or item["code"] not in DRAFT_NOTICES:
            yield notice(language, **item)
    if review and review.outcome == "not_reviewed":
        yield notice(language, "not_reviewed", problem=review.problem)
    if review and review.outcome == "doubtful":
        yield notice(language, "doubtful_review", confidence=points(review.confidence))
    yield from _unsupported(language, sentences)
    if senders := [decision["by"] for decision in state["decisions"] if decision["verdict"] == "send_back"]:
        yield notice(language, "sent_back", by=senders[-1])


def _join_issues(language: str, codes: Iterable[str]) -> str:
    separator = text(language, "notices", "evidence_separator")
    return separator.join(text(language, "notices", f"evidence_{code}") for code in codes)


def _order(notices: Iterable[Notice]) -> list[Notice]:
    """A failed review comes first (SPEC A14)."""
    return sorted(notices, key=lambda notice: notice.code != "review_failed")


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
        yield notice(language, "unsupported", key, count=count, total=len(statements))
