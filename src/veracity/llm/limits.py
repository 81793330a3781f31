"""By when a model must have answered, and who says so."""

from __future__ import annotations

from dataclasses import dataclass

from veracity.deadlines import Deadline

BACKSTOP = 5.0  # seconds beyond llm.deadline after which a call that does not end by itself is given up from outside
GRACE = 0.5  # the same beyond the deadline of a caller, who has other things to do


@dataclass(frozen=True, slots=True)
class Due:
    """`set_by` is the sooner of the two in words, `given_up` the moment when waiting ends whatever the call does."""

    deadline: Deadline
    given_up: Deadline
    set_by: str

    @classmethod
    def sooner_of(cls, callers: Deadline, allowed: float) -> Due:
        own = Deadline.within(allowed)
        given_up = Deadline(min(own.end + BACKSTOP, callers.end + GRACE))
        if callers.end < own.end:
            return cls(callers, given_up, "the deadline of this step")
        return cls(own, given_up, "llm.deadline")

    @property
    def leaves(self) -> str:
        return f"{self.set_by} leaves {self.deadline.left:.0f} s"
