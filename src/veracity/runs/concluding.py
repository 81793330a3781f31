"""The answer that a run comes to, and what is learnt from it: an observation, or a weak point."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from veracity.agents.sentences import read_answer_sentences
from veracity.graph.state import RunState
from veracity.models import Answer, AnswerSentence, Evidence, Notice, Quality, Review, Usage
from veracity.runs.notices import abstention, notice, shortfalls


def conclude(state: RunState, usage: Usage, seconds: float) -> Answer:
    evidence = [Evidence.model_validate(one) for one in state["retrieved_nodes_score"]]
    quality = Quality.model_validate(state["best_round"]["quality"])
    review = Review.model_validate(state["final_review"]) if state["final_review"] else None
    sentences = read_answer_sentences(state["final_answer"], evidence)
    return Answer.model_validate(
        {
            "run_id": state["run_id"],
            "status": "abstained" if state["abstains"] else "answered",
            "question": state["question"],
            "text": _abstention(state) if state["abstains"] else state["final_answer"],
            "form": state["form"],
            "language": state["language"],
            "sentences": sentences,
            "evidence": evidence,
            "missing": state["missing"],
            "review": review,
            "quality": quality,
            "notices": list(_notices(state, quality, review, sentences)),
            "usage": usage,
            "seconds": seconds,
        }
    )


def observation(answer: Answer, models: dict[str, str], attempt: int) -> dict[str, Any] | None:
    """Only of an answer whose review passed (SPEC A12)."""
    if answer.review is None or answer.review.outcome != "passed":
        return None
    return {
        "instruction": answer.question,
        "input": [
            {
                "text": one.text,
                "source": one.source,
                "score": one.metadata.relevance_score,
                "id": one.id,
                "document_id": one.document_id,
            }
            for one in answer.evidence
        ],
        "output": answer.text,
        "run_id": answer.run_id,
        "attempt": attempt,
        "time": datetime.now(UTC).isoformat(),
        "form": answer.form,
        "models": models,
        "review": answer.review.model_dump(mode="json"),
        "scores": {"evidence_quality": answer.quality.score},
    }


def weak_point(answer: Answer) -> Literal["failed_review"] | None:
    """Why the question is one to be remembered as going wrong (SPEC C3)."""
    return "failed_review" if answer.review and answer.review.outcome == "failed" else None


def _abstention(state: RunState) -> str:
    return abstention(state["language"], state["missing"], was_searched=_was_searched(state))


def _was_searched(state: RunState) -> bool:
    out_of_time = any(one["code"] == "search_incomplete" for one in state["notices"])
    return bool(state["retrieved_nodes_score"]) or not out_of_time


def _notices(
    state: RunState, quality: Quality, review: Review | None, sentences: list[AnswerSentence]
) -> Iterator[Notice]:
    language = state["language"]
    if state["form"] == "extractive" and not state["abstains"]:
        yield notice(language, "extractive")
    if quality.grade == "low" and _was_searched(state):
        issues = shortfalls(language, [issue.code for issue in quality.issues])
        yield notice(language, "evidence_weak", score=quality.score, issues=issues)
    for told in state["notices"]:
        yield notice(language, **told)
    if review and review.outcome == "not_reviewed":
        yield notice(language, "not_reviewed", problem=review.problem)
    if review and review.outcome == "doubtful":
        yield notice(language, "doubtful_review", confidence=review.confidence)
    stating = [sentence for sentence in sentences if sentence.states]
    if unsupported := sum(not sentence.supported for sentence in stating):
        yield notice(language, "unsupported", count=unsupported, total=len(stating))
