"""Guesses the language of a text by its scripts: English (any Latin script), Chinese or Japanese."""

import re
from typing import Literal

Language = Literal["en", "zh", "ja"]

# Character ranges for use inside the brackets of a regular expression.
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d\u309e"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"

_HAN_RUN = re.compile(f"[{HAN}]+")
_KANA_RUN = re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]+")
_LATIN_RUN = re.compile(r"[A-Za-z\u00c0-\u024f]+")


def guess_language(text: str) -> Language:
    """The language of most letters; text without letters counts as English.

    A Han or kana character counts as three Latin letters. Text with one kana per twenty Han characters is Japanese:
    headlines contain few kana, and Chinese text rarely quotes one.
    """
    if text.isascii():
        return "en"
    han, kana, latin = (_letters(run, text) for run in (_HAN_RUN, _KANA_RUN, _LATIN_RUN))
    if not han + kana or (han + kana) * 3 < latin:
        return "en"
    return "ja" if kana * 20 >= han else "zh"


def _letters(run: re.Pattern[str], text: str) -> int:
    return sum(len(found) for found in run.findall(text))
