"""A conversation of 500 turns: does the time per turn grow, and how do the files grow?

    python -m benchmarks.campaigns.growth [--turns 500]

Writer, reviewer and judge are scripted; everything else is real, with the bundled embedder and local summaries. Every
seventh turn is a follow-up, every eleventh asks about an earlier answer. Times are medians of 50 turns. The checkpoints
of a run are deleted when it ends, so their file should not grow.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.campaigns import scenario
from veracity.engine import Veracity

TURNS_PER_ROW = 50
COMPARED_TURNS = 100  # the first and the last
MAX_RATIO = 1.5  # of the last turns to the first
CONVERSATION = "long"


@dataclass(frozen=True)
class Turn:
    """`cpu_seconds` hardly depend on other programs. Sizes are in bytes."""

    seconds: float
    cpu_seconds: float
    ledger: int
    checkpoints: int


def grow(root: Path, turns: int) -> list[Turn]:
    """Returns the time of each turn and the file sizes after it."""
    scenario.make_workspace(root, embedder="bundled")
    with scenario.open_engine(root, embedder="bundled", conversation={}) as engine:
        engine.ask(scenario.question(scenario.LAST_TICKET))  # warm-up
        return [_turn(engine, root, number) for number in range(1, turns + 1)]


def _turn(engine: Veracity, root: Path, number: int) -> Turn:
    started, cpu_started = time.perf_counter(), time.process_time()
    engine.ask(_question(number), conversation=CONVERSATION)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    return Turn(
        seconds, cpu_seconds, _size(root / "ledger", "ledger.sqlite"), _size(root / "ledger", "checkpoints.sqlite")
    )


def _question(number: int) -> str:
    """Uses tickets with a high score, so that no turn waits for approval."""
    ticket = number * len(scenario.CYCLE) + scenario.CYCLE.index(scenario.HIGH_SCORE)
    room = 1 + ticket % scenario.ROOMS
    if number % 11 == 0:
        return f"What did you tell me about meeting room {room}? (ticket {ticket})"
    if number % 7 == 0:
        return f"And on which floor is it? (ticket {ticket})"
    return scenario.question(ticket)


def _size(folder: Path, name: str) -> int:
    """The size in bytes, including the write-ahead log."""
    with contextlib.closing(sqlite3.connect(folder / name)) as connection:
        (pages,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(pages) * int(size)


def print_curve(turns: list[Turn]) -> bool:
    """Returns whether the time per turn is constant and the ledger grows linearly."""
    print("| turns | ms per turn (median) | CPU ms | ledger, KiB | checkpoints, KiB |\n|---:|---:|---:|---:|---:|")
    for start in range(0, len(turns), TURNS_PER_ROW):
        row = turns[start : start + TURNS_PER_ROW]
        milliseconds = 1000 * statistics.median(turn.seconds for turn in row)
        cpu_milliseconds = 1000 * statistics.median(turn.cpu_seconds for turn in row)
        sizes = f"{row[-1].ledger / 1024:,.0f} | {row[-1].checkpoints / 1024:,.0f}"
        print(f"| {start + len(row)} | {milliseconds:.1f} | {cpu_milliseconds:.1f} | {sizes} |")
    compared = min(COMPARED_TURNS, len(turns) // 2)
    ratio = _ratio([turn.seconds for turn in turns], compared)
    cpu_ratio = _ratio([turn.cpu_seconds for turn in turns], compared)
    slope, r_squared = _fit_line([turn.ledger for turn in turns])
    growth = 1000 * _fit_line([1000 * turn.seconds for turn in turns])[0]
    cpu_growth = 1000 * _fit_line([1000 * turn.cpu_seconds for turn in turns])[0]
    checkpoints = max(turn.checkpoints for turn in turns) / 1024
    print(f"\nThe last {compared} turns against the first {compared} (means): {ratio:.2f} times the time,")
    print(f"{cpu_ratio:.2f} times the CPU time.")
    print(f"Least squares, per 1,000 turns: {growth:+.1f} ms, {cpu_growth:+.1f} ms CPU time.")
    print(f"Ledger: {slope / 1024:.1f} KiB per turn, R² of a straight line {r_squared:.4f}.")
    print(f"Checkpoints: at most {checkpoints:,.0f} KiB.")
    return ratio < MAX_RATIO and r_squared > 0.98


def _ratio(values: list[float], count: int) -> float:
    return statistics.mean(values[-count:]) / statistics.mean(values[:count])


def _fit_line(values: list[float] | list[int]) -> tuple[float, float]:
    """Slope and R² of a least-squares line."""
    y = np.asarray(values, dtype=float)
    x = np.arange(len(y))
    slope, start = np.polyfit(x, y, 1)
    total = float(((y - y.mean()) ** 2).sum())
    residual = float(((y - start - slope * x) ** 2).sum())
    return float(slope), 1 - residual / total if total else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        is_linear = print_curve(grow(Path(folder) / "workspace", options.turns))
    raise SystemExit(not is_linear)


if __name__ == "__main__":
    main()
