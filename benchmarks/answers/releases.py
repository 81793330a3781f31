"""Counts what was released, held for a person, or not answered, and how much of it is founded in the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

HEADINGS = (
    "balanced", "right", "released", "held", "unfounded", "released", "held", "abstains", "held", "ms",
)  # fmt: skip


@dataclass(frozen=True)
class Release:
    """`is_right`: the answer contains the gold answer; None if the question has none."""

    answerable: bool
    answered: bool
    released: bool
    is_right: bool | None
    seconds: float

    @property
    def is_unfounded(self) -> bool:
        """Answered though the evidence does not answer the question, or without the gold answer."""
        return self.answered and (not self.answerable or self.is_right is False)

    @property
    def is_good(self) -> bool:
        return self.answered and self.answerable and self.is_right is not False


def format_releases(releases: Sequence[Release]) -> list[str]:
    """The cells under `HEADINGS`: counts, except for the balanced accuracy of answering and the milliseconds."""
    answerable = [release for release in releases if release.answerable]
    others = [release for release in releases if not release.answerable]
    good = [release.released for release in releases if release.is_good]
    bad = [release.released for release in releases if release.is_unfounded]
    balanced = (fmean(item.answered for item in answerable) + 1 - fmean(item.answered for item in others)) / 2
    return [
        f"{balanced:.3f}",
        f"{len(good)}/{len(answerable)}",
        str(sum(good)),
        str(len(good) - sum(good)),
        str(len(bad)),
        str(sum(bad)),
        str(len(bad) - sum(bad)),
        f"{sum(not item.answered for item in others)}/{len(others)}",
        str(sum(item.answered and not item.released for item in others)),
        f"{fmean(item.seconds for item in releases) * 1000:.0f}",
    ]
