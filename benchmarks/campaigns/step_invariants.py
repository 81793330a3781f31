"""Invariants of steps: a receipt has every step that a process showed, once and in order, and has no gap."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from langgraph.graph import END, START

from benchmarks.campaigns.records import ENDED, Records, RunRow, StepRow
from veracity.graph.build import build_graph

Shown = dict[str, list[tuple[str, datetime]]]  # by run: name and start of the steps that one process showed


def read_shown(lines: Sequence[list[Any]]) -> Shown:
    """The steps in the log of a process."""
    shown: Shown = {}
    for line in lines:
        if line[0] == "shown":
            _, run_id, name, started = line
            shown.setdefault(run_id, []).append((name, datetime.fromisoformat(started)))
    return shown


def check_shown(records: Records, shown_by: Sequence[Shown]) -> Iterator[str]:
    """Each process showed steps in the order in which the ledger has them."""
    stored = {run.run_id: [(step.name, step.started) for step in run.steps] for run in records.runs}
    for shown in shown_by:
        for run_id, steps in shown.items():
            lost = [step for step in steps if step not in stored.get(run_id, ())]
            yield from (f"{run_id} showed {name} of {started} and lost it" for name, started in lost)
            if not lost and steps != [step for step in stored[run_id] if step in steps]:
                yield f"{run_id} showed {steps} and stored {stored[run_id]}"


def check_path(run: RunRow) -> Iterator[str]:
    """The stored steps are a path through the graph: none is missing, and none is stored twice."""
    if len({(step.name, step.facts.get("source"), step.started) for step in run.steps}) < len(run.steps):
        yield f"{run.run_id} has stored a step twice"
    for position, step in enumerate(run.steps):
        if step.name == "select_sources":
            selected, searched = step.facts["sources"], _searched_sources(run.steps[position + 1 :])
            if selected != searched:
                yield f"{run.run_id} selected the sources {selected} and searched {searched}"
    names = [step.name for step in run.steps if step.name != "retrieve"]
    end = END if run.status in ENDED else "human_approval"
    gaps = [pair for pair in itertools.pairwise([START, *names, end]) if pair not in _edges()]
    if gaps:
        yield f"{run.run_id} has stored no steps between {gaps}"


def _searched_sources(steps: Sequence[StepRow]) -> list[str]:
    searches = itertools.takewhile(lambda step: step.name == "retrieve", steps)
    return [step.facts["source"] for step in searches]


@cache
def _edges() -> set[tuple[str, str]]:
    """The edges of the graph. The searches, which run at the same time, are left out."""
    drawn = {(edge.source, edge.target) for edge in build_graph().get_graph().edges}
    return {*drawn, ("select_sources", "fuse")}
