"""When something has to be done by. Knows nothing about what it is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock. `inf` never comes."""

    end: float = inf

    @classmethod
    def within(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds; 0 when it has passed."""
        return max(0.0, self.end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        return self.left <= 0

    def or_within(self, seconds: float) -> Deadline:
        """The sooner of this one and so many seconds from now."""
        return Deadline(min(self.end, time.monotonic() + seconds))
