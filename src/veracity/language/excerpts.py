"""Shortens texts: excerpts of a passage for a question and its answer (SPEC A8), and truncated lines.

An excerpt consists of the sentences that share most words with the question and answer, then of their neighbours.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from veracity.language import Sentence, content_tokens, guess_language, sentences
from veracity.language.citations import without_marks
from veracity.patterns import lazy_pattern

MAX_EXCERPT_LENGTH = 500
ELLIPSIS = "…"
GAP = f" {ELLIPSIS} "  # between spans
ENDS_LENGTH = 2 * len(ELLIPSIS)

_LINK = lazy_pattern(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_SPACE_BEFORE_PUNCTUATION = re.compile(r" (?=[.,;:!?。，、；：！？])")  # left by a removed mark


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, or a part of one that is too long; `words` are the wanted words in it."""

    start: int
    end: int
    words: frozenset[str]


def excerpt(text: str, answer_and_question: str, max_length: int = MAX_EXCERPT_LENGTH) -> str:
    """At most `max_length` characters of the text, verbatim and in order, with an ellipsis where text was left out."""
    if len(text) <= max_length:
        return text
    pieces = list(_split(text, answer_and_question, max_length))
    if not pieces:
        return text[: max_length - len(ELLIPSIS)] + ELLIPSIS
    chosen = _add_neighbours(pieces, _choose(pieces, max_length) or {0}, max_length)
    return _join(text, pieces, chosen)


def truncate(text: str, max_length: int) -> str:
    if len(text) <= max_length:
        return text
    return f"{text[: max_length - 1].rstrip()}{ELLIPSIS}" if max_length > 0 else ""


def remove_marks(text: str) -> str:
    """The text without citation marks, including marks that only appear when others are removed."""
    while (less := without_marks(text)) != text:
        text = less
    return text


def remove_links(text: str) -> str:
    """The text of Markdown links and images without their addresses."""
    return _LINK.sub(r"\1", text)


def plain_line(text: str) -> str:
    """The text on one line, without citation marks."""
    return tidy_line(remove_marks(text))


def tidy_line(text: str) -> str:
    """The text on one line, without the spaces that removed marks left."""
    return _SPACE_BEFORE_PUNCTUATION.sub("", " ".join(text.split()))


def _split(text: str, wanted_text: str, max_length: int) -> Iterator[_Piece]:
    language = guess_language(text)
    wanted = frozenset(content_tokens(wanted_text, language))
    for sentence in sentences(text):
        for start, end in _parts(sentence, max_length):
            yield _Piece(start, end, wanted & set(content_tokens(text[start:end], language)))


def _parts(sentence: Sentence, max_length: int) -> Iterator[tuple[int, int]]:
    """The whole sentence or, if it is too long, parts of a third of the available length."""
    if len(sentence.text) + ENDS_LENGTH <= max_length:
        yield sentence.start, sentence.end
        return
    step = max(1, max_length // 3 - len(ELLIPSIS))
    for start in range(sentence.start, sentence.end, step):
        yield start, min(start + step, sentence.end)


def _choose(pieces: list[_Piece], max_length: int) -> set[int]:
    """Greedily picks the pieces with most of the words not yet covered; words that few pieces contain count more."""
    frequency = Counter(word for piece in pieces for word in piece.words)
    left = {index: piece for index, piece in enumerate(pieces) if piece.words}
    chosen: set[int] = set()
    room = max_length - ENDS_LENGTH + len(GAP)
    while left:
        best = max(left, key=lambda index: (sum(1 / frequency[word] for word in left[index].words), -index))
        taken = left.pop(best)
        chosen.add(best)
        room -= taken.end - taken.start + len(GAP)
        rest = ((index, _Piece(item.start, item.end, item.words - taken.words)) for index, item in left.items())
        left = {index: item for index, item in rest if item.words and item.end - item.start + len(GAP) <= room}
    return chosen


def _add_neighbours(pieces: list[_Piece], chosen: set[int], max_length: int) -> set[int]:
    """Fills the remaining room with neighbours, the preceding one first, because pronouns refer back."""
    queue = deque(sorted(chosen))
    while queue:
        index = queue.popleft()
        for neighbour in (index - 1, index + 1):
            is_new = 0 <= neighbour < len(pieces) and neighbour not in chosen
            if is_new and _length(pieces, chosen | {neighbour}) <= max_length:
                chosen = chosen | {neighbour}
                queue.append(neighbour)
    return chosen


def _length(pieces: list[_Piece], chosen: set[int]) -> int:
    spans = _spans(pieces, chosen)
    return sum(end - start for start, end in spans) + len(GAP) * (len(spans) - 1) + ENDS_LENGTH


def _spans(pieces: list[_Piece], chosen: set[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    last = -2
    for index in sorted(chosen):
        start = spans.pop()[0] if index == last + 1 else pieces[index].start
        spans.append((start, pieces[index].end))
        last = index
    return spans


def _join(text: str, pieces: list[_Piece], chosen: set[int]) -> str:
    spans = _spans(pieces, chosen)
    before = ELLIPSIS if spans[0][0] > pieces[0].start else ""
    after = ELLIPSIS if spans[-1][1] < pieces[-1].end else ""
    return before + GAP.join(text[start:end] for start, end in spans) + after
