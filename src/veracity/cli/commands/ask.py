"""`veracity ask`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veracity.cli.ui.approval_prompt import exit_if_awaiting, show_or_decide
from veracity.cli.ui.console import console, format_usage, plain, print_json
from veracity.cli.ui.progress import follow, resume_interrupted
from veracity.engine import Veracity, require_workspace


def ask(
    question: str,
    workspace: Path | None,
    conversation: str,
    user: str,
    max_rewrites: int | None,
    deadline: float | None,
    only: Sequence[str],
    show_steps: bool,
    as_json: bool,
) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        events = engine.stream(
            question, conversation=conversation, user=user, max_rewrites=max_rewrites, deadline=deadline, only=only
        )
        answer = follow(events, show_steps)
        if as_json:
            print_json(answer)
        else:
            answer = show_or_decide(engine, answer, show_steps)
            usage = f"; {format_usage(answer.usage)}" if answer.usage.calls else ""
            console.print(plain(f"Run {answer.run_id}, {answer.seconds:.1f} s{usage}", "dim"))
        resume_interrupted(engine)
        exit_if_awaiting(engine, answer, workspace, as_json)
