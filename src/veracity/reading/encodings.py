"""From bytes to characters: finds out in which encoding a text was saved.

What announces itself (a byte order mark) or proves itself (UTF-8) is believed. Otherwise every encoding in use is
tried and the most plausible outcome taken; the usual detectors are weak on short Chinese and Japanese texts. Knows
nothing about what the text is.
"""

from __future__ import annotations

import codecs
import re
from importlib import import_module

from veracity.reading.cleaning import clean
from veracity.reading.plausibility import Family, plausibility
from veracity.reading.result import skipped

SAMPLE = 8_192  # bytes that are judged; so many tell as much as all
MOST_CONTROLS = 0.02
CERTAIN = 1.0  # plausibility above which no other opinion is asked for
LEAST = 0.0

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_LEGACY: tuple[tuple[str, Family], ...] = (
    ("cp1252", "latin"),
    ("cp932", "japanese"),
    ("euc_jp", "japanese"),
    ("gb18030", "simplified"),
    ("big5hkscs", "traditional"),
    ("cp949", "korean"),
)
# What documents call an encoding, and the larger one that is meant by it.
_LARGER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
_ISO_2022_JP = re.compile(rb"\x1b[$(][@BJ]")
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decode(content: bytes, declared: str = "") -> str:
    """The text in clean characters; what is not text is refused. `declared` is what the document says of itself."""
    text = content.decode(encoding_of(content, declared), errors="replace")
    if _is_binary(text[:SAMPLE]):
        raise skipped("it is not text (binary data of an unknown kind)")
    return clean(text)


def encoding_of(content: bytes, declared: str = "") -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    sample = content[:SAMPLE]
    if b"\0" in sample or _is_binary(sample.decode("latin-1")):
        return _wide(sample)
    if _ISO_2022_JP.search(sample) and _fits(content, "iso2022_jp_ext"):
        return "iso2022_jp_ext"
    if _fits(content, "utf-8"):
        return "utf-8"
    known = _known(declared)
    if known and _fits(content, known):
        return known
    return _most_plausible(content)


def _wide(sample: bytes) -> str:
    """Which of the encodings whose bytes look like controls; without a good one, the controls stay for all to see."""
    scores = {encoding: _wide_score(sample, encoding) for encoding in _WIDE}
    best = max(scores, key=lambda encoding: scores[encoding])
    return best if scores[best] > LEAST else "latin-1"


def _wide_score(sample: bytes, encoding: str) -> float:
    text = _start(sample, encoding)
    if not text or len(_CONTROL.findall(text)) > MOST_CONTROLS * len(text):
        return -10.0
    plain = sum(" " <= character <= "~" or character in "\t\r\n" for character in text)
    return (plain * 3.0 + (len(text) - plain) * plausibility(text, "unicode")) / len(text)


def _most_plausible(content: bytes) -> str:
    first = _HIGH.search(content)
    start = first.start() if first else 0
    sample = content[start : start + SAMPLE]  # what comes before the first byte above ASCII tells nothing
    scores = {encoding: _score(sample, encoding, family) for encoding, family in _LEGACY}
    scores |= {encoding: _score(content[:SAMPLE], encoding, "unicode") for encoding in ("utf-16-le", "utf-16-be")}
    best = max(scores, key=lambda encoding: scores[encoding])
    if scores[best] >= CERTAIN:
        return best
    opinion = _other_opinion(sample)
    if opinion and _fits(content, opinion):
        return opinion
    if _start(sample, "utf-8").count("\ufffd") * 200 < len(sample):  # UTF-8 with a broken spot
        return "utf-8"
    return best if scores[best] > LEAST else "latin-1"


def _other_opinion(sample: bytes) -> str:
    """For Cyrillic, Greek and whatever else there is. Loaded only then."""
    found = import_module("charset_normalizer").from_bytes(sample).best()
    return str(found.encoding) if found is not None else ""


def _score(sample: bytes, encoding: str, family: Family) -> float:
    text = _start(sample, encoding)
    odd_bytes = family == "unicode" and len(sample) % 2
    broken = text.count("\ufffd") * 200 > len(text)
    return -10.0 if odd_bytes or broken or _is_binary(text) else plausibility(text, family)


def _start(sample: bytes, encoding: str) -> str:
    """The sample decoded; a character that its end cuts in two is left out."""
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)


def _fits(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _known(declared: str) -> str:
    """Python's name of a text encoding; empty for names that are unknown or no text encoding."""
    try:
        name = codecs.lookup(declared.strip().replace("x-sjis", "shift_jis")).name if declared else ""
        "".encode(name or "utf-8")
    except (LookupError, ValueError):
        return ""
    return _LARGER.get(name, name)


def _is_binary(text: str) -> bool:
    return len(_CONTROL.findall(text)) > MOST_CONTROLS * len(text)
