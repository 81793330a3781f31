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
from typing import NamedTuple

import rjieba
import Stemmer  # type: ignore[import-not-found, unused-ignore]

from veracity.language.commonwords import CHINESE, ENGLISH, JAPANESE_PAIRS
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
_RUN = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})++(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)"
    rf"|(?P<han>[{HAN}]+)|(?P<hiragana>[{HIRAGANA}]+)|(?P<katakana>[{KATAKANA}]+)"
    rf"|(?P<word>{_LETTERS}(?:'{_LETTERS})*)"
)
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
    small = word.casefold()
    if not small.isascii():
        small = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", small)))
    if len(small) > LONGEST_STEMMED_WORD:
        return small
    return str(_stemmer().stemWord(small))


def _stemmer() -> Stemmer.Stemmer:
    """One stemmer per thread: the object keeps its work in progress in itself."""
    if not hasattr(_stemming, "english"):
        _stemming.english = Stemmer.Stemmer("english")
    return _stemming.english


_COMMON_ENGLISH = frozenset(_stem(word) for word in ENGLISH)
_COMMON: dict[Language, frozenset[str]] = {
    "en": _COMMON_ENGLISH,
    "zh": _COMMON_ENGLISH | CHINESE,
    "ja": _COMMON_ENGLISH | JAPANESE_PAIRS,
}
