"""Do two questions ask the same? By their words alone, so that it costs microseconds.

Words that ask ("how many", 多少, 何) and Japanese endings are left out; longer Chinese words are cut into pairs, since
保修期 and 保修 are one thing. Two questions that share most words and yet name different things (Dublin, Osaka) or
numbers, or ask for different kinds of answers (who, how many), are not the same. Knows nothing about where questions
come from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select

from veracity.language import content_tokens, entities, guess_language
from veracity.questions import ASKING, kind_asked_for, question_parts

ALIKE = 0.5  # of 1; tests/ledger/test_likeness.py shows how many of its pairs lie on the right side
MOST_TERMS = 60
LONGEST_TERM = 100  # characters
NEWEST_PER_TERM = 50
MOST_COMPARED = 50
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_HAN = re.compile("[\u3400-\u9fff]{3,}")


def terms(question: str) -> list[str]:
    """The words by which a question is compared, each once. None for a question of signs only."""
    words = content_tokens(ASKING.sub(" ", question), guess_language(question))
    cut = [piece[:LONGEST_TERM] for word in words for piece in _pieces(word)]
    telling = [word for word in cut if not _HIRAGANA.fullmatch(word) and (len(word) > 1 or word.isascii())]
    return list(dict.fromkeys(telling or cut))[:MOST_TERMS]


class Likeness:
    """To one question, of any number of others."""

    def __init__(self, question: str) -> None:
        self.terms = terms(question)
        self._names = names(question)
        self._kinds = _kinds(question)

    def to(self, other: str) -> float:
        """From 0 to 1, the share of words they have in common; 0 where that is too little or something contradicts."""
        these, those = set(self.terms), set(terms(other))
        share = len(these & those) / len(these | those) if these & those else 0.0
        return 0.0 if share < ALIKE or self._contradicts(other) else share

    def _contradicts(self, other: str) -> bool:
        theirs, kinds = names(other), _kinds(other)
        if self._names - theirs and theirs - self._names:
            return True
        return bool(self._kinds and kinds and not self._kinds & kinds)


def newest_holding(
    connection: Connection, newest: Select[Any], known: Mapping[str, Any], words: Sequence[str]
) -> list[int]:
    """Of those that `newest` finds for each word, those that hold the most of them. A rare word counts for more: an old
    one is not among the newest that hold the common ones."""
    weight: defaultdict[int, float] = defaultdict(float)
    for word in words:
        found = connection.execute(newest, {**known, "word": word}).scalars().all()
        for number in found:
            weight[number] += 1 / len(found)
    return sorted(weight, key=lambda number: (-weight[number], -number))[:MOST_COMPARED]


def names(question: str) -> set[str]:
    """What it names, and its numbers."""
    language = guess_language(question)
    numbers = {token for token in content_tokens(question, language) if token[0].isdigit()}
    return numbers | set(entities(question, language))


def _kinds(question: str) -> set[str]:
    return {kind for part in question_parts(question) if (kind := kind_asked_for(part))}


def _pieces(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)] if _HAN.fullmatch(word) else [word]
