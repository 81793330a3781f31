"""The words of a question that its answer would share, and where they stand in a text.

Chinese words are looked up within longer ones; English by their stems, Japanese by pairs of characters. Knows nothing
about what the words are looked up for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import rjieba

from veracity.agents.extract.answer_types import NAMES_A_KIND
from veracity.language import Language, Token, is_common, normalized, tokens_in_place
from veracity.language.questions import ASKING
from veracity.language.scripts import HAN, HIRAGANA

MOST = 60  # of one question; what is longer is a document
LONGEST_READ = 2000  # characters

NUMBER_WEIGHT = 1.5  # 2021 is not 2022
HIRAGANA_WEIGHT = 0.25  # mostly endings
SMALL_WORD_WEIGHT = 0.5  # 以后, 最多, 每晚: by the tags of the segmenter neither names nor deeds
SMALL_WORD_TAGS = frozenset(("ad", "b", "c", "d", "f", "l", "m", "mq", "p", "q", "r", "u", "y", "zg"))

_ALL_HIRAGANA = re.compile(f"[{HIRAGANA}]+")


class Keyword(NamedTuple):
    """`start` and `end` are places in the question as `normalized` gives it."""

    key: str
    weight: float
    start: int
    end: int


# By their keys, where keywords start in a text.
Places = Mapping[str, Sequence[int]]


def keywords(question: str, language: Language) -> list[Keyword]:
    """Each once, in the order of the question. A single Han character says little where longer words stand beside."""
    plain = normalized(question)[:LONGEST_READ]
    asked = ASKING.sub(_blank, NAMES_A_KIND.sub(_blank, plain))
    found: dict[str, Keyword] = {}
    for token in _joined(tokens_in_place(asked, language)) if language == "zh" else tokens_in_place(asked, language):
        if not is_common(token.text, language):
            found.setdefault(token.text, Keyword(token.text, _weight(token.text, language), token.start, token.end))
    longer = [word for word in found.values() if len(word.key) > 1 or word.key.isascii()]
    return (longer or list(found.values()))[:MOST]


def _joined(cut: Iterable[Token]) -> Iterator[Token]:
    """Single Han characters that stand side by side are a word that the segmenter does not know: 年 and 假 are 年假."""
    held: Token | None = None
    for token in cut:
        single = len(token.text) == 1 and not token.text.isascii() and not is_common(token.text, "zh")
        if held and single and held.end == token.start:
            held = Token(held.text + token.text, held.start, token.end)
            continue
        if held:
            yield held
        held = token if single else None
        if not single:
            yield token
    if held:
        yield held


def places_of(wanted: Iterable[Keyword], plain: str, language: Language) -> Places:
    """Where the words stand in a text that is `normalized`; those that do not are left out."""
    keys = {word.key for word in wanted}
    found: dict[str, list[int]] = defaultdict(list)
    if language == "zh":
        han = {key for key in keys if not key.isascii()}
        small = plain.lower()
        found |= {key: at for key in han if (at := [match.start() for match in _spelled(key).finditer(small)])}
        keys -= han
    if keys:
        for token in tokens_in_place(plain, "ja"):  # cuts Latin words and numbers as every language does
            if token.text in keys:
                found[token.text].append(token.start)
    return found


@lru_cache(maxsize=1000)
def _spelled(key: str) -> re.Pattern[str]:
    """A Chinese word of two characters may be short for a longer one: 年假 for 年休假."""
    between = f"[{HAN}]{{0,2}}" if len(key) == 2 else ""
    return re.compile(between.join(map(re.escape, key)))


def in_own_words(question: str, missing: Iterable[Keyword]) -> tuple[str, ...]:
    """Words as the question spells them, in its order; those that touch or overlap are one."""
    plain = normalized(question)
    spans: list[list[int]] = []
    for start, end in sorted({(word.start, word.end) for word in missing}):
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
    return HIRAGANA_WEIGHT if _ALL_HIRAGANA.fullmatch(key) else 1.0


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
