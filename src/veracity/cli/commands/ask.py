"""`veracity ask`."""

from __future__ import annotations

from pathlib import Path

from veracity.cli.commands.evaluate import spent
from veracity.cli.commands.ingest import chosen
from veracity.cli.ui.answers import reviewed, show
from veracity.cli.ui.approval_prompt import left, present
from veracity.cli.ui.console import console, plain
from veracity.cli.ui.progress import take_up, watched
from veracity.engine import Veracity

__all__ = ["reviewed", "run", "show"]


def run(
    question: str,
    workspace: Path | None,
    conversation: str,
    user: str,
    max_rewrites: int | None,
    deadline: float | None,
    show_steps: bool,
    as_json: bool,
) -> int:
    with Veracity(chosen(workspace)) as engine:
        events = engine.stream(
            question, conversation=conversation, user=user, max_rewrites=max_rewrites, deadline=deadline
        )
        answer = watched(events, show_steps)
        if as_json:
            print(answer.model_dump_json(indent=2))
        else:
            answer = present(engine, answer, show_steps)
            usage = f"; {spent(answer.usage)}" if answer.usage.calls else ""
            console.print(plain(f"Run {answer.run_id}, {answer.seconds:.1f} s{usage}", "dim"))
        take_up(engine)
    return left(answer, workspace, as_json)
