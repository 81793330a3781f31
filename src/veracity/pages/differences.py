"""What changed between two texts, word by word. Knows nothing about why they differ.

Japanese is compared by its characters, Chinese by its words. Texts in which too many words are alike are compared by
sentences, and very long ones as a whole: a hostile text must not take hours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple

from veracity.language import guess_language, sentences, tokens_in_place

MOST_PAIRS = 30_000  # of pieces that are alike; the time grows with them, and with each stretch that is found
LONGEST = 50_000  # characters
_SENTENCE_END = re.compile(r"[.!?。！？]")
_BETWEEN = re.compile(r"\s+|.", re.DOTALL)

Kind = Literal["same", "removed", "added"]


class Change(NamedTuple):
    kind: Kind
    text: str


def changes(before: str, after: str) -> list[Change]:
    """The stretches of both texts in order: all but the added ones make up `before`, all but the removed ones make up
    `after`."""
    for cut in (_words, _sentences) if max(len(before), len(after)) <= LONGEST else ():
        found = _compared(cut(before), cut(after))
        if found is not None:
            return list(_slid(_merged(found)))
    return _merged([Change("removed", before), Change("added", after)])


def _compared(before: list[str], after: list[str]) -> list[Change] | None:
    """None where it would take too long. What both begin and end with costs nothing."""
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if _alike(old, new) > MOST_PAIRS:
        return None
    same_after = before[len(before) - tail :]
    return [
        *(Change("same", piece) for piece in before[:head]),
        *_matched(old, new),
        *(Change("same", piece) for piece in same_after),
    ]


def _alike(old: list[str], new: list[str]) -> int:
    """How many pairs of pieces are the same; spaces are not looked at."""
    counted = Counter(piece for piece in new if not piece.isspace())
    return sum(counted[piece] for piece in old)


def _matched(old: list[str], new: list[str]) -> Iterator[Change]:
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield Change("same", "".join(old[a:b]))
        else:
            yield Change("removed", "".join(old[a:b]))
            yield Change("added", "".join(new[c:d]))


def _merged(found: Iterable[Change]) -> list[Change]:
    """Neighbours of a kind as one. A space or a single sign that stayed between two changes changes with them: a reader
    follows phrases, not crumbs."""
    merged: list[Change] = []
    removed = added = same = ""
    for kind, text in found:
        if kind == "same":
            same += text
            continue
        if same and not (_is_crumb(same) and (removed or added)):
            merged += _pair(removed, added)
            merged.append(Change("same", same))
            removed = added = ""
        else:
            removed, added = removed + same, added + same
        same = ""
        removed, added = removed + (text if kind == "removed" else ""), added + (text if kind == "added" else "")
    merged += _pair(removed, added)
    return [*merged, Change("same", same)] if same else merged


def _slid(found: list[Change]) -> Iterator[Change]:
    """A sentence that came or went is shown from its beginning to its end: as far as the text after it begins as it
    does, it may as well stand later."""
    before = ""  # what a change leaves to the one before it is the same in both
    for place, (kind, text) in enumerate(found):
        after = found[place + 1].text if place + 1 < len(found) and found[place + 1].kind == "same" else ""
        if kind == "same":
            text = text[len(before) :]  # noqa: PLW2901 - the rest of it
            before = ""
        elif after and (place == 0 or found[place - 1].kind == "same"):
            before = _moved(text, after)
            if before:
                yield Change("same", before)
        if text:
            yield Change(kind, text[len(before) :] + before if kind != "same" else text)


def _moved(text: str, after: str) -> str:
    """By which of its beginnings the text is moved on, so that it ends with a sentence."""
    shared = _shared(text, after)
    ends = [end.end() for end in _SENTENCE_END.finditer(after[:shared])]
    return after[: ends[-1]] if ends else ""


def _pair(removed: str, added: str) -> list[Change]:
    both: list[tuple[Kind, str]] = [("removed", removed), ("added", added)]
    return [Change(kind, text) for kind, text in both if text]


def _is_crumb(text: str) -> bool:
    return len(text.strip()) <= 1 and "\n" not in text


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _words(text: str) -> list[str]:
    """The words, and each sign and space between them: together they are the text."""
    language = guess_language(text)
    pieces: list[str] = []
    at = 0
    for token in tokens_in_place(text, language):
        pieces += _BETWEEN.findall(text[at : token.start])
        word = text[max(at, token.start) : token.end]
        pieces += [word] if language != "ja" or word.isascii() else word  # tokens of Japanese are overlapping pairs
        at = token.end
    return [*pieces, *_BETWEEN.findall(text[at:])]


def _sentences(text: str) -> list[str]:
    edges = [0, *(sentence.start for sentence in sentences(text)), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if end > start]
