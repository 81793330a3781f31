"""The part of a passage that bears on what is asked and answered, where a reader is given no more (SPEC A8).

Chosen by shared words alone, in any language: the sentences that hold the most of them, then their neighbours. Knows
nothing about who reads it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from veracity.language import Sentence, content_tokens, guess_language, sentences

LONGEST = 500
CUT = "…"
GAP = f" {CUT} "  # where something between was left out
ENDS = 2 * len(CUT)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, or a part of one that is longer than all that may be shown; and which of the words it holds."""

    start: int
    end: int
    words: frozenset[str]


def excerpt(text: str, answer_and_question: str, longest: int = LONGEST) -> str:
    """At most so many characters of the text, in its order and as it is written; a mark stands where it was cut."""
    if len(text) <= longest:
        return text
    pieces = list(_pieces(text, answer_and_question, longest))
    if not pieces:
        return text[: longest - len(CUT)] + CUT
    chosen = _with_neighbours(pieces, _most_telling(pieces, longest) or {0}, longest)
    return _joined(text, pieces, chosen)


def _pieces(text: str, wanted_text: str, longest: int) -> Iterator[_Piece]:
    language = guess_language(text)
    wanted = frozenset(content_tokens(wanted_text, language))
    for sentence in sentences(text):
        for start, end in _parts(sentence, longest):
            yield _Piece(start, end, wanted & set(content_tokens(text[start:end], language)))


def _parts(sentence: Sentence, longest: int) -> Iterator[tuple[int, int]]:
    """The sentence whole, or, where it is too long to stand beside anything, in parts of a third of the room."""
    if len(sentence.text) + ENDS <= longest:
        yield sentence.start, sentence.end
        return
    step = max(1, longest // 3 - len(CUT))
    for start in range(sentence.start, sentence.end, step):
        yield start, min(start + step, sentence.end)


def _most_telling(pieces: list[_Piece], longest: int) -> set[int]:
    """Greedily those that hold the most of the words not yet held; a word that few of them hold tells more."""
    frequency = Counter(word for piece in pieces for word in piece.words)
    left = {at: piece for at, piece in enumerate(pieces) if piece.words}
    chosen: set[int] = set()
    room = longest - ENDS + len(GAP)
    while left:
        best = max(left, key=lambda at: (sum(1 / frequency[word] for word in left[at].words), -at))
        taken = left.pop(best)
        chosen.add(best)
        room -= taken.end - taken.start + len(GAP)
        rest = ((at, _Piece(one.start, one.end, one.words - taken.words)) for at, one in left.items())
        left = {at: one for at, one in rest if one.words and one.end - one.start + len(GAP) <= room}
    return chosen


def _with_neighbours(pieces: list[_Piece], chosen: set[int], longest: int) -> set[int]:
    """What room is left goes to the neighbours, the one before first: it says what "it" is."""
    waiting = deque(sorted(chosen))
    while waiting:
        at = waiting.popleft()
        for neighbour in (at - 1, at + 1):
            within = 0 <= neighbour < len(pieces) and neighbour not in chosen
            if within and _length(pieces, chosen | {neighbour}) <= longest:
                chosen = chosen | {neighbour}
                waiting.append(neighbour)
    return chosen


def _length(pieces: list[_Piece], chosen: set[int]) -> int:
    spans = _spans(pieces, chosen)
    return sum(end - start for start, end in spans) + len(GAP) * (len(spans) - 1) + ENDS


def _spans(pieces: list[_Piece], chosen: set[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    last = -2
    for at in sorted(chosen):
        start = spans.pop()[0] if at == last + 1 else pieces[at].start
        spans.append((start, pieces[at].end))
        last = at
    return spans


def _joined(text: str, pieces: list[_Piece], chosen: set[int]) -> str:
    spans = _spans(pieces, chosen)
    before = CUT if spans[0][0] > pieces[0].start else ""
    after = CUT if spans[-1][1] < pieces[-1].end else ""
    return before + GAP.join(text[start:end] for start, end in spans) + after
