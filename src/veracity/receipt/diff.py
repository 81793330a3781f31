"""Word-by-word differences between two texts, for receipts and the page.

Chinese is compared by words, Japanese by characters. Texts that repeat too many words are compared by sentences, and
very long ones as a whole, so that hostile text cannot take hours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from veracity.language import Language, guess_language, sentences, tokens_in_place
from veracity.language.citations import MARK
from veracity.models import Difference
from veracity.receipt.prose import plain_text

MAX_EQUAL_PAIRS = 30_000  # the comparison time grows with the number of equal pairs
MAX_LENGTH = 50_000  # characters
_SENTENCE_END = re.compile(r"[.!?。！？]")
_GAP = re.compile(r"\s+|.", re.DOTALL)


def diff(before: str, after: str) -> list[Difference]:
    """The pieces of both texts in order: without the new ones they join to `before`, without the gone ones to
    `after`."""
    for split in (_words, _sentences) if max(len(before), len(after)) <= MAX_LENGTH else ():
        pieces = _compare(split(before), split(after))
        if pieces is not None:
            return list(_align_to_sentences(_merge(pieces)))
    return _changed(before, after)


def diff_rendered(before: str, after: str) -> list[Difference]:
    """The differences of two drafts as they read, without the signs of Markdown."""
    return diff(plain_text(before), plain_text(after))


def _compare(before: list[str], after: list[str]) -> list[Difference] | None:
    """None when it would take too long. The common beginning and end are skipped, which costs nothing."""
    head = _shared_prefix(before, after)
    tail = _shared_prefix(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if _count_equal_pairs(old, new) > MAX_EQUAL_PAIRS:
        return None
    return [_same(before[:head]), *_match(old, new), _same(before[len(before) - tail :])]


def _count_equal_pairs(old: list[str], new: list[str]) -> int:
    counts = Counter(piece for piece in new if not piece.isspace())
    return sum(counts[piece] for piece in old)


def _match(old: list[str], new: list[str]) -> Iterator[Difference]:
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    for operation, a, b, c, d in matcher.get_opcodes():
        if operation == "equal":
            yield _same(old[a:b])
        else:
            yield from _changed("".join(old[a:b]), "".join(new[c:d]))


def _merge(pieces: Iterable[Difference]) -> list[Difference]:
    """Join neighbours of a kind. A space or single character between two changes joins them, which reads better."""
    merged: list[Difference] = []
    gone = new = same = ""
    for piece in pieces:
        if piece.kind == "same":
            same += piece.text
            continue
        if same and not (_is_negligible(same) and (gone or new)):
            merged += [*_changed(gone, new), Difference(kind="same", text=same)]
            gone = new = ""
        else:
            gone, new = gone + same, new + same
        same = ""
        if piece.kind == "gone":
            gone += piece.text
        else:
            new += piece.text
    merged += _changed(gone, new)
    return [*merged, Difference(kind="same", text=same)] if same else merged


def _align_to_sentences(pieces: list[Difference]) -> Iterator[Difference]:
    """Shift an added or removed sentence so that it is shown from its beginning to its end."""
    shifted = ""  # text that moved in front of the change; it is taken from the "same" piece that follows
    for index, piece in enumerate(pieces):
        text = piece.text
        follower = pieces[index + 1] if index + 1 < len(pieces) else None
        if piece.kind == "same":
            text = text[len(shifted) :]
            shifted = ""
        elif follower and follower.kind == "same" and (index == 0 or pieces[index - 1].kind == "same"):
            shifted = _shift(text, follower.text)
            if shifted:
                yield Difference(kind="same", text=shifted)
        if text:
            moved = text if piece.kind == "same" else text[len(shifted) :] + shifted
            yield Difference(kind=piece.kind, text=moved)


def _shift(text: str, following: str) -> str:
    """The beginning of `text` that also follows it, up to the last sentence end."""
    shared = _shared_prefix(text, following)
    ends = [match.end() for match in _SENTENCE_END.finditer(following[:shared])]
    return following[: ends[-1]] if ends else ""


def _same(pieces: list[str]) -> Difference:
    return Difference(kind="same", text="".join(pieces))


def _changed(gone: str, new: str) -> list[Difference]:
    both = (Difference(kind="gone", text=gone), Difference(kind="new", text=new))
    return [piece for piece in both if piece.text]


def _is_negligible(text: str) -> bool:
    return len(text.strip()) <= 1 and "\n" not in text


def _shared_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))


def _words(text: str) -> list[str]:
    """Words, citation marks, and every character and space between them: joined, they are the text."""
    language = guess_language(text)
    pieces: list[str] = []
    start = 0
    for mark in MARK.finditer(text):
        pieces += [*_split_words(text[start : mark.start()], language), mark[0]]
        start = mark.end()
    return pieces + _split_words(text[start:], language)


def _split_words(text: str, language: Language) -> list[str]:
    pieces: list[str] = []
    at = 0
    for token in tokens_in_place(text, language):
        pieces += _GAP.findall(text[at : token.start])
        word = text[max(at, token.start) : token.end]
        pieces += [word] if language != "ja" or word.isascii() else word  # Japanese tokens are overlapping pairs
        at = token.end
    return [*pieces, *_GAP.findall(text[at:])]


def _sentences(text: str) -> list[str]:
    edges = [0, *(sentence.start for sentence in sentences(text)), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if end > start]
