"""What is shown of a draft while it is written: as inert as what goes out in the end, which takes its place.

A link, a tag or an address is shown only when all of it is there. Knows nothing about who writes, or who watches.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence

from veracity.agents.links import inert
from veracity.agents.writer import LONGEST_DRAFT
from veracity.llm import Piece
from veracity.visible import visible

LONGEST_HELD = 3000  # characters; no link or tag is as long


class Showing:
    """`known` are the texts whose addresses may be shown."""

    def __init__(self, tell: Callable[[Piece], None], known: Sequence[str]) -> None:
        self._tell = tell
        self._known = known
        self._held = ""
        self._length = 0

    def hear(self, piece: Piece) -> None:
        if piece.begins:
            self._begin()
        self._held += piece.text
        cut = _settled(self._held)
        shown, self._held = self._held[:cut], self._held[cut:]
        self._show(shown)

    def end(self) -> None:
        """Nothing follows: what was held back is shown."""
        self._show(self._held)
        self._held = ""

    def whole(self, text: str) -> None:
        """For a draft that is there all at once."""
        self._begin()
        self._show(text)

    def _begin(self) -> None:
        self._held = ""
        self._length = 0

    def _show(self, text: str) -> None:
        shown = visible(inert(text, self._known).replace("\r", ""))
        if shown and self._length < LONGEST_DRAFT:
            self._tell(Piece(shown, begins=not self._length))
            self._length += len(shown)


def _settled(text: str) -> int:
    """How many characters stay as they are whatever follows. A word of ASCII may become an address."""
    end, before = len(text.rstrip(_WORD)), -1
    while end != before:  # where a bracket is cut off, a tag around it may be
        before, settled = end, text[:end]
        end = min(_open_bracket(settled), _open_tag(settled))
    return end if end or len(text) <= LONGEST_HELD else len(text)


def _open_bracket(text: str) -> int:
    """Where in the last line a bracket begins that may become a link: links end with their line."""
    position = text.rfind("\n") + 1
    while (position := text.find("[", position)) >= 0:
        closed = _CLOSED.match(text, position)
        if not closed:
            return position
        position = closed.end()
    return len(text)


def _open_tag(text: str) -> int:
    position = text.rfind(">")
    while (position := text.find("<", position + 1)) >= 0:
        if text[position + 1 : position + 2] in _OPENS_TAG:
            return position
    return len(text)


_WORD = string.digits + string.ascii_letters + string.punctuation
_OPENS_TAG = string.ascii_letters + "!/?"  # or nothing yet, which is in every text
# [shown] and something else, or [shown](target).
_CLOSED = re.compile(r"\[[^\[\]\n]{0,300}\](?:[^(]|\((?:[^()\n]|\([^()\n]{0,500}\)){0,1000}\))")
