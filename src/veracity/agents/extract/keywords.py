"""Extracts the keywords of a question and finds their positions in a text.

English is compared by stems, Japanese by pairs of characters. Chinese words also match inside longer words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from veracity.agents.extract.answer_types import KIND_NAMES
from veracity.language import Language, Token, guess_language, is_common, jieba, normalized, tokens_in_place
from veracity.language.questions import ASKING
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA
from veracity.patterns import lazy_pattern

MAX_KEYWORDS = 60
MAX_LENGTH = 2000  # characters

NUMBER_WEIGHT = 1.5
HIRAGANA_WEIGHT = 0.25  # mostly endings
SINGLE_NOUN_WEIGHT = 0.5  # 湖, 駅: such a character occurs in many words
SINGLE_NOUN_TAGS = frozenset(("n", "ns", "nz"))
GENERAL_NOUNS = frozenset("人者物事年月日時时所方名数量国儿")  # they say little about what is asked

_HIRAGANA_ONLY = lazy_pattern(f"[{HIRAGANA}]+")
# A Japanese word without particles and most endings: 国際連合, 16歳以上, 申し込み, 強める.
_PARTICLES = "はがをにへとものでやかよね"
_STEM_END, _VERB_END = "いきしちみりぎじびけせべめれえげ", "うくすつぬむるぐぶ"
_SOLID = f"[{HAN}{KATAKANA}A-Za-z0-9]"
_JAPANESE_WORD = lazy_pattern(
    f"{_SOLID}++(?:[{_STEM_END}]{_SOLID}++)*+"
    f"(?:(?<!{_SOLID}{_SOLID})[{_STEM_END}]?[{_VERB_END}]?|[{_STEM_END}](?=[{_PARTICLES}、。?？]|$))?"
)
_HIRAGANA_WORD = lazy_pattern(f"(?:(?![はをがの])[{HIRAGANA}])++")
_SINGLE_NOUN = lazy_pattern(f"(?<![{HAN}])[{HAN}](?=[{_PARTICLES}、。?？]|から|まで|より|$)")


class Keyword(NamedTuple):
    """`start` and `end` are positions in the normalized question."""

    key: str
    weight: float
    start: int
    end: int


# Where keywords start in a text, by key.
Positions = Mapping[str, Sequence[int]]


def extract_keywords(question: str, language: Language) -> list[Keyword]:
    """Each keyword once, in order. Single Han characters other than nouns only count if there are no longer words."""
    plain = normalized(question)[:MAX_LENGTH]
    text = ASKING.sub(blank, KIND_NAMES.sub(blank, plain))
    tokens: Iterable[Token] = tokens_in_place(text, language)
    words: dict[str, Keyword] = {}
    for token in _join_single_characters(tokens) if language == "zh" else tokens:
        if not is_common(token.text, language):
            words.setdefault(token.text, Keyword(token.text, _weight(token.text), token.start, token.end))
    nouns = {word.key for word in words.values() if _is_single_noun(word, plain, language)}
    kept = [word for word in words.values() if len(word.key) > 1 or word.key.isascii() or word.key in nouns]
    return (kept or list(words.values()))[:MAX_KEYWORDS]


def _is_single_noun(word: Keyword, plain: str, language: Language) -> bool:
    """Whether it is a single Han character that is a noun: in Japanese, one before a particle."""
    if len(word.key) > 1 or word.key.isascii() or word.key in GENERAL_NOUNS:
        return False
    if language == "ja":
        return _SINGLE_NOUN.match(plain, word.start) is not None
    return jieba.tag(word.key)[0][1] in SINGLE_NOUN_TAGS


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
    for key in {key for key in keys if len(key) == 1 and not key.isascii()}:
        positions[key] += [at for at, character in enumerate(plain) if character == key]
        keys.discard(key)
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
    """The whole words as written in the question, in order; adjacent and overlapping words are joined.

    Japanese keywords in hiragana, mostly endings, are only quoted if there are no others.
    """
    plain = normalized(question)
    places = sorted({(word.start, word.end) for word in words})
    if guess_language(plain) == "ja":
        places = _widen(places, _JAPANESE_WORD, plain) or _widen(places, _HIRAGANA_WORD, plain)
    spans: list[list[int]] = []
    for start, end in places:
        if spans and start <= spans[-1][1] + (plain[spans[-1][1] : start] == " "):
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    return tuple(plain[start:end] for start, end in spans)


def _widen(places: Sequence[tuple[int, int]], word: re.Pattern[str], plain: str) -> list[tuple[int, int]]:
    """The words that overlap any of the places."""
    words = [match.span() for match in word.finditer(plain)]
    ends = [end for _, end in words]
    at_or_after = ((start, end, bisect_right(ends, start)) for start, end in places)
    overlapping = (words[at] for _, end, at in at_or_after if at < len(words) and words[at][0] < end)
    return list(dict.fromkeys(overlapping))


def _weight(key: str) -> float:
    if key[0].isdigit():
        return NUMBER_WEIGHT
    if len(key) == 1 and not key.isascii():
        return SINGLE_NOUN_WEIGHT
    return HIRAGANA_WEIGHT if _HIRAGANA_ONLY.fullmatch(key) else 1.0


def blank(match: re.Match[str]) -> str:
    """Replaces a match by spaces, which keeps the positions after it."""
    return " " * len(match[0])
