"""The steps of a run on a scale of time, for its receipt. Waits and pauses are left out of the scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite

from veracity.models import Approval, Step
from veracity.models.steps import RetrieveStep

MIN_PAUSE_SECONDS = 1.0  # shorter gaps between steps count as active time
MIN_BAR_WIDTH = 0.004  # as a share, so that the shortest step is visible


def format_duration(seconds: float) -> str:
    if not isfinite(seconds):
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {int(seconds % 60)} s"


def utc(when: datetime) -> datetime:
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


@dataclass(frozen=True)
class Hold:
    """A period that does not count as active: nothing runs, or a person decides (`is_wait`)."""

    start: float
    end: float
    is_wait: bool


@dataclass(frozen=True)
class Row:
    """A step with its bar, or a hold. `x` and `width` are shares of the active time."""

    seconds: float
    step: Step | None = None
    x: float = 0.0
    width: float = 0.0
    is_wait: bool = False

    @property
    def source(self) -> str:
        return self.step.facts.source if isinstance(self.step, RetrieveStep) else ""

    @property
    def css_class(self) -> str:
        return "fill bad" if self.step and self.step.facts.problem else "fill"


@dataclass(frozen=True)
class Timeline:
    """Steps and holds by time. Holds are left out of the scale: beside days of waiting no step would be visible."""

    active: float
    rows: list[Row]


def make_timeline(steps: Sequence[Step], approvals: Sequence[Approval]) -> Timeline:
    holds = find_holds(steps, approvals)
    first = min(map(_started, steps))

    def active_until(when: float) -> float:
        held = sum(max(0.0, min(hold.end, when) - max(hold.start, first)) for hold in holds)
        return when - first - held

    active = active_until(max(map(_ended, steps)))

    def row(step: Step) -> Row:
        start, end = _started(step), _ended(step)
        x, end_x = (active_until(when) / active if active > 0 else 0.0 for when in (start, end))
        width = max(end_x - x, MIN_BAR_WIDTH)
        return Row(end - start, step, min(x, 1 - width), width)

    rows = [(_started(step), row(step)) for step in steps]
    rows += [(hold.start, Row(hold.end - hold.start, is_wait=hold.is_wait)) for hold in holds]
    return Timeline(active, [row for _, row in sorted(rows, key=lambda item: item[0])])


def find_holds(steps: Iterable[Step], approvals: Iterable[Approval]) -> list[Hold]:
    """Waits for a decision and pauses between steps, in order; those that overlap are one."""
    waits = [
        Hold(utc(approval.created).timestamp(), utc(approval.decision.at).timestamp(), is_wait=True)
        for approval in approvals
        if approval.decision and approval.decision.at > approval.created
    ]
    holds: list[Hold] = []
    for hold in sorted([*waits, *_pauses(steps)], key=lambda hold: (hold.start, hold.end)):
        if holds and hold.start < holds[-1].end:
            last = holds.pop()
            holds.append(Hold(last.start, max(last.end, hold.end), last.is_wait or hold.is_wait))
        else:
            holds.append(hold)
    return holds


def _pauses(steps: Iterable[Step]) -> Iterator[Hold]:
    end: float | None = None
    for step in sorted(steps, key=_started):
        if end is not None and _started(step) - end > MIN_PAUSE_SECONDS:
            yield Hold(end, _started(step), is_wait=False)
        end = max(_ended(step), end or _ended(step))


def _started(step: Step) -> float:
    return utc(step.started).timestamp()


def _ended(step: Step) -> float:
    return _started(step) + (step.seconds if isfinite(step.seconds) and step.seconds > 0 else 0.0)
