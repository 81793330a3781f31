"""The words of a text in the form in which they are compared: one tokenisation for search, grounding and checks.

Latin words go through the Snowball English stemmer: it behaves as the literature on search expects, and a hand-made
one errs on exactly the words (`news`, `organs`, `universe`) it has rules for. Chinese is cut into dictionary words.
Japanese is cut into character bigrams within runs of one script, which needs no dictionary and matches compounds by
their parts; a lone hiragana is a particle and left out. Knows nothing about sentences or meaning.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import rjieba
import Stemmer  # type: ignore[import-not-found, unused-ignore]

from veracity.language.commonwords import CHINESE, ENGLISH, ENGLISH_FUNCTION_WORDS, JAPANESE_PAIRS
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA, Language, guess_language

# Beyond this length a run of letters is no word of any language (a hash, base64): it is kept, not stemmed.
LONGEST_STEMMED_WORD = 40


class Token(NamedTuple):
    """A token and where it stands in the text as `normalized` gives it."""

    text: str
    start: int
    end: int


# Accents and the vowel signs of Indic and South-East Asian scripts are no letters to `re`, yet stand inside words.
_LETTER = rf"(?![{HAN}{HIRAGANA}{KATAKANA}])[^\W\d_]"
_LETTERS = rf"{_LETTER}(?:{_LETTER}|[\u0300-\u036f\u0900-\u109f])*+"
_NUMBER = r"(?P<number>\d{1,3}(?:,\d{3}){1,8}+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)"
_WORD = rf"(?P<word>{_LETTERS}(?:'{_LETTERS})*)"
_RUN = re.compile(
    rf"{_NUMBER}|(?P<han>[{HAN}]+)|(?P<hiragana>[{HIRAGANA}]+)|(?P<katakana>[{KATAKANA}]+)|{_WORD}",
)
_SEARCH_RUN = re.compile(rf"{_NUMBER}|(?P<cjk>[{HAN}{HIRAGANA}{KATAKANA}]+)|{_WORD}")
_KANJI = re.compile(f"[{HAN}]")
_ACCENT = re.compile("[\u0300-\u036f]")
_stemming = threading.local()


def normalized(text: str) -> str:
    """Compatibility forms unified (１０００ is 1000, ｶ is カ), apostrophes straight; letter case is kept."""
    return unicodedata.normalize("NFKC", text).replace("’", "'")


def tokens(text: str, language: Language | None = None) -> list[str]:
    """The words of the text, in order, in the form in which they are compared.

    The language decides how Han characters are cut; hand it in where the text alone is too short to tell, as a
    Japanese query of kanji only.
    """
    plain = normalized(text)
    return [token.text for token in tokens_in_place(plain, language or guess_language(plain))]


def content_tokens(text: str, language: Language | None = None) -> list[str]:
    """The tokens that carry content: all but the common words of the language, and of English in any text."""
    language = language or guess_language(text)
    return [token for token in tokens(text, language) if not is_common(token, language)]


def search_tokens(text: str, language: Language | None = None) -> list[str]:
    """The tokens by which a text is found, chosen by what finds best (docs/benchmarks.md).

    English loses its function words only. Chinese words are cut once more into the words inside them, and Japanese
    into pairs across scripts (食べ is worth more than 食) together with the single kanji; neither loses anything.
    """
    language = language or guess_language(text)
    found: list[str] = []
    for run in _SEARCH_RUN.finditer(normalized(text)):
        kind = run.lastgroup
        if kind == "word":
            found.append(_stem(run[0]))
        elif kind == "number":
            found.append(_digits(run[0]))
        else:
            found += _cut_japanese(run[0]) if language == "ja" else _cut_chinese(run[0])
    return [token for token in found if token not in _UNSEARCHED] if language == "en" else found


def _cut_chinese(run: str) -> list[str]:
    return list(rjieba.cut_for_search(run))


def _cut_japanese(run: str) -> Iterator[str]:
    yield from (pair.text for pair in _bigrams(run, 0))
    if len(run) > 1:
        yield from _KANJI.findall(run)


def is_common(token: str, language: Language) -> bool:
    return token in _COMMON[language]


def tokens_in_place(plain: str, language: Language) -> Iterator[Token]:
    """The tokens of a text that is `normalized` already, with their places in it."""
    for run in _RUN.finditer(plain):
        kind, start = run.lastgroup, run.start()
        if kind == "word":
            yield Token(_stem(run[0]), start, run.end())
        elif kind == "number":
            yield Token(_digits(run[0]), start, run.end())
        elif kind == "han" and language != "ja":
            for word in rjieba.cut(run[0]):
                yield Token(word, start, start + len(word))
                start += len(word)
        elif kind != "hiragana" or len(run[0]) > 1:
            yield from _bigrams(run[0], start)


def _bigrams(run: str, start: int) -> Iterator[Token]:
    """Overlapping pairs; a character that stands alone is its own token."""
    if len(run) == 1:
        yield Token(run, start, start + 1)
    for at in range(len(run) - 1):
        yield Token(run[at : at + 2], start + at, start + at + 2)


def _digits(number: str) -> str:
    plain = number.replace(",", "")
    return plain if plain.isascii() else "".join(str(int(d)) if d.isdecimal() else d for d in plain)


def _stem(word: str) -> str:
    return _folded(word) if len(word) > LONGEST_STEMMED_WORD else _remembered_stem(word)


@lru_cache(maxsize=50_000)
def _remembered_stem(word: str) -> str:
    """Texts repeat their words: remembering makes reading them three times as fast."""
    return str(_stemmer().stemWord(_folded(word)))


def _folded(word: str) -> str:
    small = word.casefold()
    if small.isascii():
        return small
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", small)))


def _stemmer() -> Stemmer.Stemmer:
    """One stemmer per thread: the object keeps its work in progress in itself."""
    if not hasattr(_stemming, "english"):
        _stemming.english = Stemmer.Stemmer("english")
    return _stemming.english


_UNSEARCHED = frozenset(_stem(word) for word in ENGLISH_FUNCTION_WORDS)
_COMMON_ENGLISH = frozenset(_stem(word) for word in ENGLISH)
_COMMON: dict[Language, frozenset[str]] = {
    "en": _COMMON_ENGLISH,
    "zh": _COMMON_ENGLISH | CHINESE,
    "ja": _COMMON_ENGLISH | JAPANESE_PAIRS,
}
