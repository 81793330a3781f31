"""Which writing a text is in: English (any Latin script), Chinese or Japanese.

Knows characters only, neither words nor sentences.
"""

import re
from typing import Literal

Language = Literal["en", "zh", "ja"]

# Ranges of characters, to stand inside the brackets of a regular expression.
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d\u309e"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"

_HAN_RUN = re.compile(f"[{HAN}]+")
_KANA_RUN = re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]+")
_LATIN_RUN = re.compile(r"[A-Za-z\u00c0-\u024f]+")


def guess_language(text: str) -> Language:
    """The language most of the letters are in; text without letters counts as English.

    A Han or kana character carries about as much as three Latin letters. Japanese prose is at least a third kana, but
    headlines hold few, while Chinese quotes a kana word at most now and then: one in twenty decides.
    """
    if text.isascii():
        return "en"
    han, kana, latin = (_letters(run, text) for run in (_HAN_RUN, _KANA_RUN, _LATIN_RUN))
    if not han + kana or (han + kana) * 3 < latin:
        return "en"
    return "ja" if kana * 20 >= han else "zh"


def _letters(run: re.Pattern[str], text: str) -> int:
    return sum(len(found) for found in run.findall(text))
