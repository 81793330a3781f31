"""Spelling correction against the documents' vocabulary. Only words that no document contains are changed.

English: one edit away from a word of the documents, unless the word is ordinary English. An ordinary word stays, and
the best passages may provide one near in meaning (not for capitalized words, which may be names).
Japanese and Chinese: one character, if its neighbours leave no doubt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Protocol

from veracity.language import guess_language, is_common, normalized, search_tokens
from veracity.models import Evidence

MIN_SIMILARITY = 0.55  # words below it share a field, not a meaning
MAX_PASSAGES = 5  # searched for a word near in meaning
MIN_LENGTH, MIN_NAME_LENGTH = 4, 5  # letters; shorter words are one edit away from too many others
MAX_LENGTH = 20
MAX_UNKNOWN_WORDS = 8  # a question with more is in another language

_WORD = re.compile(r"(?<![\w'])[A-Za-z]+(?![\w'])")
_HAN_OR_KANA = re.compile("[\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff]{3,}")
_HAN = re.compile("[\u4e00-\u9fff]")
_ASKS = "何"  # where a document has the answer


class Vocabulary(Protocol):
    """The words of the documents, in the form in which they are indexed."""

    @property
    def size(self) -> int: ...

    def frequency(self, word: str) -> int: ...

    def knows(self, word: str) -> bool: ...

    def is_ordinary(self, word: str) -> bool: ...

    def words_containing(self, character: str) -> Sequence[str]: ...

    def similarities(self, word: str, others: Sequence[str]) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class Correction:
    """`near` are words of the best passages, near in meaning to words of the question that no document contains."""

    text: str
    changes: tuple[tuple[str, str], ...] = ()
    near: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return ", ".join(f"{before} → {after}" for before, after in self.changes)


def correct_spelling(question: str, evidence: Sequence[Evidence], vocabulary: Vocabulary) -> Correction:
    changes: list[tuple[str, str]] = []

    def replace(before: str, after: str | None) -> str:
        if after and after != before:
            changes.append((before, after))
        return after or before

    plain = normalized(question)
    unknown = [word for word in dict.fromkeys(_WORD.findall(plain)) if _is_unknown(word, vocabulary)]
    unknown = unknown[:MAX_UNKNOWN_WORDS]
    typos = [word for word in unknown if _may_be_typo(word, vocabulary)]
    written = frozenset(_english_words(evidence))
    corrections = {word: _closest_word(word.lower(), written, vocabulary) for word in typos}
    text = _WORD.sub(lambda match: replace(match[0], corrections.get(match[0])), plain)
    correct_run = _correct_japanese if guess_language(question) == "ja" else _correct_chinese
    text = _HAN_OR_KANA.sub(lambda match: replace(match[0], correct_run(match[0], vocabulary)), text)
    ordinary = [word for word in unknown if word not in typos and word.islower()]
    near = dict.fromkeys(synonym for word in ordinary if (synonym := _find_synonym(word, evidence, vocabulary)))
    return Correction(text if changes else question, tuple(changes), tuple(near))


def _is_unknown(word: str, vocabulary: Vocabulary) -> bool:
    stems = search_tokens(word, "en")
    return bool(stems) and not is_common(stems[0], "en") and not vocabulary.knows(stems[0])


def _may_be_typo(word: str, vocabulary: Vocabulary) -> bool:
    min_length = MIN_LENGTH if word.islower() else MIN_NAME_LENGTH
    return min_length <= len(word) <= MAX_LENGTH and not vocabulary.is_ordinary(word)


def _closest_word(word: str, written: Collection[str], vocabulary: Vocabulary) -> str | None:
    """The most frequent word one edit away; it must be ordinary English or occur in the evidence."""
    best, best_weight = None, 0.0
    for edited in dict.fromkeys(_edits(word)):
        if len(edited) < MIN_LENGTH or not (edited in written or vocabulary.is_ordinary(edited)):
            continue
        stems = search_tokens(edited, "en")
        weight = float(vocabulary.frequency(stems[0])) if stems else 0.0
        if edited[0] != word[0]:  # the first letter is seldom wrong
            weight /= 10
        if weight > best_weight:
            best, best_weight = edited, weight
    return best


def _edits(word: str) -> Iterator[str]:
    """All words one edit away. Transpositions come first, because the first of equals wins."""
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield from (head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1)
    yield from (head + tail[1:] for head, tail in splits if tail)
    yield from (head + letter + tail[1:] for head, tail in splits if tail for letter in ascii_lowercase)
    yield from (head + letter + tail for head, tail in splits for letter in ascii_lowercase)


def _find_synonym(word: str, evidence: Sequence[Evidence], vocabulary: Vocabulary) -> str | None:
    words = _english_words(evidence[:MAX_PASSAGES])
    words = [other for other in words if not is_common(search_tokens(other, "en")[0], "en")]
    similarities = vocabulary.similarities(word, words)
    best = max(range(len(words)), key=similarities.__getitem__, default=None)
    return None if best is None or similarities[best] < MIN_SIMILARITY else words[best]


def _english_words(evidence: Sequence[Evidence]) -> list[str]:
    """The words of the English passages in lower case, unstemmed."""
    texts = (f"{item.title}\n{item.text}" for item in evidence if item.language == "en")
    words = dict.fromkeys(word.lower() for text in texts for word in _WORD.findall(text))
    return [word for word in words if search_tokens(word, "en")]


def _correct_japanese(run: str, vocabulary: Vocabulary) -> str | None:
    """Japanese is indexed in pairs of characters: a character is wrong if neither of its pairs is known, and a
    replacement is right if both are."""
    for at in range(1, len(run) - 1):
        before, wrong, after = run[at - 1], run[at], run[at + 1]
        is_known = vocabulary.knows(before + wrong) or vocabulary.knows(wrong + after)
        if is_known or wrong == _ASKS or not _HAN.match(wrong):
            continue
        fitting = {
            pair[1]
            for pair in vocabulary.words_containing(before)
            if len(pair) == 2 and pair[0] == before and _HAN.match(pair[1]) and vocabulary.frequency(pair[1] + after)
        }
        if len(fitting) == 1:
            return run[:at] + fitting.pop() + run[at + 1 :]
    return None


def _correct_chinese(run: str, vocabulary: Vocabulary) -> str | None:
    """Replaces a word of three or four characters by the only known word that differs in one character."""
    for length in (4, 3):
        for start in range(len(run) - length + 1):
            piece = run[start : start + length]
            if vocabulary.knows(piece):
                return None
            near = {
                word
                for character in piece
                for word in vocabulary.words_containing(character)
                if len(word) == length and sum(a != b for a, b in zip(word, piece, strict=True)) == 1
            }
            if len(near) == 1:
                corrected = run[:start] + near.pop() + run[start + length :]
                at = next(index for index, (a, b) in enumerate(zip(run, corrected, strict=True)) if a != b)
                # A character that is part of a known word such as 公司 is no typo.
                if not any(vocabulary.knows(run[first : first + 2]) for first in (at - 1, at) if first >= 0):
                    return corrected
    return None
