"""The answer review loop: write a draft, review it, redraft on the reviewer's suggestions (SPEC A).

A failed draft goes back to the writer with the suggestions, a few times. Then the best draft is used, with a notice.
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

from veracity.agents import writer as writer_agent
from veracity.agents.base import ReviewTask, Writer, WriterOutput, WritingTask
from veracity.agents.links import make_inert
from veracity.agents.writer import MAX_DRAFT_LENGTH
from veracity.errors import BudgetError, ModelAnswerError, ModelError, ModelTimeoutError
from veracity.graph.context import RunContext
from veracity.graph.report import report
from veracity.graph.state import (
    Plain,
    RunState,
    answer_topic,
    fresh_attempt,
    from_langchain,
    standalone_question,
    to_langchain,
)
from veracity.language.citations import without_marks
from veracity.llm import OnText, Piece
from veracity.models import Evidence, Review
from veracity.models.steps import (
    DraftFacts,
    DraftTexts,
    PrepareFacts,
    QueryTexts,
    ReviewFacts,
    ReviewTexts,
    SettleFacts,
)
from veracity.printable import visible

log = logging.getLogger("veracity")

WEB_NOTICES = ("web_failed", "web_not_written")
OPENING_MESSAGES = 2  # the instructions and the question
MAX_EARLIER_ANSWER = 1500  # characters
MIN_RETRY_SECONDS = 1.0  # a model call that fails with less time left has run into the deadline
MAX_HELD_LENGTH = 3000  # characters; no link or tag is as long


def prepare_messages(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Send numbered evidence before the first draft, the reviewer's suggestions before a redraft (SPEC A10).

    The suggestions come with the evidence and the last answer, and replace the earlier message: nothing is sent twice.
    """
    context, question = runtime.context, standalone_question(state)
    if state["last_evaluation"] is not None:
        notes, suggestions = state.get("notes", []), state["last_evaluation"]["suggestions"]
        last_answer, background = state["last_answer"], _background(state)
        evidence = _evidence(state)
        feedback = writer_agent.feedback_message(question, evidence, last_answer, suggestions, background, notes)
        messages = [*_reset_messages(state), to_langchain(feedback)]
        return {"messages": messages, **report(PrepareFacts(suggestions=len(notes) + len(suggestions)))}
    best, quality = state["best_round"], state["best_round"]["quality"]
    chosen = _choose_evidence(best["evidence"], state["first_round"], context.settings.answering.evidence)
    evidence = [Evidence.model_validate(item) for item in chosen]
    context.memory.keep_evidence(state["run_id"], evidence, given=True)
    guide = _make_guide(state, context, evidence)
    quotes = guide["quotes"] if guide else ""
    message = writer_agent.evidence_message(question, evidence, _background(state), quotes)
    return {
        **fresh_attempt(),
        "guide": guide,
        "quality_grade": quality["grade"] if quality else "",
        "quality_score": quality["score"] if quality else 0.0,
        "quality_issues": [issue["text"] for issue in quality["issues"]] if quality else [],
        "retrieved_nodes_score": chosen,
        "messages": [*_reset_messages(state), to_langchain(message)],
        **report(
            PrepareFacts(
                attempt=state["attempt"],
                evidence_from=state["evidence_from"],
                evidence=[item.id for item in evidence],
            ),
            QueryTexts(query=best["query"]),
        ),
    }


