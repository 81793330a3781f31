"""Guesses the language of a text by its words: English (any Latin script), Chinese or Japanese."""

import re
from typing import Literal

from veracity.patterns import lazy_pattern

Language = Literal["en", "zh", "ja"]

# Character ranges for use inside the brackets of a regular expression.
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d\u309e"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"

_HAN_RUN = lazy_pattern(f"[{HAN}]+")
_KANA_RUN = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]+")
_CODE = lazy_pattern(r"`[^`\n]{1,200}`")
# Latin words. Identifiers are none: snake_case, CamelCase, dotted names, paths, URLs, flags, words with digits.
_WORD_START, _WORD_END = r"(?<![A-Za-z0-9_.@$/\\-])", r"(?![A-Za-z0-9_(/\\]|[.-][A-Za-z]|:/)"
_LOWER_CASE_WORD = lazy_pattern(rf"{_WORD_START}[a-z\u00c0-\u024f]++{_WORD_END}")
_LATIN_WORD = lazy_pattern(rf"{_WORD_START}(?:[A-Z]?[a-z\u00c0-\u024f]++|[A-Z\u00c0-\u024f]++){_WORD_END}")
_ENGLISH_OPENING = lazy_pattern(
    r"\s*(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|does|do|did|can|could|may|should|will|would|has|"
    r"have|the)\b",
    re.IGNORECASE,
)
# Chinese and Japanese words that a name does not contain.
_GRAMMAR = lazy_pattern("[\u3041-\u3096的了吗呢吧啊是请怎哪谁几]|什么|为何|多少")


def guess_language(text: str) -> Language:
    """The language of most letters; text without letters counts as English.

    A Han or kana character counts as three Latin letters. The letters of identifiers do not count, nor do capitalized
    words in a Chinese or Japanese sentence. Conversely, an English question may name something in Han or katakana.
    Text with one kana per twenty Han characters is Japanese: headlines contain few kana, and Chinese text rarely quotes
    one.
    """
    if text.isascii():
        return "en"
    han, kana, has_grammar = _letters(_HAN_RUN, text), _letters(_KANA_RUN, text), _GRAMMAR.search(text)
    latin_word = _LOWER_CASE_WORD if has_grammar else _LATIN_WORD
    if not han + kana or (han + kana) * 3 < _letters(latin_word, _CODE.sub(" ", text)):
        return "en"
    if _ENGLISH_OPENING.match(text) and not has_grammar:
        return "en"
    return "ja" if kana * 20 >= han else "zh"


def possible_languages(text: str) -> frozenset[Language]:
    """The guessed language. Han characters that Japanese uses too may be a Chinese or a Japanese text without kana."""
    language = guess_language(text)
    han = "".join(_HAN_RUN.findall(text))
    is_ambiguous = language == "zh" and han.encode("shift_jis", "ignore").decode("shift_jis") == han
    return frozenset(("zh", "ja")) if is_ambiguous else frozenset((language,))


def _letters(run: re.Pattern[str], text: str) -> int:
    return sum(len(found) for found in run.findall(text))
