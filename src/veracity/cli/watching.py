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

from veracity.cli.console import plain
from veracity.cli.ingesting import counted
from veracity.cli.steps import told, under_way
from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import Answer, RunEvent, Step
from veracity.visible import visible

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
