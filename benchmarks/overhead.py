"""The time of a run without its models, by step.

    python -m benchmarks.overhead [--passages 100000] [--earlier 10000]

Passages are synthetic, as in `benchmarks.retrieval.latency`; question vectors are given, so no embedding is measured.
Writer and reviewer are scripted; checkpoints and ledger are durable as usual. The same questions are asked in every
workspace in turn; the table shows medians. "earlier" is the number of runs in the ledger, a fifth of them weak points
that a question is compared with.
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

from benchmarks.retrieval.latency import FixedEmbedder, _vectors, _words, fill
from veracity.engine import Veracity
from veracity.ledger import RunRecords
from veracity.models import Answer, Document, RunEvent, RunParameters
from veracity.models.steps import GradeStep
from veracity.settings import Settings
from veracity.testing import ScriptedCall, ScriptedLLM

QUESTIONS = 40
WARM_UP_QUESTIONS = 5
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
            "1,000 passages, written": _make_engine(small, 1000, written=True),
            "1,000 passages, extractive": _make_engine(Path(folder) / "extractive", 1000, written=False),
            f"{chosen.passages:,} passages, written": _make_engine(
                Path(folder) / "large", chosen.passages, written=True
            ),
            f"1,000 passages, {chosen.earlier:,} earlier runs": _make_engine(Path(folder) / "old", 1000, written=True),
        }
        _fill_ledger(engines[f"1,000 passages, {chosen.earlier:,} earlier runs"], chosen.earlier)
        _print_table(_measure(engines))
        for engine in engines.values():
            engine.close()


def _make_engine(root: Path, passages: int, *, written: bool) -> Veracity:
    root.mkdir()
    models = {"writer": "test:writer", "reviewer": "test:reviewer"} if written else {}
    llm = ScriptedLLM.by_role(writer=_first_sentences, reviewer=PASS)
    engine = Veracity(root, settings=Settings.model_validate({"models": models}), llm=llm)
    engine.__dict__["_embedder"] = FixedEmbedder()
    engine.add(Document(id="first", text="A document that was added."))
    fill(engine._parts.library.store, passages)
    return engine


def _first_sentences(call: ScriptedCall) -> str:
    """Returns the first two sentences of the evidence, so that the review passes."""
    text = call.prompt.partition('"text": "')[2].partition('"')[0]
    return " ".join(f"{sentence}. [1]" for sentence in text.split(". ")[:2])


def _fill_ledger(engine: Veracity, count: int) -> None:
    started = time.perf_counter()
    ledger = engine._parts.ledger
    for number in range(count):
        run_id = f"20200101-000000-{number:06}"
        question = " ".join(_words(6))
        run = RunParameters(run_id=run_id, question=question, user="local", max_rewrites=0, deadline=120.0)
        token = ledger.begin(run, "en", {"writer": "test:writer"})
        ledger.record(run_id, GradeStep(started=datetime.now(UTC), seconds=0.01), token=token)
        reason: Any = None if number % 5 else "failed_review"
        answer = Answer(
            run_id=run_id, status="answered", question=question, text="", form="written", language="en", quality=None
        )
        ledger.finish(answer, RunRecords(weak_point=reason), token=token)
    print(f"{count:,} earlier runs written in {time.perf_counter() - started:.0f} seconds")


def _measure(engines: dict[str, Veracity]) -> dict[str, dict[str, list[float]]]:
    """For each engine, the milliseconds of each step and of the whole run, per question."""
    times: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in engines}
    for number in range(QUESTIONS + WARM_UP_QUESTIONS):
        question, vector = " ".join(_words(6)), _vectors(1)[0]
        for name, engine in engines.items():
            engine._parts.embedder.vector = vector  # type: ignore[attr-defined]
            started = time.perf_counter()
            events = list(engine.stream(question, max_rewrites=0))
            total = 1000 * (time.perf_counter() - started)
            if number >= WARM_UP_QUESTIONS:
                times[name]["all"].append(total)
                for step, milliseconds in _group_by_step(events).items():
                    times[name][step].append(milliseconds)
    return times


def _group_by_step(events: list[RunEvent]) -> dict[str, float]:
    """Milliseconds by step. Sources are searched concurrently: the slowest counts."""
    milliseconds: dict[str, float] = {}
    for event in events:
        if event.step:
            name = event.step.name
            milliseconds[name] = max(milliseconds.get(name, 0.0), 1000 * event.step.seconds)
    return milliseconds


def _print_table(times: dict[str, dict[str, list[float]]]) -> None:
    names = [name for name in next(iter(times.values())) if name != "all"]
    print("\n| ms | " + " | ".join(times) + " |")
    print("|---|" + "---:|" * len(times))
    medians = {
        engine: {name: statistics.median(values) for name, values in steps.items()} for engine, steps in times.items()
    }
    for name in names:
        print(f"| {name} | " + " | ".join(f"{steps.get(name, 0):.1f}" for steps in medians.values()) + " |")
    rest = {engine: steps["all"] - sum(steps.get(name, 0) for name in names) for engine, steps in medians.items()}
    print("| LangGraph, checkpoints, ledger | " + " | ".join(f"{value:.1f}" for value in rest.values()) + " |")
    print("| **all** | " + " | ".join(f"**{steps['all']:.1f}**" for steps in medians.values()) + " |")
    ranges = [f"{min(steps['all']):.1f}–{max(steps['all']):.1f}" for steps in times.values()]
    print("| from–to | " + " | ".join(ranges) + " |")


if __name__ == "__main__":
    main()
