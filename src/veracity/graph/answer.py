"""The answer review loop: write a draft, review it, redraft on the reviewer's suggestions (SPEC A).

A draft that failed goes back with what was wrong with it, a few times; then the best one stands, with a notice.
"""

from __future__ import annotations

import logging
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from veracity.agents import writer as writer_module
from veracity.agents.links import inert
from veracity.agents.reviewer import ReviewTask
from veracity.agents.writer import LONGEST_DRAFT, Writer, WritingTask, Written
from veracity.errors import BudgetError, ModelAnswerError, ModelError, ModelTimeoutError
from veracity.graph.context import Parts
from veracity.graph.state import Plain, RunState, as_langchain, as_ours, asked, fresh_attempt, matter
from veracity.graph.steps import trace
from veracity.language.citations import without_marks
from veracity.llm import OnText, Piece
from veracity.models import Evidence, Review
from veracity.printable import visible

LONGEST_HELD = 3000  # characters; no link or tag is as long


class Showing:
    """`known` are the texts whose addresses may be shown."""

    def __init__(self, tell: Callable[[Piece], None], known: Sequence[str]) -> None:
        self._tell = tell
        self._known = known
        self._held = ""
        self._length = 0

    def hear(self, piece: Piece) -> None:
        if piece.begins:
            self._begin()
        self._held += piece.text
        cut = _settled(self._held)
        shown, self._held = self._held[:cut], self._held[cut:]
        self._show(shown)

    def end(self) -> None:
        """Nothing follows: what was held back is shown."""
        self._show(self._held)
        self._held = ""

    def whole(self, text: str) -> None:
        """For a draft that is there all at once."""
        self._begin()
        self._show(text)

    def _begin(self) -> None:
        self._held = ""
        self._length = 0

    def _show(self, text: str) -> None:
        shown = visible(inert(text, self._known).replace("\r", ""))
        if shown and self._length < LONGEST_DRAFT:
            self._tell(Piece(shown, begins=not self._length))
            self._length += len(shown)


def _settled(text: str) -> int:
    """How many characters stay as they are whatever follows. A word of ASCII may become an address."""
    end, before = len(text.rstrip(_WORD)), -1
    while end != before:  # where a bracket is cut off, a tag around it may be
        before, settled = end, text[:end]
        end = min(_open_bracket(settled), _open_tag(settled))
    return end if end or len(text) <= LONGEST_HELD else len(text)


def _open_bracket(text: str) -> int:
    """Where in the last line a bracket begins that may become a link: links end with their line."""
    position = text.rfind("\n") + 1
    while (position := text.find("[", position)) >= 0:
        closed = _CLOSED.match(text, position)
        if not closed:
            return position
        position = closed.end()
    return len(text)


def _open_tag(text: str) -> int:
    position = text.rfind(">")
    while (position := text.find("<", position + 1)) >= 0:
        if text[position + 1 : position + 2] in _OPENS_TAG:
            return position
    return len(text)


_WORD = string.digits + string.ascii_letters + string.punctuation
_OPENS_TAG = string.ascii_letters + "!/?"  # or nothing yet, which is in every text
# [shown] and something else, or [shown](target).
_CLOSED = re.compile(r"\[[^\[\]\n]{0,300}\](?:[^(]|\((?:[^()\n]|\([^()\n]{0,500}\)){0,1000}\))")


log = logging.getLogger("veracity")

WEB_NOTICES = ("web_failed", "web_not_written")
OPENING = 2  # messages: the instructions and the question
LONGEST_SAID = 1500  # characters of an earlier answer
MARGIN = 1.0  # seconds; a call is not repeated when so little time is left


