"""Our own time per question: what a run costs when the models answer at once, and where the time goes.

    python -m benchmarks.overhead [--passages 100000] [--earlier 10000]

Made-up passages as in `benchmarks.retrieval.latency`; the vector of a question is given, so no embedding is counted.
Writer and reviewer are scripts inside the process; checkpoints are durable, and the ledger is written, as always. The
same questions are asked of every workspace, by turns; medians. "earlier" is how many runs the ledger holds already, a
fifth of them gone wrong, so that they are looked through as weak points.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.retrieval.latency import Given, _vectors, _words, fill
from veracity.engine import Veracity
from veracity.models import Document, RunEvent, Step, Usage
from veracity.settings import Settings
from veracity.testing import ScriptedCall, ScriptedLLM

QUESTIONS = 40
WARM = 5
PASS = {
    "reasonableness_detail": "It answers.",
    "reasonableness_passed": True,
    "evidence_detail": "It is supported.",
    "evidence_passed": True,
    "suggestions": [],
    "confidence": 0.9,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--earlier", type=int, default=10_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small"
        engines = {
            "1,000 passages, written": _engine(small, 1000, written=True),
            "1,000 passages, extractive": _engine(Path(folder) / "extractive", 1000, written=False),
            f"{chosen.passages:,} passages, written": _engine(Path(folder) / "large", chosen.passages, written=True),
            f"1,000 passages, {chosen.earlier:,} earlier runs": _engine(Path(folder) / "old", 1000, written=True),
        }
        _fill_ledger(engines[f"1,000 passages, {chosen.earlier:,} earlier runs"], chosen.earlier)
        _print(_measured(engines))
        for engine in engines.values():
            engine.close()


def _engine(root: Path, passages: int, *, written: bool) -> Veracity:
    root.mkdir()
    models = {"writer": "test:writer", "reviewer": "test:reviewer"} if written else {}
    llm = ScriptedLLM.by_role(writer=_first_sentences, reviewer=PASS)
    engine = Veracity(root, settings=Settings.model_validate({"models": models}), llm=llm)
    engine.__dict__["_embedder"] = Given()
    engine.add(Document(id="first", text="One document that came in through the front door."))
    fill(engine._library.store, passages)
    return engine


def _first_sentences(call: ScriptedCall) -> str:
    """Two sentences of the first evidence, as a writer would give them back: the run passes at once."""
    text = call.prompt.partition('"text": "')[2].partition('"')[0]
    return " ".join(f"{sentence}. [1]" for sentence in text.split(". ")[:2])


def _fill_ledger(engine: Veracity, count: int) -> None:
    started = time.perf_counter()
    ledger = engine._ledger
    for number in range(count):
        run_id = f"20200101-000000-{number:06}"
        token = ledger.begin(run_id, " ".join(_words(6)), "local", "en", {"writer": "test:writer"})
        ledger.record(run_id, Step(name="grade_documents", started=datetime.now(UTC), seconds=0.01), token=token)
        reason: Any = None if number % 5 else "failed_review"
        ledger.finish(run_id, "answered", token=token, answer=None, usage=Usage(), seconds=0.1, weak_point=reason)
    print(f"{count:,} earlier runs written in {time.perf_counter() - started:.0f} seconds")


def _measured(engines: dict[str, Veracity]) -> dict[str, dict[str, list[float]]]:
    """For each engine, the milliseconds of each step and of all, question by question."""
    times: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in engines}
    for number in range(QUESTIONS + WARM):
        question, vector = " ".join(_words(6)), _vectors(1)[0]
        for name, engine in engines.items():
            engine._embedder.vector = vector  # type: ignore[attr-defined]
            started = time.perf_counter()
            events = list(engine.stream(question, max_rewrites=0))
            whole = 1000 * (time.perf_counter() - started)
            if number >= WARM:
                times[name]["all"].append(whole)
                for step, milliseconds in _by_step(events).items():
                    times[name][step].append(milliseconds)
    return times


def _by_step(events: list[RunEvent]) -> dict[str, float]:
    """Sources are asked at the same time: the slower one counts."""
    found: dict[str, float] = {}
    for event in events:
        if event.step:
            found[event.step.name] = max(found.get(event.step.name, 0.0), 1000 * event.step.seconds)
    return found


def _print(times: dict[str, dict[str, list[float]]]) -> None:
    names = [name for name in next(iter(times.values())) if name != "all"]
    print("\n| ms | " + " | ".join(times) + " |")
    print("|---|" + "---:|" * len(times))
    medians = {of: {name: statistics.median(values) for name, values in steps.items()} for of, steps in times.items()}
    for name in names:
        print(f"| {name} | " + " | ".join(f"{steps.get(name, 0):.1f}" for steps in medians.values()) + " |")
    rest = {of: steps["all"] - sum(steps.get(name, 0) for name in names) for of, steps in medians.items()}
    print("| LangGraph, checkpoints, ledger | " + " | ".join(f"{value:.1f}" for value in rest.values()) + " |")
    print("| **all** | " + " | ".join(f"**{steps['all']:.1f}**" for steps in medians.values()) + " |")
    least = [f"{min(steps['all']):.1f}–{max(steps['all']):.1f}" for steps in times.values()]
    print("| from–to | " + " | ".join(least) + " |")


if __name__ == "__main__":
    main()
