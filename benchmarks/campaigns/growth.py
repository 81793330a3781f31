"""One conversation of 500 turns: does a turn take longer the longer it lasts, and how do the files grow?

    python -m benchmarks.campaigns.growth [--turns 500]

Writer, reviewer and judge are scripts inside the process; everything else is as always, with the bundled embedder, and
older turns are summed up by the local form. Every seventh turn follows on the one before, every eleventh asks for what
was said earlier. Time is the median of 50 turns. Progress is removed when a run ends, so its file should not grow.
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

from benchmarks.campaigns import stage
from veracity.engine import Veracity

EACH = 50  # turns in a row of the table
ENDS = 100  # turns that are compared: the first and the last
FLAT = 1.5  # times: more is called growing
CONVERSATION = "a long one"


@dataclass(frozen=True)
class Turn:
    """`busy` is the processor's time: other programs hardly change it."""

    seconds: float
    busy: float
    ledger: int
    progress: int


def grow(root: Path, turns: int) -> list[Turn]:
    """What each turn took, and how large the files were after it."""
    stage.make_workspace(root, embedder="bundled")
    with stage.open_engine(root, embedder="bundled", conversation={}) as engine:
        engine.ask(stage.question(stage.LAST))  # what is loaded only once
        return [_turn(engine, root, number) for number in range(1, turns + 1)]


def _turn(engine: Veracity, root: Path, number: int) -> Turn:
    began, busy = time.perf_counter(), time.process_time()
    engine.ask(_question(number), conversation=CONVERSATION)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    return Turn(seconds, busy, _size(root / "ledger", "ledger.sqlite"), _size(root / "ledger", "checkpoints.sqlite"))


def _question(number: int) -> str:
    """Tickets whose answer stands, so that no turn waits for a person."""
    ticket = number * len(stage.FATES) + stage.FATES.index(stage.STANDS)
    room = 1 + ticket % stage.ROOMS
    if number % 11 == 0:
        return f"What did you tell me about meeting room {room}? (ticket {ticket})"
    if number % 7 == 0:
        return f"And on which floor is it? (ticket {ticket})"
    return stage.question(ticket)


def _size(folder: Path, name: str) -> int:
    """With what is not yet in the file itself."""
    with contextlib.closing(sqlite3.connect(folder / name)) as connection:
        (pages,), (size,) = (connection.execute(f"PRAGMA {what}").fetchone() for what in ("page_count", "page_size"))
    return int(pages) * int(size)


def print_curve(turns: list[Turn]) -> bool:
    """Whether time per turn is flat and the ledger grows by the same for each turn."""
    print(
        "| turns | ms per turn (median) | processor, ms | ledger, KiB | checkpoints, KiB |\n|---:|---:|---:|---:|---:|"
    )
    for start in range(0, len(turns), EACH):
        some = turns[start : start + EACH]
        middle = 1000 * statistics.median(turn.seconds for turn in some)
        sizes = f"{some[-1].ledger / 1024:,.0f} | {some[-1].progress / 1024:,.0f}"
        busy = 1000 * statistics.median(turn.busy for turn in some)
        print(f"| {start + len(some)} | {middle:.1f} | {busy:.1f} | {sizes} |")
    ends = min(ENDS, len(turns) // 2)
    ratio = _ratio([turn.seconds for turn in turns], ends)
    busy_ratio = _ratio([turn.busy for turn in turns], ends)
    slope, fit = _line([turn.ledger for turn in turns])
    per_turn = 1000 * _line([1000 * turn.seconds for turn in turns])[0]
    busy_per_turn = 1000 * _line([1000 * turn.busy for turn in turns])[0]
    progress = max(turn.progress for turn in turns) / 1024
    print(f"\nThe last {ends} turns against the first {ends} (means): {ratio:.2f} times the time,")
    print(f"{busy_ratio:.2f} times the processor's time.")
    print(f"Least squares, for every 1,000 turns: {per_turn:+.1f} ms, {busy_per_turn:+.1f} ms of the processor.")
    print(f"Ledger: {slope / 1024:.1f} KiB a turn, R² of a straight line {fit:.4f}.")
    print(f"Checkpoints: {progress:,.0f} KiB at most.")
    return ratio < FLAT and fit > 0.98


def _ratio(values: list[float], ends: int) -> float:
    return statistics.mean(values[-ends:]) / statistics.mean(values[:ends])


def _line(values: list[float] | list[int]) -> tuple[float, float]:
    """Slope and R² of the straight line that fits best."""
    y = np.asarray(values, dtype=float)
    x = np.arange(len(y))
    slope, start = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    left = float(((y - start - slope * x) ** 2).sum())
    return float(slope), 1 - left / spread if spread else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=500)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        is_even = print_curve(grow(Path(folder) / "workspace", chosen.turns))
    raise SystemExit(not is_even)


if __name__ == "__main__":
    main()
