"""What was asked and answered in a conversation, for people. Knows nothing about commands."""

from __future__ import annotations

from veracity.cli.answers import WAITING
from veracity.cli.console import console, plain
from veracity.engine import Veracity
from veracity.models import PastTurn, RunSummary

LONGEST_SHOWN = 300  # characters of an earlier answer
MOST_RUNS = 100_000


def tell(engine: Veracity, conversation: str, user: str) -> None:
    turns = engine.turns(conversation, user=user)
    if not turns:
        console.print(plain("Nothing was asked in this conversation yet."))
    runs = {} if all(turn.answer for turn in turns) else _runs(engine, user)
    for turn in turns:
        console.print(plain(f"{turn.number}. {turn.question}", "bold"))
        console.print(plain(f"   {_answer(turn, runs.get(turn.run_id))}"))


def _runs(engine: Veracity, user: str) -> dict[str, RunSummary]:
    return {run.run_id: run for run in engine.runs(MOST_RUNS, user=user)}


def _answer(turn: PastTurn, run: RunSummary | None) -> str:
    answer = " ".join(turn.answer.split()) or _why_none(run)
    return answer if len(answer) <= LONGEST_SHOWN else f"{answer[:LONGEST_SHOWN]}…"


def _why_none(run: RunSummary | None) -> str:
    status = run.status if run else ""
    if run and status == "failed":
        return "(stopped)" if run.problem.startswith("stopped") else f"(failed: {' '.join(run.problem.split())})"
    told = {WAITING: "waits for a person", "running": "under way", "rejected": "rejected"}
    return f"({told.get(status, 'no answer that can be used again')})"
