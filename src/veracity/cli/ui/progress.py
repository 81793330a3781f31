"""Watches a run and tells of it on standard error, so that the answer alone can be piped on."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.text import Text

from veracity.cli.commands.ingest import counted
from veracity.cli.ui.console import plain
from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import Answer, RunEvent, Step
from veracity.printable import visible

Facts = dict[str, Any]

UNDER_WAY = {
    "process_input": "Reading the question",
    "summarize_if_needed": "Recalling what was said",
    "decide_route": "Understanding the question",
    "answer_directly": "Answering",
    "search_context": "Searching earlier answers",
    "select_sources": "Choosing where to look",
    "retrieve": "Searching the documents",
    "fuse": "Putting together what was found",
    "rerank": "Reordering what was found",
    "grade_documents": "Grading the evidence",
    "rewrite_query": "Rewriting the query",
    "prepare_messages": "Preparing the draft",
    "generate_answer": "Writing",
    "eval_answer": "Reviewing the draft",
    "settle_answer": "Settling the answer",
    "evaluate": "Scoring the answer",
    "human_approval": "Asking a person",
    "web_search": "Searching the web",
}


def under_way(name: str) -> str:
    return f"{UNDER_WAY.get(name, name)} …"


def told(step: Step) -> Text:
    """The name, the time it took, and what came of it."""
    line = plain(f"{step.name:<20}").append_text(plain(f"{1000 * step.seconds:8.0f} ms  ", "dim"))
    return line.append_text(plain(_outcome(step)))


def _outcome(step: Step) -> str:
    if "problem" in step.facts:
        return f"failed: {step.facts['problem']}"
    facts, texts = step.facts, step.texts or {}
    return (
        _of_conversation(step.name, facts, texts)
        or _of_gate(step.name, facts, texts)
        or _of_loop(step.name, facts, texts)
    )


def _of_conversation(name: str, facts: Facts, texts: Facts) -> str:
    match name:
        case "summarize_if_needed":
            return f"the turns up to number {facts['folded']} are summed up" if facts["folded"] else ""
        case "decide_route":
            understood = f" “{texts['standalone']}”" if texts.get("standalone") else ""
            return f"{facts['route']}:{understood} {texts.get('reason', '')}".rstrip()
        case "answer_directly":
            return "a courtesy, which states nothing"
        case "search_context":
            return f"found {facts['found']} earlier answer{'' if facts['found'] == 1 else 's'}"
    return ""


def _of_gate(name: str, facts: Facts, texts: Facts) -> str:
    match name:
        case "evaluate":
            if facts["score"] is None:
                return f"not scored: {facts.get('failed', '')}"
            sign = "≥" if facts["score"] >= facts["threshold"] else "<"
            return f"{facts['score']:.2f} {sign} {facts['threshold']:.2f}"
        case "human_approval":
            verdict = {"approve": "approved", "reject": "rejected"}[facts["verdict"]]
            edited = " and edited" if facts["edited"] else ""
            reason = f": {texts['reason']}" if texts.get("reason") else ""
            return f"{verdict}{edited} by {facts['by']}{reason}"
        case "web_search":
            if "outcome" in facts:
                return f"{facts['provider']}: {facts['outcome']}"
            return f"{facts['provider']}: {len(facts['pages'])} pages, {len(facts['evidence'])} passages"
    return ""


def _of_loop(name: str, facts: Facts, texts: Facts) -> str:  # noqa: PLR0911 - one line for each kind of step
    match name:
        case "select_sources":
            return ", ".join(facts["sources"])
        case "retrieve":
            return f"{facts['source']}: {facts['found']} passages"
        case "grade_documents":
            quality = facts["quality"]
            issues = "; ".join(issue["text"] for issue in quality["issues"])
            return f"{quality['grade']} ({quality['score']:.2f}){': ' if issues else ''}{issues}"
        case "rewrite_query":
            return facts.get("outcome") or f"“{texts.get('query', '')}” ({texts.get('reason', '')})"
        case "generate_answer":
            what = "abstains" if facts["abstains"] else f"draft {facts['epoch']}"
            return f"{what}, {facts['model'] or facts['form']}"
        case "eval_answer":
            suggestions = " ".join(texts.get("review", {}).get("suggestions", []))
            return f"{facts['outcome']} ({facts['confidence']:.2f}) {suggestions}".rstrip()
    return ""


RECORDED = "The decision is recorded: what follows from it goes on with veracity recover."
log = logging.getLogger("veracity")
errors = Console(stderr=True, highlight=False)


def _nothing(step: Step) -> None:
    """For who does not look at single steps."""


def watched(
    events: Iterable[RunEvent], show_steps: bool, look: Callable[[Step], None] = _nothing, *, decided: bool = False
) -> Answer:
    """`look` is given every step that has ended. `decided`: they follow from a decision, which stays."""
    live = _live("Getting ready …")
    try:
        with live, _stoppable(live):
            for event in events:
                if event.answer:
                    return event.answer
                if event.kind == "started" and errors.is_terminal:
                    live.update(plain(under_way(event.name)))
                elif event.step:
                    look(event.step)
                    if show_steps:
                        errors.print(told(event.step))
    except KeyboardInterrupt:
        if decided:
            errors.print(plain(RECORDED, "yellow"), soft_wrap=True)
        raise
    finally:
        if close := getattr(events, "close", None):  # whoever stops it here and now: the run is to know
            close()
    raise AssertionError("a run ends with an answer or an error")


@contextmanager
def _stoppable(live: Any) -> Iterator[None]:
    """Ctrl-C stops what is under way, but a step that has begun is waited for: that is told, and may be cut short."""
    if not errors.is_terminal or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        live.update(plain("Stopping … (Ctrl-C again: at once)"))
        signal.signal(signal.SIGINT, cut_short)
        raise KeyboardInterrupt

    def cut_short(*_: object) -> None:
        """The step goes on by itself, and would complain when the process ends before it."""
        logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def take_up(engine: Veracity) -> None:
    """What a process left that died. It cannot keep anything else from being done."""
    try:
        if left := engine.interrupted():
            errors.print(plain(f"Taking up {counted(len(left), 'run')} that a process left which died …", "dim"))
        with _live("Taking up …") as live, _stoppable(live):
            answers = engine.recover()
    except Exception as problem:  # noqa: BLE001 - whatever it is, it belongs to another run
        told = _in_one_line(problem) if isinstance(problem, VeracityError) else type(problem).__name__
        log.warning("What was interrupted could not be taken up: %s", told)
        return
    for answer in answers:
        outcome = answer.status.replace("_", " ")
        errors.print(plain(f"Took up the run {answer.run_id} that was interrupted: {outcome}."), soft_wrap=True)


def tell_interrupted(engine: Veracity) -> None:
    """For who does not wait for them."""
    try:
        left = engine.interrupted()
    except Exception as problem:  # noqa: BLE001 - as above
        log.warning("What was interrupted is not known: %s", _in_one_line(problem))
        return
    if left:
        told = f"{counted(len(left), 'run')} interrupted: veracity recover takes them up."
        errors.print(plain(told, "yellow"), soft_wrap=True)


def complain(problem: object) -> None:
    """As `main` does where it ends with it."""
    errors.print(plain(f"veracity: {_in_one_line(problem)}", "red"), soft_wrap=True)


def _in_one_line(problem: object) -> str:
    return " ".join(visible(problem).split())


def is_interactive() -> bool:
    """Somebody sits there, and sees what is printed."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _live(text: str) -> Any:
    return errors.status(plain(text)) if errors.is_terminal else nullcontext()