def prepare_messages(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """The numbered evidence before the first draft, the reviewer's suggestions before every other (SPEC A10)."""
    parts = runtime.context
    if state["last_evaluation"] is not None:
        suggestions = state["last_evaluation"]["suggestions"]
        given = _given(state)
        feedback = writer_module.feedback_message(asked(state), given, state["last_answer"], suggestions)
        return {"messages": [as_langchain(feedback)], **trace({"suggestions": len(suggestions)})}
    best, quality = state["best_round"], state["best_round"]["quality"]
    chosen = _chosen(best["evidence"], state["first_round"], parts.settings.answering.evidence)
    given = [Evidence.model_validate(one) for one in chosen]
    parts.memory.keep_evidence(state["run_id"], given, given=True)
    graded = {
        "quality_grade": quality["grade"] if quality else "",
        "quality_score": quality["score"] if quality else 0.0,
        "quality_issues": [issue["text"] for issue in quality["issues"]] if quality else [],
    }
    evidence = writer_module.evidence_message(asked(state), given, _before(state))
    return {
        **fresh_attempt(),
        **graded,
        "retrieved_nodes_score": chosen,
        "messages": [*_anew(state), as_langchain(evidence)],
        **trace(
            {"attempt": state["attempt"], "from": state["evidence_from"], "evidence": [one.id for one in given]},
            {"query": best["query"]},
        ),
    }


def generate_answer(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Sends the messages as they are. A redraft that completes adds 1 to `epoch` (SPEC A3)."""
    parts = runtime.context
    is_redraft = state["last_evaluation"] is not None
    notices = state["notices"]
    local = parts.recaller if state["evidence_from"] == "history" else parts.extractor
    is_local = parts.writer.form == "extractive" or not state["retrieved_nodes_score"]  # of nothing there is nothing
    writer = local if is_local else parts.writer
    showing = Showing(runtime.stream_writer, _known(state)) if parts.limits.drafts else None
    try:
        written = _written(writer, state, parts, showing)
    except ModelError as problem:
        code = _stopped_by(problem, parts)
        if is_redraft:
            notice = {"code": code or "redraft_failed", "problem": str(problem)}
            return {"halted": True, "notices": [*notices, notice], **trace({"problem": str(problem)})}
        if state["rejected"] and not code:  # there is an answer to go back to
            notice = {"code": "web_not_written", "problem": str(problem)}
            halted = {"abstains": True, "halted": True}
            return {**halted, "notices": [*notices, notice], **trace({"problem": str(problem)})}
        if not code:
            raise
        notices = [*notices, {"code": code, "problem": str(problem)}]
        writer = local
        written = _written(writer, state, parts, showing)
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
        **_told(writer, written, state["epoch"] + is_redraft, state["attempt"]),
    }


def after_generate_answer(state: RunState) -> Literal["eval_answer", "settle_answer", "select_sources"]:
    """An abstention is not reviewed (SPEC X2). Where earlier answers do not say, the documents may."""
    if state["abstains"] and state["evidence_from"] == "history":
        return "select_sources"
    return "settle_answer" if state["abstains"] or state["halted"] else "eval_answer"


def eval_answer(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Reviews the last message of the writer. The same draft once more gets the same verdict."""
    parts = runtime.context
    draft = str(state["messages"][-1].content)
    known = next((one["review"] for one in state["drafts"] if one["text"] == draft), None)
    if known is None:
        question = asked(state) if parts.reviewer.model else _understood(state)  # a model reads over slips
        task = ReviewTask(question, draft, _given(state), parts.limits.run, parts.limits.budget)
        known = _weighed(parts.reviewer.review(task), parts).model_dump()
    drafts = [*state["drafts"], {"text": draft, "form": state["form"], "review": known}]
    return {
        "last_evaluation": known,
        "drafts": drafts,
        **trace(
            {
                "attempt": state["attempt"],
                "epoch": state["epoch"],
                **{name: known[name] for name in ("outcome", "confidence", "reviewer", "usage")},
            },
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
        return _abstained(state)
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


def _abstained(state: RunState) -> Plain:
    """After a rejection there is an answer to go back to: the web knew none either (SPEC D7)."""
    told = trace({"status": "abstained", "attempt": state["attempt"]})
    if not state["rejected"]:
        return {"final_answer": "", "final_review": None, **told}
    notices = state["rejected"]["notices"]
    notices = [*notices, *(one for one in state["notices"] if one["code"] in WEB_NOTICES and one not in notices)]
    return {**state["rejected"], "notices": notices if state["halted"] else [*notices, {"code": "web_empty"}], **told}


def _written(writer: Writer, state: RunState, parts: Parts, showing: Showing | None) -> Written:
    """Shown while it is written, where a model writes; else all at once. Not at all where nobody looks."""
    written = _inert(writer.write(_writing_task(state, parts, showing.hear if showing else None)), state)
    if showing is None:
        return written
    if writer.form == "written":
        showing.end()
    elif not written.abstains:
        showing.whole(written.text)
    return written


def _inert(written: Written, state: RunState) -> Written:
    """Nothing in it can be followed or loaded but what the evidence holds."""
    text = inert(written.text, _known(state))
    if not written.abstains and not text.strip():
        raise ModelAnswerError("The draft held nothing but markup and addresses that no evidence holds.")
    return replace(written, text=text)


def _before(state: RunState) -> Plain:
    """What led to this attempt, for the writer: what was said before, and what a person rejected."""
    before: Plain = {}
    if state["recent"] or state["summary"]:
        turns = [{"question": one["question"], "answer": _said(one["answer"])} for one in state["recent"]]
        before["conversation"] = {"summary": state["summary"], "turns": turns}
    if state["rejected"] and state["rejected"]["final_answer"]:
        reason = state["decisions"][-1]["reason"]
        before["rejected"] = {"answer": _said(state["rejected"]["final_answer"]), "reason": reason}
    return before


def _said(answer: str) -> str:
    return without_marks(answer)[:LONGEST_SAID]


def _anew(state: RunState) -> list[AnyMessage | RemoveMessage]:
    """The marks of an earlier attempt name other evidence: this one begins with the opening alone."""
    opening = state["messages"][:OPENING]
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *opening] if len(state["messages"]) > OPENING else []


def _chosen(best: list[Plain], first: list[Plain], most: int) -> list[Plain]:
    """The best of the best round, with the best that the question itself found."""
    kept = first[: most // 2]
    known = {one["id"] for one in best[:most]}
    missing = [one for one in kept if one["id"] not in known]
    return [*best[: most - len(missing)], *missing]


def _known(state: RunState) -> list[str]:
    """Texts whose addresses may stand in an answer."""
    return [asked(state), *(one.text for one in _given(state))]


def _writing_task(state: RunState, parts: Parts, on_text: OnText | None) -> WritingTask:
    spoken = [as_ours(message) for message in state["messages"]]
    return WritingTask(_understood(state), _given(state), spoken, parts.limits.run, parts.limits.budget, on_text)


def _understood(state: RunState) -> str:
    """The question as code can match it with texts."""
    return state["mended"] or matter(state)


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


def _told(writer: Writer, written: Written, epoch: int, attempt: int) -> Plain:
    facts = {
        "attempt": attempt,
        "epoch": epoch,
        "form": writer.form,
        "model": writer.model,
        "usage": written.usage.model_dump(),
        "abstains": written.abstains,
    }
    return trace(facts, {"draft": written.text, "missing": list(written.missing)})
