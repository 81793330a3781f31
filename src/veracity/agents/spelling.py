"""Spelling correction against the documents' vocabulary. Only words that no document contains are changed.

Most words that the documents lack are no typos but names, or words for other things. So a correction has to be a slip
that people make, and its result a known word.

English: swapped, doubled, missing and sound-alike letters in words that are not ordinary English. For an ordinary word
the best passages may provide one near in meaning (not for capitalized words, which may be names).
Chinese and Japanese: one character that sounds alike, which is the slip of an input method, inside one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Protocol

from veracity.language import guess_language, is_common, jieba, normalized, search_tokens
from veracity.language.questions import ASKING
from veracity.models import Evidence

MIN_SIMILARITY = 0.55  # words below it share a field, not a meaning
MAX_PASSAGES = 5  # searched for a word near in meaning
# Letters. The shorter a word, the more words are one edit away that are no slip.
MIN_SWAPPED_LENGTH, MIN_DOUBLED_LENGTH, MIN_LENGTH, MIN_LONG_LENGTH, MAX_LENGTH = 4, 5, 6, 8, 20
MAX_LOOKUPS = 5  # of words in the documents
MAX_UNKNOWN_WORDS = 8  # a question with more is in another language
MAX_CHINESE_WORD = 4  # characters
MAX_SOUND_DISTANCE = 30  # places in a character set that is ordered by sound

_VOWELS = "aeiouy"
_SOUND_ALIKE = {"c": "sk", "k": "c", "s": "cz", "z": "s"} | dict.fromkeys(_VOWELS, _VOWELS)
_WORD = re.compile(r"(?<![\w'])[A-Za-z]+(?![\w'])")
_HAN_RUN = re.compile("[\u3005\u4e00-\u9fff]{2,}")
_ASKS = "何"  # where a document has the answer
# GB 2312 and JIS X 0208 order their frequent characters by sound. The bytes are the first and last row of these.
_ORDERED_BY_SOUND = {"zh": ("gb2312", 0xB0, 0xD7), "ja": ("euc_jp", 0xB0, 0xCF)}
_ROW_LENGTH = 94  # characters


class Vocabulary(Protocol):
    """The words of the documents, in the form in which they are indexed."""

    @property
    def size(self) -> int: ...

    def frequency(self, word: str) -> int: ...

    def knows(self, word: str) -> bool: ...

    def is_ordinary(self, word: str) -> bool: ...

    def is_written(self, word: str) -> bool: ...

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
    corrections = {word: _closest_word(word.lower(), vocabulary) for word in typos}
    text = _WORD.sub(lambda match: replace(match[0], corrections.get(match[0])), plain)
    correct_run = _correct_japanese if guess_language(question) == "ja" else _correct_chinese
    text = _HAN_RUN.sub(lambda match: replace(match[0], correct_run(match[0], vocabulary)), text)
    ordinary = [word for word in unknown if word not in typos and word.islower()]
    near = dict.fromkeys(synonym for word in ordinary if (synonym := _find_synonym(word, evidence, vocabulary)))
    return Correction(text if changes else question, tuple(changes), tuple(near))


def _is_unknown(word: str, vocabulary: Vocabulary) -> bool:
    stems = search_tokens(word, "en")
    return bool(stems) and not is_common(stems[0], "en") and not vocabulary.knows(stems[0])


def _may_be_typo(word: str, vocabulary: Vocabulary) -> bool:
    """Whether it is no ordinary word, no form of one ("syncing" of "sync"), no short name and no identifier."""
    min_length = MIN_SWAPPED_LENGTH if word.islower() else MIN_LONG_LENGTH
    forms = (word, search_tokens(word, "en")[0])
    has_length = min_length <= len(word) <= MAX_LENGTH
    return has_length and word[1:].islower() and not any(map(vocabulary.is_ordinary, forms))


def _closest_word(word: str, vocabulary: Vocabulary) -> str | None:
    """The most frequent word that the user may have meant: ordinary English, or, if it is long, of the documents."""
    frequencies = {other: _frequency(other, vocabulary) for other in dict.fromkeys(_meant_words(word))}
    known = sorted((other for other, count in frequencies.items() if count), key=lambda other: -frequencies[other])
    ordinary = [other for other in known if vocabulary.is_ordinary(other)]
    written = known[:MAX_LOOKUPS] if len(word) >= MIN_LENGTH and not ordinary else []
    return next(iter(ordinary), None) or next(filter(vocabulary.is_written, written), None)


def _frequency(word: str, vocabulary: Vocabulary) -> int:
    stems = search_tokens(word, "en")
    return vocabulary.frequency(stems[0]) if stems else 0


def _meant_words(word: str) -> Iterator[str]:
    """The words of which this one may be a slip. The first letter is seldom wrong.

    Swapped letters come first, because the first of equals wins.
    """
    splits = [(word[:at], word[at], word[at + 1 :]) for at in range(1, len(word))]
    yield from (head + tail[0] + letter + tail[1:] for head, letter, tail in splits if tail)
    if len(word) >= MIN_DOUBLED_LENGTH:
        yield from (head + letter + letter + tail for head, letter, tail in splits)
        yield from (head + tail for head, letter, tail in splits if letter == head[-1] or _is_long_vowel(word, letter))
    if len(word) >= MIN_LENGTH:
        yield from (head + other + tail for head, letter, tail in splits for other in _SOUND_ALIKE.get(letter, ""))
        missing = ascii_lowercase if len(word) >= MIN_LONG_LENGTH else _VOWELS
        yield from (word[:at] + letter + word[at:] for at in range(1, len(word) + 1) for letter in missing)


def _is_long_vowel(word: str, letter: str) -> bool:
    return letter in _VOWELS and len(word) >= MIN_LONG_LENGTH


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


def _correct_chinese(run: str, vocabulary: Vocabulary) -> str | None:
    """Replaces a word that is in no dictionary by the only known word that sounds alike."""
    words = jieba.cut(run)
    at = 0
    for index, word in enumerate(words):
        for piece in (word, "".join(words[index : index + 2])):  # the segmenter may split an unknown word
            if 1 < len(piece) <= MAX_CHINESE_WORD and (meant := _meant_chinese_word(piece, vocabulary)):
                return run[:at] + meant + run[at + len(piece) :]
        at += len(word)
    return None


def _meant_chinese_word(piece: str, vocabulary: Vocabulary) -> str | None:
    is_word = len(jieba.cut(piece, False)) == 1 or vocabulary.knows(piece)
    if is_word or any(is_common(character, "zh") or ASKING.match(character) for character in piece):
        return None
    near = {
        word
        for character in piece
        for word in vocabulary.words_containing(character)
        if len(word) == len(piece) and _is_slip(piece, word, "zh") and len(jieba.cut(word, False)) == 1
    }
    return near.pop() if len(near) == 1 else None


def _is_slip(typed: str, meant: str, language: str) -> bool:
    """Whether the words differ in one character, and the two characters sound alike."""
    different = [(a, b) for a, b in zip(typed, meant, strict=True) if a != b]
    return len(different) == 1 and _sounds_alike(*different[0], language)


def _sounds_alike(character: str, other: str, language: str) -> bool:
    place, other_place = (_place_by_sound(each, language) for each in (character, other))
    return place is not None and other_place is not None and abs(place - other_place) <= MAX_SOUND_DISTANCE


def _place_by_sound(character: str, language: str) -> int | None:
    """None for a rare character."""
    encoding, first, last = _ORDERED_BY_SOUND[language]
    encoded = character.encode(encoding, "ignore")
    is_frequent = len(encoded) == 2 and first <= encoded[0] <= last
    return (encoded[0] - first) * _ROW_LENGTH + encoded[1] if is_frequent else None


def _correct_japanese(run: str, vocabulary: Vocabulary) -> str | None:
    """Replaces a kanji between two others, if neither of its pairs is known, by the only one that sounds alike and
    makes both known: Japanese is indexed in pairs of characters."""
    for before, wrong, after in zip(run, run[1:], run[2:], strict=False):
        if wrong == _ASKS or vocabulary.knows(before + wrong) or vocabulary.knows(wrong + after):
            continue
        fitting = {
            pair[1]
            for pair in vocabulary.words_containing(before)
            if len(pair) == 2 and pair[0] == before and _sounds_alike(wrong, pair[1], "ja")
            if vocabulary.knows(pair[1] + after)
        }
        if len(fitting) == 1:
            return run.replace(before + wrong + after, before + fitting.pop() + after, 1)
    return None