def generate_answer(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Write a draft from the messages. A completed redraft adds 1 to `epoch` (SPEC A3), unless a person asked for it
    (D10)."""
    context, notices = runtime.context, state["notices"]
    is_redraft = state["last_evaluation"] is not None
    local_writer = context.recaller if state["evidence_from"] == "history" else context.extractor
    has_evidence = bool(state["retrieved_nodes_score"])  # without evidence there is nothing to write from
    is_local = context.writer.form == "extractive" or not has_evidence or _is_guided(state, context, is_redraft)
    writer = local_writer if is_local else context.writer
    stream = DraftStream(runtime.stream_writer, _allowed_texts(state)) if context.limits.drafts else None
    try:
        output = _write(writer, state, context, stream)
    except ModelError as error:
        code = _limit_reached(error, context)
        if is_redraft:
            return _stop_drafting(state, code or "redraft_failed", error)
        if state["rejected"] and not code:  # the rejected answer remains
            return {"abstains": True, **_stop_drafting(state, "web_not_written", error)}
        if not code:
            raise
        notices = [*notices, {"code": code, "problem": str(error)}]
        writer = local_writer
        output = _write(writer, state, context, stream)
    if is_redraft and output.abstains:  # the earlier draft says more
        notice = {"code": "redraft_failed", "key": "redraft_abstained"}
        facts = DraftFacts(outcome="the redraft abstains")
        return {"halted": True, "notices": [*notices, notice], **report(facts)}
    counts = is_redraft and not _is_sent_back(state)
    epoch, missing = state["epoch"] + counts, list(output.missing)
    return {
        "messages": [AIMessage(output.text)],
        "epoch": epoch,
        "last_answer": output.text,
        "abstains": output.abstains,
        "tentative": output.tentative,
        "missing": missing,
        "form": writer.form,
        "notices": notices,
        **report(
            DraftFacts(
                attempt=state["attempt"],
                epoch=epoch,
                form=writer.form,
                model=writer.model,
                usage=output.usage,
                abstains=output.abstains,
            ),
            DraftTexts(draft=output.text, missing=missing),
        ),
    }


def after_generate_answer(state: RunState) -> Literal["eval_answer", "settle_answer", "select_sources"]:
    """An abstention is not reviewed (SPEC X2). If earlier answers do not help, search the documents."""
    if state["abstains"] and state["evidence_from"] == "history":
        return "select_sources"
    return "settle_answer" if state["abstains"] or state["halted"] else "eval_answer"


def eval_answer(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Review the writer's last message. An identical draft reuses its review."""
    context = runtime.context
    draft = str(state["messages"][-1].content)
    review = next((known["review"] for known in state["drafts"] if known["text"] == draft), None)
    if review is None:
        question = standalone_question(state) if context.reviewer.model else _corrected_question(state)
        task = ReviewTask(question, draft, _evidence(state), context.limits.deadline, context.limits.budget)
        review = _discount_unsure(context.reviewer.review(task), context).model_dump()
    _log_review(state, review)
    return {
        "last_evaluation": review,
        "drafts": [*state["drafts"], {"text": draft, "form": state["form"], "review": review}],
        **report(
            ReviewFacts(
                attempt=state["attempt"],
                epoch=state["epoch"],
                outcome=review["outcome"],
                confidence=review["confidence"],
                reviewer=review["reviewer"],
                usage=review["usage"],
            ),
            ReviewTexts(review=Review.model_validate(review)),
        ),
    }


def after_eval_answer(state: RunState, runtime: Runtime[RunContext]) -> Literal["prepare_messages", "settle_answer"]:
    """Redraft a failed draft while epochs and time are left (SPEC A3, A4); not an unreviewed one (A13)."""
    limits, max_epochs = runtime.context.limits, runtime.context.settings.answering.gener_epoch
    review = state["last_evaluation"]
    has_failed = review is not None and review["outcome"] == "failed"
    may_redraft = state["epoch"] < max_epochs and not limits.deadline.has_passed
    return "prepare_messages" if has_failed and may_redraft else "settle_answer"


def settle_answer(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Use the last draft if it passed, else the best: fewest suggestions, then the latest (SPEC A5)."""
    notices = list(state["notices"])
    if state["abstains"]:
        return _settle_abstention(state)
    drafts, last = state["drafts"], state["drafts"][-1]
    if state.get("notes") and len(drafts) > 1:  # the first one was sent back
        drafts = drafts[1:]
    chosen = last
    if last["review"]["outcome"] == "failed":
        chosen = min(reversed(drafts), key=lambda draft: len(draft["review"]["suggestions"]))
        _log_failed_review(state, runtime.context.settings.answering.gener_epoch)
        was_cut_short = state["epoch"] < runtime.context.settings.answering.gener_epoch and not state["halted"]
        notices += [{"code": "deadline"}] if was_cut_short else []
        notices.append({"code": "review_failed", "times": state["epoch"]})
    elif state["epoch"]:
        notices.append({"code": "revised", "times": state["epoch"]})
    is_tentative = bool(state.get("tentative")) and chosen is last
    notices += [{"code": "uncertain"}] if is_tentative else []
    index = len(drafts) - 1 - drafts[::-1].index(chosen)  # among those of this attempt
    return {
        "final_answer": chosen["text"],
        "final_review": chosen["review"],
        "form": chosen["form"],
        "tentative": is_tentative,
        "notices": notices,
        **report(SettleFacts(draft=index, outcome=chosen["review"]["outcome"])),
    }


class DraftStream:
    """Streams a draft in pieces that are safe to display.

    Holds back text that may still become a link or tag. `allowed` are the texts whose URLs may be displayed.
    """

    def __init__(self, send: Callable[[Piece], None], allowed: Sequence[str]) -> None:
        self._send = send
        self._allowed = allowed
        self._held = ""
        self._length = 0

    def add(self, piece: Piece) -> None:
        if piece.begins:
            self._restart()
        self._held += piece.text
        end = _complete_length(self._held)
        complete, self._held = self._held[:end], self._held[end:]
        self._display(complete)

    def finish(self) -> None:
        """Display the text that was held back."""
        self._display(self._held)
        self._held = ""

    def replace(self, text: str) -> None:
        """Display a whole draft at once."""
        self._restart()
        self._display(text)

    def _restart(self) -> None:
        self._held = ""
        self._length = 0

    def _display(self, text: str) -> None:
        safe = visible(make_inert(text, self._allowed).replace("\r", ""))
        if safe and self._length < MAX_DRAFT_LENGTH:
            self._send(Piece(safe, begins=not self._length))
            self._length += len(safe)


def _complete_length(text: str) -> int:
    """How many characters no later text can change. A run of ASCII characters may become a URL."""
    end, previous = len(text.rstrip(_URL_CHARACTERS)), -1
    while end != previous:  # cutting at a bracket may leave an open tag around it
        previous, complete = end, text[:end]
        end = min(_open_bracket(complete), _open_tag(complete))
    return end if end or len(text) <= MAX_HELD_LENGTH else len(text)


def _open_bracket(text: str) -> int:
    """Position of a bracket in the last line that may become a link. Links do not span lines."""
    position = text.rfind("\n") + 1
    while (position := text.find("[", position)) >= 0:
        closed = _CLOSED_BRACKET.match(text, position)
        if not closed:
            return position
        position = closed.end()
    return len(text)


def _open_tag(text: str) -> int:
    position = text.rfind(">")
    while (position := text.find("<", position + 1)) >= 0:
        if text[position + 1 : position + 2] in _TAG_START:
            return position
    return len(text)


_URL_CHARACTERS = string.digits + string.ascii_letters + string.punctuation
_TAG_START = string.ascii_letters + "!/?"  # the empty string at the end of a text is contained, too
# [label] followed by anything but a parenthesis, or [label](target).
_CLOSED_BRACKET = re.compile(r"\[[^\[\]\n]{0,300}\](?:[^(]|\((?:[^()\n]|\([^()\n]{0,500}\)){0,1000}\))")


def _settle_abstention(state: RunState) -> Plain:
    """After a rejection, restore the rejected answer with a notice that the web had no answer (SPEC D7)."""
    reported = report(SettleFacts(status="abstained", attempt=state["attempt"]))
    if not state["rejected"]:
        return {"final_answer": "", "final_review": None, **reported}
    notices = state["rejected"]["notices"]
    web_notices = [notice for notice in state["notices"] if notice["code"] in WEB_NOTICES and notice not in notices]
    empty = [] if state["halted"] else [{"code": "web_empty"}]
    return {**state["rejected"], "notices": [*notices, *web_notices, *empty], **reported}


def _stop_drafting(state: RunState, code: str, error: ModelError) -> Plain:
    notice = {"code": code, "problem": str(error)}
    return {"halted": True, "notices": [*state["notices"], notice], **report(DraftFacts(problem=str(error)))}


def _write(writer: Writer, state: RunState, context: RunContext, stream: DraftStream | None) -> WriterOutput:
    """Stream the draft of a model while it is written, any other draft at once.

    Without a reader, too: a streamed draft that repeats itself is cut off, instead of written to its longest length.
    """
    task = _writing_task(state, context, stream.add if stream else _discard)
    output = _make_output_inert(writer.write(task), state)
    if writer.form == "extractive":
        output = _add_notes(output, writer, task, state.get("notes", []))
    if stream and writer.form == "written":
        stream.finish()
    elif stream and not output.abstains:
        stream.replace(output.text)
    return output


def _add_notes(output: WriterOutput, writer: Writer, task: WritingTask, notes: Sequence[str]) -> WriterOutput:
    """The writer without a model reads no suggestions: it quotes what answers the notes, too."""
    for note in notes:
        added = writer.write(replace(task, question=note, corrected=""))
        if not (added.abstains or added.tentative or added.text in output.text):
            output = replace(output, text=f"{output.text}\n{added.text}")
    return output


def _discard(piece: Piece) -> None:
    """For a draft that nobody reads while it is written."""


def _make_output_inert(output: WriterOutput, state: RunState) -> WriterOutput:
    """Remove links, images and markup that do not occur in the evidence."""
    text = make_inert(output.text, _allowed_texts(state))
    if not output.abstains and not text.strip():
        raise ModelAnswerError("The draft held only markup and addresses that are not in the evidence.")
    return replace(output, text=text)


def _make_guide(state: RunState, context: RunContext, evidence: Sequence[Evidence]) -> Plain | None:
    """What the local writer quotes from the evidence, for a model that finds an answer less well."""
    is_on = context.settings.answering.guide and context.writer.form != "extractive"
    if not is_on or not evidence or state["evidence_from"] == "history":
        return None
    typed_relevance = _typed_relevance(state)
    task = WritingTask(answer_topic(state), evidence, (), corrected=state["mended"], typed_relevance=typed_relevance)
    output = context.extractor.write(task)
    quotes = output.text.partition("\n")[2] if output.tentative else output.text  # the first line introduces a passage
    return {"quotes": "" if output.abstains else quotes, "abstains": output.abstains}


def _is_guided(state: RunState, context: RunContext, is_redraft: bool) -> bool:
    """Whether the local writer writes in place of the model: an abstention, or the last redraft. A passage of which it
    is not sure waits for a person, as the failed draft would, and is easier to check."""
    guide = state.get("guide")
    if guide is None or _is_sent_back(state):
        return False
    if not is_redraft:
        return bool(guide["abstains"])
    is_last = state["epoch"] + 1 >= context.settings.answering.gener_epoch
    return is_last and not guide["abstains"]


def _background(state: RunState) -> Plain:
    """The conversation and a rejected answer, for the writer."""
    background: Plain = {}
    if state["recent"] or state["summary"]:
        turns = [{"question": turn["question"], "answer": _shorten(turn["answer"])} for turn in state["recent"]]
        background["conversation"] = {"summary": state["summary"], "turns": turns}
    if state["rejected"] and state["rejected"]["final_answer"]:
        rejections = [decision for decision in state["decisions"] if decision["verdict"] == "reject"]
        answer = _shorten(state["rejected"]["final_answer"])
        background["rejected"] = {"answer": answer, "reason": rejections[-1]["reason"]}
    return background


def _shorten(answer: str) -> str:
    return without_marks(answer)[:MAX_EARLIER_ANSWER]


def _reset_messages(state: RunState) -> list[AnyMessage | RemoveMessage]:
    """Keep only the opening: the next message has the evidence, and earlier citations may refer to other evidence."""
    opening = state["messages"][:OPENING_MESSAGES]
    is_later = len(state["messages"]) > OPENING_MESSAGES
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *opening] if is_later else []


def _choose_evidence(best: list[Plain], first: list[Plain], limit: int) -> list[Plain]:
    """The top of the best round, including the top of the first round."""
    best_ids = {item["id"] for item in best[:limit]}
    missing = [item for item in first[: limit // 2] if item["id"] not in best_ids]
    return [*best[: limit - len(missing)], *missing]


def _evidence(state: RunState) -> list[Evidence]:
    return [Evidence.model_validate(item) for item in state["retrieved_nodes_score"]]


def _allowed_texts(state: RunState) -> list[str]:
    """Texts whose URLs an answer may contain."""
    return [standalone_question(state), *(item.text for item in _evidence(state))]


def _writing_task(state: RunState, context: RunContext, on_text: OnText) -> WritingTask:
    messages = [from_langchain(message) for message in state["messages"]]
    limits = context.limits
    return WritingTask(
        answer_topic(state),
        _evidence(state),
        messages,
        limits.deadline,
        limits.budget,
        on_text,
        state["mended"],
        _typed_relevance(state),
    )


def _is_sent_back(state: RunState) -> bool:
    """Whether a person asked for the next draft, which does not count among the redrafts."""
    return bool(state.get("notes")) and len(state["drafts"]) == 1


def _typed_relevance(state: RunState) -> float:
    """A rewrite widens the search, but does not change what fits the question."""
    first_round = state["first_round"] if state["original_queries"] else []
    return max((item["metadata"]["relevance_score"] for item in first_round), default=1.0)


def _corrected_question(state: RunState) -> str:
    """For matching by code; a model tolerates spelling mistakes."""
    return state["mended"] or answer_topic(state)


def _log_review(state: RunState, review: Plain) -> None:
    """Only for debugging: the details may quote documents."""
    log.debug(
        "Run %s, draft %d: review %s, confidence %g; reasonableness %r; evidence %r; suggestions %r.",
        state["run_id"],
        state["epoch"],
        review["outcome"],
        review["confidence"],
        review["reasonableness"],
        review["evidence"],
        review["suggestions"],
    )


def _log_failed_review(state: RunState, limit: int) -> None:
    if state["epoch"] >= limit:
        log.warning("Run %s reached the limit of %d redrafts without a passed review.", state["run_id"], limit)
    else:
        log.warning("Run %s: the answer failed its review after %d redrafts.", state["run_id"], state["epoch"])


def _limit_reached(error: ModelError, context: RunContext) -> Literal["budget", "deadline", ""]:
    """The notice code if the call was ended by the run's own limits."""
    if isinstance(error, BudgetError):
        return "budget"
    limits = context.limits
    timed_out = isinstance(error, ModelTimeoutError) and limits.deadline.left < MIN_RETRY_SECONDS
    return "deadline" if timed_out or limits.deadline.has_passed else ""


def _discount_unsure(review: Review, context: RunContext) -> Review:
    """A failed review below the configured confidence does not count (SPEC A7)."""
    minimum = context.settings.answering.least_confidence
    if review.outcome != "failed" or review.confidence >= minimum:
        return review
    log.info("Ignored a failed review: its confidence %.2f is below %.2f.", review.confidence, minimum)
    return review.model_copy(update={"outcome": "doubtful"})
