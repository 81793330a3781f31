"""The answer review loop: write a draft, review it, redraft on the reviewer's suggestions (SPEC A).

A draft that failed goes back with what was wrong with it, a few times; then the best one stands, with a notice.
"""

from __future__ import annotations

import logging
from typing import Literal

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from veracity.agents import messages
from veracity.agents.reviewer import ReviewTask
from veracity.agents.writer import Writer, WritingTask, Written
from veracity.errors import BudgetError, ModelError, ModelTimeoutError
from veracity.graph.parts import Parts
from veracity.graph.spoken import as_langchain, as_ours
from veracity.graph.state import Plain, RunState, fresh_attempt
from veracity.graph.tracing import trace
from veracity.models import Evidence, Review

log = logging.getLogger("veracity")

MARGIN = 1.0  # seconds; a call is not repeated when so little time is left


def prepare_messages(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """The numbered evidence before the first draft, the reviewer's suggestions before every other (SPEC A10)."""
    parts = runtime.context
    if state["last_evaluation"] is not None:
        suggestions = state["last_evaluation"]["suggestions"]
        given = _given(state)
        feedback = messages.feedback_message(state["question"], given, state["last_answer"], suggestions)
        return {"messages": [as_langchain(feedback)], **trace({"suggestions": len(suggestions)})}
    best = state["best_round"]
    chosen = _chosen(best["evidence"], state["first_round"], parts.settings.answering.evidence)
    given = [Evidence.model_validate(one) for one in chosen]
    parts.memory.keep_evidence(state["run_id"], given, given=True)
    return {
        **fresh_attempt(),
        "retrieved_nodes_score": chosen,
        "quality_grade": best["quality"]["grade"],
        "quality_score": best["quality"]["score"],
        "quality_issues": [issue["text"] for issue in best["quality"]["issues"]],
        "messages": [as_langchain(messages.evidence_message(state["question"], given))],
        **trace({"evidence": [one.id for one in given]}, {"query": best["query"]}),
    }


def generate_answer(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Sends the messages as they are. A redraft that completes adds 1 to `epoch` (SPEC A3)."""
    parts = runtime.context
    is_redraft = state["last_evaluation"] is not None
    notices = state["notices"]
    writer = parts.writer if state["retrieved_nodes_score"] else parts.extractor  # of nothing there is nothing to write
    try:
        written = writer.write(_writing_task(state, parts))
    except ModelError as problem:
        code = _stopped_by(problem, parts)
        if is_redraft:
            notice = {"code": code or "redraft_failed", "problem": str(problem)}
            return {"halted": True, "notices": [*notices, notice], **trace({"problem": str(problem)})}
        if not code:
            raise
        notices = [*notices, {"code": code, "problem": str(problem)}]
        writer = parts.extractor
        written = writer.write(_writing_task(state, parts))
    if is_redraft and written.abstains:  # the draft that is there says more
        notice = {"code": "redraft_failed", "problem": "the writer found no answer any more."}
        return {"halted": True, "notices": [*notices, notice], **trace({"outcome": "the redraft abstains"})}
    return {
        "messages": [AIMessage(written.text)],
        "epoch": state["epoch"] + is_redraft,
        "last_answer": written.text,
        "abstains": written.abstains,
        "missing": list(written.missing),
        "form": writer.form,
        "notices": notices,
        **_told(writer, written, state["epoch"] + is_redraft),
    }


def after_generate_answer(state: RunState) -> Literal["eval_answer", "settle_answer"]:
    """An abstention is not reviewed (SPEC X2)."""
    return "settle_answer" if state["abstains"] or state["halted"] else "eval_answer"


def eval_answer(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Reviews the last message of the writer. The same draft once more gets the same verdict."""
    parts = runtime.context
    draft = str(state["messages"][-1].content)
    known = next((one["review"] for one in state["drafts"] if one["text"] == draft), None)
    if known is None:
        question = state["question"] if parts.reviewer.model else _understood(state)  # a model reads over slips
        task = ReviewTask(question, draft, _given(state), parts.limits.run, parts.limits.budget)
        known = _weighed(parts.reviewer.review(task), parts).model_dump()
    drafts = [*state["drafts"], {"text": draft, "form": state["form"], "review": known}]
    return {
        "last_evaluation": known,
        "drafts": drafts,
        **trace(
            {"epoch": state["epoch"], **{name: known[name] for name in ("outcome", "confidence", "reviewer", "usage")}},
            {"review": known},
        ),
    }


def after_eval_answer(state: RunState, runtime: Runtime[Parts]) -> Literal["prepare_messages", "settle_answer"]:
    """Once more, where it failed and may be redrafted (SPEC A3, A4). What could not be reviewed is not (A13)."""
    limits, most = runtime.context.limits, runtime.context.settings.answering.gener_epoch
    review = state["last_evaluation"]
    failed = review is not None and review["outcome"] == "failed"
    may_go_on = state["epoch"] < most and not limits.run.has_passed
    return "prepare_messages" if failed and may_go_on else "settle_answer"


def settle_answer(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """The last draft if it stood, else the best one: fewest open issues, then the latest (SPEC A5)."""
    notices = list(state["notices"])
    if state["abstains"]:
        return {"final_answer": "", "final_review": None, **trace({"status": "abstained"})}
    drafts, last = state["drafts"], state["drafts"][-1]
    chosen = last
    if last["review"]["outcome"] == "failed":
        chosen = min(reversed(drafts), key=lambda draft: len(draft["review"]["suggestions"]))
        log.warning("Run %s: the answer failed its review after %d redrafts.", state["run_id"], state["epoch"])
        was_cut_short = state["epoch"] < runtime.context.settings.answering.gener_epoch and not state["halted"]
        notices += [{"code": "deadline"}] if was_cut_short else []
        notices.append({"code": "review_failed", "times": state["epoch"]})
    elif state["epoch"]:
        notices.append({"code": "revised", "times": state["epoch"]})
    return {
        "final_answer": chosen["text"],
        "final_review": chosen["review"],
        "form": chosen["form"],
        "notices": notices,
        **trace({"draft": len(drafts) - 1 - drafts[::-1].index(chosen), "outcome": chosen["review"]["outcome"]}),
    }


def _chosen(best: list[Plain], first: list[Plain], most: int) -> list[Plain]:
    """The best of the best round, with the best that the question itself found."""
    kept = first[: most // 2]
    known = {one["id"] for one in best[:most]}
    missing = [one for one in kept if one["id"] not in known]
    return [*best[: most - len(missing)], *missing]


def _writing_task(state: RunState, parts: Parts) -> WritingTask:
    spoken = [as_ours(message) for message in state["messages"]]
    return WritingTask(_understood(state), _given(state), spoken, parts.limits.run, parts.limits.budget)


def _understood(state: RunState) -> str:
    """The question as code can match it with texts."""
    return state["mended"] or state["question"]


def _stopped_by(problem: ModelError, parts: Parts) -> Literal["budget", "deadline", ""]:
    """Whether it was our own limit that ended the call."""
    if isinstance(problem, BudgetError):
        return "budget"
    out_of_time = isinstance(problem, ModelTimeoutError) and parts.limits.run.left < MARGIN
    return "deadline" if out_of_time or parts.limits.run.has_passed else ""


def _weighed(review: Review, parts: Parts) -> Review:
    """A fail that is not sure of itself does not count as one (SPEC A7)."""
    least = parts.settings.answering.least_confidence
    if review.outcome != "failed" or review.confidence >= least:
        return review
    log.info("A review failed with a confidence of %.2f, below %.2f: it does not count.", review.confidence, least)
    return review.model_copy(update={"outcome": "doubtful"})


def _given(state: RunState) -> list[Evidence]:
    return [Evidence.model_validate(one) for one in state["retrieved_nodes_score"]]


def _told(writer: Writer, written: Written, epoch: int) -> Plain:
    facts = {
        "epoch": epoch,
        "form": writer.form,
        "model": writer.model,
        "usage": written.usage.model_dump(),
        "abstains": written.abstains,
    }
    return trace(facts, {"draft": written.text, "missing": list(written.missing)})
