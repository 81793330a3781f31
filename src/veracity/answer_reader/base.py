"""The interface of answer readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

BUNDLED_NAME = "bundled:veracity-reader-1"  # constants that were fitted to its scores name it


class Passage(NamedTuple):
    """A passage to read: its title and headings, and its units as (kind, text). `language.layout` names the kinds."""

    head: str
    units: Sequence[tuple[str, str]]


class AnswerReader(Protocol):
    """Reads a question and passages, and scores which of their sentences answers it. Thread-safe."""

    @property
    def name(self) -> str: ...

    def read(self, question: str, passages: Sequence[Passage]) -> list[list[float]]:
        """For each passage, the score of each unit: the log-odds that it answers the question, against "no unit does".

        Scores of different passages can be compared. A unit beyond the model's input gets `UNREAD`."""
        ...


UNREAD = -12.0
