"""The interface of answer readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

from veracity.language.excerpts import remove_links
from veracity.language.layout import unit_text, units_of
from veracity.models import Evidence

UNREAD = -12.0  # the score of a unit beyond the model's input


class Passage(NamedTuple):
    """A passage to read: its title and headings, and its units as (kind, text). `language.layout` names the kinds."""

    head: str
    units: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, item: Evidence) -> Self:
        """Titles that the text repeats are left out."""
        units = units_of(item)
        titles = [title for title in dict.fromkeys((item.title, *item.headings)) if title and title not in item.text]
        return cls(" – ".join(titles), [(unit.kind, remove_links(unit_text(unit, units))) for unit in units])


class AnswerReader(Protocol):
    """Reads a question and passages, and scores which of their sentences answers it. Thread-safe."""

    def read(self, question: str, passages: Sequence[Passage]) -> list[list[float]]:
        """For each passage, the score of each unit: the log-odds that it answers the question, against "no unit does".

        Scores of different passages can be compared. A unit beyond the model's input gets `UNREAD`."""
        ...
