"""Extracts the keywords of a question and finds their positions in a text.

English is compared by stems, Japanese by pairs of characters. Chinese words also match inside longer words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import rjieba

from veracity.agents.extract.answer_types import KIND_NAMES
from veracity.language import Language, Token, is_common, normalized, tokens_in_place
from veracity.language.questions import ASKING
from veracity.language.scripts import HAN, HIRAGANA

MAX_KEYWORDS = 60
MAX_LENGTH = 2000  # characters

NUMBER_WEIGHT = 1.5
HIRAGANA_WEIGHT = 0.25  # mostly endings
SMALL_WORD_WEIGHT = 0.5  # 以后, 最多, 每晚: neither nouns nor verbs for the segmenter
SMALL_WORD_TAGS = frozenset(("ad", "b", "c", "d", "f", "l", "m", "mq", "p", "q", "r", "u", "y", "zg"))

_HIRAGANA_ONLY = re.compile(f"[{HIRAGANA}]+")


class Keyword(NamedTuple):
    """`start` and `end` are positions in the normalized question."""

    key: str
    weight: float
    start: int
    end: int


# Where keywords start in a text, by key.
Positions = Mapping[str, Sequence[int]]


def extract_keywords(question: str, language: Language) -> list[Keyword]:
    """Each keyword once, in order. Single Han characters only count if there are no longer words."""
    plain = normalized(question)[:MAX_LENGTH]
    text = ASKING.sub(blank, KIND_NAMES.sub(blank, plain))
    tokens: Iterable[Token] = tokens_in_place(text, language)
    words: dict[str, Keyword] = {}
    for token in _join_single_characters(tokens) if language == "zh" else tokens:
        if not is_common(token.text, language):
            words.setdefault(token.text, Keyword(token.text, _weight(token.text, language), token.start, token.end))
    longer = [word for word in words.values() if len(word.key) > 1 or word.key.isascii()]
    return (longer or list(words.values()))[:MAX_KEYWORDS]


def _join_single_characters(tokens: Iterable[Token]) -> Iterator[Token]:
    """Joins adjacent single Han characters to a word that the segmenter does not know: 年 and 假 to 年假."""
    pending: Token | None = None
    for token in tokens:
        is_single = len(token.text) == 1 and not token.text.isascii() and not is_common(token.text, "zh")
        if pending and is_single and pending.end == token.start:
            pending = Token(pending.text + token.text, pending.start, token.end)
            continue
        if pending:
            yield pending
        pending = token if is_single else None
        if not is_single:
            yield token
    if pending:
        yield pending


def find_positions(wanted: Iterable[Keyword], plain: str, language: Language) -> Positions:
    """The positions of the words in a normalized text; words that do not occur are left out."""
    keys = {word.key for word in wanted}
    positions: dict[str, list[int]] = defaultdict(list)
    if language == "zh":
        han = {key for key in keys if not key.isascii()}
        lower = plain.lower()
        positions |= {
            key: starts for key in han if (starts := [match.start() for match in _chinese_pattern(key).finditer(lower)])
        }
        keys -= han
    if keys:
        for token in tokens_in_place(plain, "ja"):  # Latin words and numbers are the same in every language
            if token.text in keys:
                positions[token.text].append(token.start)
    return positions


@lru_cache(maxsize=1000)
def _chinese_pattern(key: str) -> re.Pattern[str]:
    """Matches the word. A word of two characters may abbreviate a longer one: 年假 for 年休假."""
    between = f"[{HAN}]{{0,2}}" if len(key) == 2 else ""
    return re.compile(between.join(map(re.escape, key)))


def quote_words(question: str, words: Iterable[Keyword]) -> tuple[str, ...]:
    """The words as written in the question, in order; adjacent and overlapping words are joined."""
    plain = normalized(question)
    spans: list[list[int]] = []
    for start, end in sorted({(word.start, word.end) for word in words}):
        if spans and start <= spans[-1][1] + (plain[spans[-1][1] : start] == " "):
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    return tuple(plain[start:end] for start, end in spans)


def _weight(key: str, language: Language) -> float:
    if key[0].isdigit():
        return NUMBER_WEIGHT
    if language == "zh" and not key.isascii():
        return SMALL_WORD_WEIGHT if rjieba.tag(key)[-1][1] in SMALL_WORD_TAGS else 1.0
    return HIRAGANA_WEIGHT if _HIRAGANA_ONLY.fullmatch(key) else 1.0


def blank(match: re.Match[str]) -> str:
    """Replaces a match by spaces, which keeps the positions after it."""
    return " " * len(match[0])
