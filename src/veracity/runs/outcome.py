"""The answer that a run comes to, and what is learnt from it: a weak point, or that it may be found again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from veracity.agents.citation_check import read_answer_sentences
from veracity.graph.state import RunState
from veracity.models import (
    Answer,
    AnswerSentence,
    AnswerStatus,
    Approval,
    Decision,
    Evidence,
    Notice,
    Quality,
    Review,
    Usage,
)
from veracity.runs.notices import abstention, notice, shortfalls, waiting

# Codes of notices that are not true any more of what a person wrote in its place.
OF_A_DRAFT = (
    "extractive",
    "recalled",
    "unsupported",
    "revised",
    "review_failed",
    "not_reviewed",
    "doubtful_review",
    "not_scored",
)


def conclude(state: RunState, usage: Usage, seconds: float, threshold: float) -> Answer:
    """As it would go out now. Where a person is still to be asked, that is the draft."""
    evidence = [Evidence.model_validate(one) for one in state["retrieved_nodes_score"]]
    graded = state["best_round"].get("quality")
    quality = Quality.model_validate(graded) if graded else None
    is_edited = state["form"] == "edited"
    review = Review.model_validate(state["final_review"]) if state["final_review"] and not is_edited else None
    sentences = [] if state["form"] == "direct" else read_answer_sentences(state["final_answer"], evidence)
    decisions = [Decision.model_validate(one) for one in state["decisions"]]
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
    return _released(answer, decisions, threshold)


def waiting_answer(approval: Approval) -> Answer:
    """What the asker gets meanwhile: the draft is not in it."""
    told = waiting(approval.draft.language, approval.approval_id, approval.why)
    hidden: dict[str, Any] = {"sentences": [], "evidence": [], "missing": [], "review": None, "evaluation": None}
    status: AnswerStatus = "awaiting_approval"
    known = {"status": status, "text": told.text, "approval_id": approval.approval_id, "notices": [told]}
    return approval.draft.model_copy(update={**hidden, **known})


def decided_answer(approval: Approval, decision: Decision) -> Answer:
    """The draft as the decision leaves it, for when the progress of the run is lost: nothing more can be tried."""
    draft = approval.draft
    if decision.verdict == "reject":
        lost = notice(draft.language, "progress_lost")
        draft = draft.model_copy(update={"notices": [*draft.notices, lost]})
    elif decision.edit is not None:
        draft = _edited(draft, decision.edit)
    return _released(draft, [*draft.decisions, decision], threshold=0.0)


def _edited(draft: Answer, text: str) -> Answer:
    """What was said of the draft's own words is not true of these. It stays with the draft, in the approval."""
    sentences = read_answer_sentences(text, draft.evidence)
    kept = [one for one in draft.notices if one.code not in OF_A_DRAFT]
    changed = {"text": text, "form": "edited", "status": "answered", "sentences": sentences, "missing": []}
    unexamined = {"review": None, "evaluation": None, "score": None}
    return draft.model_copy(
        update={**changed, **unexamined, "notices": [*kept, *_unsupported(draft.language, sentences)]}
    )


def weak_point(answer: Answer, threshold: float) -> Literal["failed_review", "low_score", "rejected"] | None:
    """Why the question is one to be remembered as going wrong (SPEC C3). What a person approved did not."""
    if any(decision.verdict == "reject" for decision in answer.decisions):
        return "rejected"
    if answer.decisions or answer.status != "answered":
        return None
    if answer.review and answer.review.outcome == "failed":
        return "failed_review"
    return "low_score" if answer.score is not None and answer.score < threshold else None


def recallable(answer: Answer) -> bool:
    """Whether it may be found again as an earlier answer (SPEC D4): it stood, or a person approved it."""
    if answer.status != "answered" or answer.form in ("direct", "recalled"):
        return False
    return bool(answer.decisions) or (answer.review is not None and answer.review.outcome in ("passed", "doubtful"))


def _released(answer: Answer, decisions: list[Decision], threshold: float) -> Answer:
    """With what a person said to this attempt, or with the notice that nobody was asked."""
    last = next((one for one in reversed(decisions) if one.attempt == answer.attempt), None)
    notices = list(answer.notices)
    status = answer.status
    if last is None:
        if answer.score is not None and answer.score < threshold:
            notices.append(notice(answer.language, "low_score", score=answer.score, threshold=threshold))
    elif last.verdict == "approve":
        notices.append(notice(answer.language, "approved" if last.edit is None else "edited", by=last.by))
    elif status == "answered":
        status = "rejected"
        notices.append(notice(answer.language, "rejected", by=last.by))
    return answer.model_copy(update={"status": status, "decisions": decisions, "notices": notices})


def _abstention(state: RunState) -> str:
    return abstention(state["language"], state["missing"], was_searched=_was_searched(state))


def _was_searched(state: RunState) -> bool:
    out_of_time = any(one["code"] == "search_incomplete" for one in state["notices"])
    return bool(state["retrieved_nodes_score"]) or not out_of_time


def _notices(
    state: RunState, quality: Quality | None, review: Review | None, sentences: list[AnswerSentence]
) -> Iterator[Notice]:
    language = state["language"]
    if state["form"] == "extractive" and not state["abstains"]:
        yield notice(language, "extractive")
    if state["evidence_from"] == "history" and not state["abstains"]:
        yield notice(language, "recalled")
    if state["evidence_from"] == "web" and not state["abstains"]:
        yield notice(language, "from_web")
        kinds = [one["metadata"].get("kind") for one in state["retrieved_nodes_score"]]
        if snippets := kinds.count("snippet"):
            yield notice(language, "snippets", count=snippets, total=len(kinds))
    if quality and quality.grade == "low" and _was_searched(state):
        issues = shortfalls(language, [issue.code for issue in quality.issues])
        yield notice(language, "evidence_weak", score=quality.score, issues=issues)
    for told in state["notices"]:
        if state["form"] != "edited" or told["code"] not in OF_A_DRAFT:
            yield notice(language, **told)
    if review and review.outcome == "not_reviewed":
        yield notice(language, "not_reviewed", problem=review.problem)
    if review and review.outcome == "doubtful":
        yield notice(language, "doubtful_review", confidence=review.confidence)
    yield from _unsupported(language, sentences)


def _unsupported(language: str, sentences: list[AnswerSentence]) -> Iterator[Notice]:
    stating = [sentence for sentence in sentences if sentence.states]
    if unsupported := sum(not sentence.supported for sentence in stating):
        yield notice(language, "unsupported", count=unsupported, total=len(stating))
