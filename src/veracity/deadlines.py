"""Deadlines on the monotonic clock."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time on the monotonic clock; `inf` means no deadline."""

    end: float = inf

    @classmethod
    def within(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Remaining seconds; 0 if the deadline has passed."""
        return max(0.0, self.end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        return self.left <= 0

    def capped_at(self, seconds: float) -> Deadline:
        """The earlier of this deadline and `seconds` from now."""
        return Deadline(min(self.end, time.monotonic() + seconds))
