"""Follows a run and reports its progress on standard error, so that only the answer goes to standard output."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.text import Text

from veracity.cli.ui.console import count, error_console, one_line, plain
from veracity.cli.ui.interrupt import interruptible
from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import Answer, RunEvent, Step, steps
from veracity.models.evaluation import points
from veracity.models.strength import GRADES

STATUS = {
    "process_input": "Reading the question",
    "summarize_if_needed": "Summarizing the conversation",
    "decide_route": "Understanding the question",
    "answer_directly": "Answering",
    "search_context": "Searching earlier answers",
    "select_sources": "Selecting sources",
    "retrieve": "Searching the documents",
    "fuse": "Fusing results",
    "rerank": "Reranking results",
    "grade_documents": "Grading the evidence",
    "rewrite_query": "Rewriting the query",
    "prepare_messages": "Preparing the draft",
    "generate_answer": "Writing the draft",
    "eval_answer": "Reviewing the draft",
    "settle_answer": "Finalizing the answer",
    "evaluate": "Scoring the answer",
    "human_approval": "Requesting approval",
    "web_search": "Searching the web",
}
DECISION_RECORDED = "The decision is recorded; veracity recover resumes the run."
log = logging.getLogger("veracity")

DECIDED = {"approve": "approved", "reject": "rejected", "send_back": "sent back", "expire": "expired"}


def follow(
    events: Iterable[RunEvent],
    show_steps: bool,
    on_step: Callable[[Step], None] | None = None,
    *,
    is_decided: bool = False,
) -> Answer:
    """The run's answer. `on_step` is called after each step. `is_decided`: the run carries out a recorded decision."""
    status = _status("Starting …")
    try:
        with status, interruptible(status), _closing(events):
            for event in events:
                if event.answer:
                    return event.answer
                if event.kind == "started" and error_console.is_terminal:
                    status.update(plain(f"{STATUS.get(event.name, event.name)} …"))
                elif event.step:
                    if on_step:
                        on_step(event.step)
                    if show_steps:
                        error_console.print(format_step(event.step))
    except KeyboardInterrupt:
        if is_decided:
            error_console.print(plain(DECISION_RECORDED, "yellow"), soft_wrap=True)
        raise
    raise AssertionError("a run ends with an answer or an error")


@contextmanager
def _closing(events: Iterable[RunEvent]) -> Iterator[None]:
    """Ends the run if it was interrupted."""
    try:
        yield
    finally:
        if close := getattr(events, "close", None):
            close()


def format_step(step: Step) -> Text:
    line = plain(f"{step.name:<20}").append_text(plain(f"{1000 * step.seconds:8.0f} ms  ", "dim"))
    return line.append_text(plain(f"failed: {step.facts.problem}" if step.facts.problem else _outcome(step)))


def _outcome(step: Step) -> str:  # noqa: C901, PLR0911, PLR0912 - one case per kind of step
    match step:
        case steps.SummarizeStep(facts=facts):
            return f"summarized the turns up to number {facts.folded}" if facts.folded else ""
        case steps.RouteStep(facts=facts, texts=texts):
            standalone = f" “{texts.standalone}”" if texts and texts.standalone else ""
            return f"{facts.route}:{standalone} {texts.reason if texts else ''}".rstrip()
        case steps.DirectAnswerStep():
            return "without the documents"
        case steps.SearchContextStep(facts=facts):
            return f"found {count(facts.found, 'earlier answer')}"
        case steps.SelectSourcesStep(facts=facts):
            return ", ".join(facts.sources)
        case steps.RetrieveStep(facts=facts):
            return f"{facts.source}: {count(facts.found, 'passage')}"
        case steps.GradeStep(facts=steps.GradeFacts(quality=quality)) if quality:
            issues = "; ".join(issue.text for issue in quality.issues)
            return f"{GRADES[quality.grade]}{': ' if issues else ''}{issues}"
        case steps.RewriteStep(facts=facts, texts=texts):
            return facts.outcome or (f"“{texts.query}” ({texts.reason})" if texts else "")
        case steps.DraftStep(facts=facts):
            draft = "abstains" if facts.abstains else f"draft {(facts.epoch or 0) + 1}"
            return f"{draft}, {facts.model or facts.form}"
        case steps.ReviewStep(facts=facts, texts=texts):
            suggestions = " ".join(texts.review.suggestions) if texts and texts.review else ""
            return f"{facts.outcome}, confidence {points(facts.confidence)} {suggestions}".rstrip()
        case steps.ScoreStep(facts=facts):
            if facts.score is None or facts.threshold is None:
                return f"not scored: {facts.failed}"
            score = _compare(facts.score, facts.threshold)
            if facts.grounding is None or facts.grounding_floor is None:
                return score
            return f"{score}, grounding {_compare(facts.grounding, facts.grounding_floor)}"
        case steps.ApprovalStep(facts=facts, texts=texts):
            reason = f": {texts.reason}" if texts and texts.reason else ""
            by = f" by {facts.by}" if facts.by else ""
            return f"{DECIDED[facts.verdict or 'approve']}{' and edited' if facts.edited else ''}{by}{reason}"
        case steps.WebSearchStep(facts=facts, texts=texts):
            pages = len(texts.pages) if texts else 0
            return f"{facts.provider}: {facts.outcome or f'{pages} pages, {len(facts.evidence)} passages'}"
    return ""


def _compare(share: float, limit: float) -> str:
    return f"{points(share, limit)} {'≥' if share >= limit else '<'} {points(limit)}"


def resume_interrupted(engine: Veracity) -> None:
    """Resume the runs that a crashed process left. A failure is logged only: it concerns another run."""
    try:
        if interrupted := engine.interrupted():
            error_console.print(plain(f"Resuming {count(len(interrupted), 'interrupted run')} …", "dim"))
        with _status("Resuming …") as status, interruptible(status):
            answers = engine.recover()
    except Exception as error:  # noqa: BLE001 - see above
        reason = one_line(error) if isinstance(error, VeracityError) else type(error).__name__
        log.warning("Interrupted runs could not be resumed: %s", reason)
        return
    for answer in answers:
        outcome = answer.status.replace("_", " ")
        error_console.print(plain(f"Resumed the interrupted run {answer.run_id}: {outcome}."), soft_wrap=True)


def report_interrupted(engine: Veracity) -> None:
    """Mention interrupted runs without resuming them."""
    try:
        interrupted = engine.interrupted()
    except Exception as error:  # noqa: BLE001 - it concerns other runs
        log.warning("Interrupted runs could not be listed: %s", one_line(error))
        return
    if interrupted:
        text = f"{count(len(interrupted), 'interrupted run')}: veracity recover resumes them."
        error_console.print(plain(text, "yellow"), soft_wrap=True)


def _status(text: str) -> Any:
    return error_console.status(plain(text)) if error_console.is_terminal else nullcontext()
