"""A question in the documents' own words: slips of spelling mended, and how they put words that no document holds.

Only words that no document holds are touched. English is mended by one edit on words as they are typed, unless the word
is a good one that the documents only happen not to hold: such a word stays, and one near in meaning is named beside it,
if the best passages have one; not when it has a capital, as names have. Japanese and Chinese are mended by one
character, where its neighbours leave no doubt. Knows nothing about searching.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Protocol

from veracity.language import guess_language, is_common, normalized, search_tokens
from veracity.models import Evidence

NEAR = 0.55  # in meaning; below it are words of the same field, not of the same thing
READ = 5  # passages in whose words another is looked for
SHORTEST, SHORTEST_NAME = 4, 5  # letters; shorter words are one edit from too many others
LONGEST = 20
MOST = 8  # Latin words that are looked into; a question with more strange ones is in another language

_WORD = re.compile(r"(?<![\w'])[A-Za-z]+(?![\w'])")
_HAN_OR_KANA = re.compile("[\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff]{3,}")
_MENDABLE = re.compile("[\u4e00-\u9fff]")
_ASKS = "何"  # stands where a document has the answer


class Vocabulary(Protocol):
    """The words of the documents, in the form in which they are searched for."""

    @property
    def size(self) -> int: ...

    def frequency(self, word: str) -> int: ...

    def knows(self, word: str) -> bool: ...

    def is_ordinary(self, word: str) -> bool: ...

    def sharing(self, character: str) -> Sequence[str]: ...

    def nearness(self, word: str, others: Sequence[str]) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class Mended:
    """`near` are words of the best passages that mean what words of the question mean which no document holds."""

    text: str
    changes: tuple[tuple[str, str], ...] = ()
    near: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        return ", ".join(f"{before} → {after}" for before, after in self.changes)


def mended(question: str, evidence: Sequence[Evidence], vocabulary: Vocabulary) -> Mended:
    changes: list[tuple[str, str]] = []

    def note(before: str, after: str | None) -> str:
        if after and after != before:
            changes.append((before, after))
        return after or before

    plain = normalized(question)
    strange = [word for word in dict.fromkeys(_WORD.findall(plain)) if _is_strange(word, vocabulary)][:MOST]
    slips = [word for word in strange if _may_be_a_slip(word, vocabulary)]
    written = frozenset(_written(evidence))
    better = {word: _near(word.lower(), written, vocabulary) for word in slips}
    text = _WORD.sub(lambda found: note(found[0], better.get(found[0])), plain)
    text = _HAN_OR_KANA.sub(lambda found: note(found[0], _run(found[0], question, vocabulary)), text)
    good = [word for word in strange if word not in slips and word.islower()]  # others may be names
    near = dict.fromkeys(meant for word in good if (meant := _meant(word, evidence, vocabulary)))
    return Mended(text if changes else question, tuple(changes), tuple(near))


def _is_strange(word: str, vocabulary: Vocabulary) -> bool:
    stems = search_tokens(word, "en")
    return bool(stems) and not is_common(stems[0], "en") and not vocabulary.knows(stems[0])


def _may_be_a_slip(word: str, vocabulary: Vocabulary) -> bool:
    shortest = SHORTEST if word.islower() else SHORTEST_NAME
    return shortest <= len(word) <= LONGEST and not vocabulary.is_ordinary(word)


def _near(word: str, written: Collection[str], vocabulary: Vocabulary) -> str | None:
    """The word one edit away that the documents hold most often. It has to be one: an ordinary one, or one that stands
    in the passages that were found."""
    best, most = None, 0.0
    for edited in dict.fromkeys(_edits(word)):
        if len(edited) < SHORTEST or not (edited in written or vocabulary.is_ordinary(edited)):
            continue
        stems = search_tokens(edited, "en")
        weight = float(vocabulary.frequency(stems[0])) if stems else 0.0
        if edited[0] != word[0]:  # the first letter is seldom wrong
            weight /= 10
        if weight > most:
            best, most = edited, weight
    return best


def _edits(word: str) -> Iterator[str]:
    """Exchanges of neighbours first: of equals the first is taken."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield from (head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1)
    yield from (head + tail[1:] for head, tail in cuts if tail)
    yield from (head + letter + tail[1:] for head, tail in cuts if tail for letter in ascii_lowercase)
    yield from (head + letter + tail for head, tail in cuts for letter in ascii_lowercase)


def _meant(word: str, evidence: Sequence[Evidence], vocabulary: Vocabulary) -> str | None:
    """The word for it in the best passages, if one of theirs is near enough in meaning."""
    known = [one for one in _written(evidence[:READ]) if not is_common(search_tokens(one, "en")[0], "en")]
    nearness = vocabulary.nearness(word, known)
    best = max(range(len(known)), key=nearness.__getitem__, default=None)
    return None if best is None or nearness[best] < NEAR else known[best]


def _written(evidence: Sequence[Evidence]) -> list[str]:
    """The English words of the passages as they are written, but for capitals."""
    texts = (f"{item.title}\n{item.text}" for item in evidence if item.language == "en")
    found = dict.fromkeys(word.lower() for text in texts for word in _WORD.findall(text))
    return [word for word in found if search_tokens(word, "en")]


def _run(run: str, question: str, vocabulary: Vocabulary) -> str | None:
    cut = _one_in_pairs if guess_language(question) == "ja" else _one_in_word
    return cut(run, vocabulary)


def _one_in_pairs(run: str, vocabulary: Vocabulary) -> str | None:
    """Japanese is indexed in pairs: a character is wrong where neither pair it stands in is known, and right where
    both are."""
    for at in range(1, len(run) - 1):
        before, wrong, after = run[at - 1], run[at], run[at + 1]
        is_known = vocabulary.knows(before + wrong) or vocabulary.knows(wrong + after)
        if is_known or wrong == _ASKS or not _MENDABLE.match(wrong):
            continue
        fitting = [
            pair[1]
            for pair in vocabulary.sharing(before)
            if len(pair) == 2
            and pair[0] == before
            and _MENDABLE.match(pair[1])
            and vocabulary.frequency(pair[1] + after)
        ]
        if len(set(fitting)) == 1:
            return run[:at] + fitting[0] + run[at + 1 :]
    return None


def _one_in_word(run: str, vocabulary: Vocabulary) -> str | None:
    """A Chinese word of three or more characters, all but one of which are there."""
    for length in (4, 3):
        for start in range(len(run) - length + 1):
            piece = run[start : start + length]
            if vocabulary.knows(piece):
                return None
            near = {
                word
                for character in piece
                for word in vocabulary.sharing(character)
                if len(word) == length and sum(a != b for a, b in zip(word, piece, strict=True)) == 1
            }
            if len(near) == 1:
                mended = run[:start] + near.pop() + run[start + length :]
                at = next(place for place, pair in enumerate(zip(run, mended, strict=True)) if pair[0] != pair[1])
                if not any(vocabulary.knows(run[one : one + 2]) for one in (at - 1, at) if one >= 0):  # 公司 is no slip
                    return mended
    return None
