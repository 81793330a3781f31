"""When each step of a run was under way, as bars on one scale of active time. Knows nothing about what steps do.

While a person decides, or nothing is under way, time stands still on that scale: days of waiting would leave nothing to
see of the seconds of work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from veracity.models import Approval, Step
from veracity.pages.elements import Child, Safe, tag
from veracity.pages.labels import Words
from veracity.pages.layout import as_utc, facts, moment, percent, span

PAUSE = 1.0  # seconds in which nothing happens, before it is worth telling
LEAST = 0.004  # of the width, so that the shortest step is seen


class Hold(NamedTuple):
    """A stretch that does not count as active."""

    start: float
    end: float
    is_wait: bool


class Scale:
    """From moments to shares of the active time."""

    def __init__(self, steps: Sequence[Step], holds: Sequence[Hold]) -> None:
        self._start = min(started(step) for step in steps)
        self._holds = holds
        self.active = self.at(max(ended(step) for step in steps))

    def at(self, when: float) -> float:
        """The active seconds until then."""
        held = sum(max(0.0, min(hold.end, when) - max(hold.start, self._start)) for hold in self._holds)
        return when - self._start - held

    def share(self, when: float) -> float:
        return self.at(when) / self.active if self.active > 0 else 0.0


def timeline(steps: Sequence[Step], approvals: Sequence[Approval], words: Words) -> list[Safe]:
    if not steps:
        return []
    held = holds(steps, approvals)
    scale = Scale(steps, held)
    rows = [(started(step), _step(step, scale, words)) for step in steps]
    rows += [(hold.start, _hold(hold, words)) for hold in held]
    listed = [row for _, row in sorted(rows, key=lambda row: row[0])]
    listed += [_pending(approval, words) for approval in approvals if approval.state == "pending"]
    total = facts((words("active"), span(scale.active)))
    return [total, tag("ol", *listed, class_="timeline")] if total else []


def holds(steps: Iterable[Step], approvals: Iterable[Approval]) -> list[Hold]:
    """The waits for a person, and the gaps between steps; a gap in which a person was waited for is that wait."""
    waits = [
        Hold(as_utc(one.created).timestamp(), as_utc(one.decision.at).timestamp(), is_wait=True)
        for one in approvals
        if one.decision and one.decision.at > one.created
    ]
    return _apart(sorted([*waits, *_gaps(steps)]))


def started(step: Step) -> float:
    return as_utc(step.started).timestamp()


def ended(step: Step) -> float:
    return started(step) + (step.seconds if isfinite(step.seconds) and step.seconds > 0 else 0.0)


def _gaps(steps: Iterable[Step]) -> Iterator[Hold]:
    reached: float | None = None
    for step in sorted(steps, key=started):
        if reached is not None and started(step) - reached > PAUSE:
            yield Hold(reached, started(step), is_wait=False)
        reached = max(ended(step), reached or ended(step))


def _apart(found: Iterable[Hold]) -> list[Hold]:
    """Those that overlap as one."""
    apart: list[Hold] = []
    for hold in found:
        if apart and hold.start < apart[-1].end:
            last = apart.pop()
            apart.append(Hold(last.start, max(last.end, hold.end), last.is_wait or hold.is_wait))
        else:
            apart.append(hold)
    return apart


def _step(step: Step, scale: Scale, words: Words) -> Safe:
    first, last = scale.share(started(step)), scale.share(ended(step))
    problem = str(step.facts.get("problem") or "")
    width, name = max(last - first, LEAST), words.named("step", step.name)
    shape = tag(
        "rect",
        class_="fill bad" if problem else "fill",
        x=percent(min(first, 1 - width)),
        width=percent(width),
        height="100%",
    )
    return tag(
        "li",
        tag("span", name, _source(step, words), class_="name"),
        tag("svg", shape, class_="bar", aria_hidden="true"),
        tag("span", span(ended(step) - started(step)), class_="figure"),
        tag("span", problem, class_="trouble") if problem else None,
    )


def _source(step: Step, words: Words) -> Child:
    """Of steps that run side by side, which it was."""
    source = step.facts.get("source")
    return tag("span", f" · {words.named('source', source)}", class_="quiet") if isinstance(source, str) else None


def _hold(hold: Hold, words: Words) -> Safe:
    told = words("waited" if hold.is_wait else "paused", span=span(hold.end - hold.start))
    return tag("li", tag("span", told), class_="hold")


def _pending(approval: Approval, words: Words) -> Safe:
    return tag("li", tag("span", words("waits"), " · ", words("asked"), " ", moment(approval.created)), class_="hold")
