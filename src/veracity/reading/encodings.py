"""Decodes bytes: detects the encoding of a text.

A byte order mark and valid UTF-8 are trusted. Otherwise all common encodings are tried and the most plausible result
is used; general detectors are weak on short Chinese and Japanese texts.
"""

import codecs
import json
import re
import unicodedata
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from veracity.reading.base import clean, skipped

Script = Literal["japanese", "simplified", "traditional", "korean", "latin", "unicode"]

SAMPLE_BYTES = 8_192
MAX_CONTROL_SHARE = 0.02
CERTAIN_SCORE = 1.0  # from here on charset_normalizer is not asked
MIN_SCORE = 0.0
IMPOSSIBLE = -10.0

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_LEGACY: tuple[tuple[str, Script], ...] = (
    ("cp1252", "latin"),
    ("cp932", "japanese"),
    ("euc_jp", "japanese"),
    ("gb18030", "simplified"),
    ("big5hkscs", "traditional"),
    ("cp949", "korean"),
)
# Documents often declare an encoding and use its superset.
_SUPERSETS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
# The lead bytes of frequent and rare characters in each national standard.
_LEVELS: dict[Script, tuple[str, range, range]] = {
    "japanese": ("euc_jp", range(0xB0, 0xD0), range(0xD0, 0xF5)),
    "simplified": ("gb2312", range(0xB0, 0xD8), range(0xD8, 0xF8)),
    "traditional": ("big5", range(0xA4, 0xC7), range(0xC9, 0xFA)),
    "korean": ("euc_kr", range(0xB0, 0xC9), range(0xCA, 0xFE)),
}
_CJK_PUNCTUATION = frozenset("、。，．：；？！「」『』（）“”‘’《》【】〈〉·・…—～ー〜－　％￥")
_LATIN_PUNCTUATION = frozenset("“”‘’„‚«»‹›–—…€£§°©®™·•×½¼¾²³±µ¿¡ªº\xa0\xad")
_BAD_CATEGORIES = frozenset(("Co", "Cn", "Cc"))  # private use, unassigned, control
_NON_ASCII_RUN = re.compile("[\x80-\U0010ffff]+")
_NON_ASCII_BYTE = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = re.compile(rb"\x1b[$(][@BJ]")
_XML_DECLARATION = re.compile(rb"\A\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w:.-]{2,40})", re.ASCII)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decode(content: bytes, declared: str = "") -> str:
    """The clean text. `declared` is the encoding that the document names. Raises Unreadable for binary data."""
    text = content.decode(detect_encoding(content, declared), errors="replace")
    if _is_binary(text[:SAMPLE_BYTES]):
        raise skipped("it is not text (binary data of an unknown kind)")
    return clean(text)


def declared_in_xml(content: bytes) -> str:
    """The encoding that an XML declaration names; empty without one."""
    declared = _XML_DECLARATION.match(content)
    return declared[1].decode("ascii") if declared else ""


def detect_encoding(content: bytes, declared: str = "") -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    sample = content[:SAMPLE_BYTES]
    if b"\0" in sample or _is_binary(sample.decode("latin-1")):
        return _wide_encoding(sample)
    if _ISO_2022_JP.search(sample) and _is_valid(content, "iso2022_jp_ext"):
        return "iso2022_jp_ext"
    if _is_valid(content, "utf-8"):
        return "utf-8"
    known = _python_name(declared)
    if known and _is_valid(content, known):
        return known
    return _most_plausible(content)


def _wide_encoding(sample: bytes) -> str:
    """The best of UTF-16 and UTF-32; latin-1 if none is plausible, so that the content counts as binary."""
    scores = {encoding: _wide_score(sample, encoding) for encoding in _WIDE}
    best = max(scores, key=lambda encoding: scores[encoding])
    return best if scores[best] > MIN_SCORE else "latin-1"


def _wide_score(sample: bytes, encoding: str) -> float:
    text = _decode_sample(sample, encoding)
    if not text or _is_binary(text):
        return IMPOSSIBLE
    plain = sum(" " <= character <= "~" or character in "\t\r\n" for character in text)
    return (plain * 3.0 + (len(text) - plain) * _plausibility(text, "unicode")) / len(text)


def _most_plausible(content: bytes) -> str:
    first = _NON_ASCII_BYTE.search(content)
    start = first.start() if first else 0
    sample = content[start : start + SAMPLE_BYTES]  # ASCII before that is the same in all encodings
    scores = {encoding: _score(sample, encoding, script) for encoding, script in _LEGACY}
    scores |= {encoding: _score(content[:SAMPLE_BYTES], encoding, "unicode") for encoding in ("utf-16-le", "utf-16-be")}
    best = max(scores, key=lambda encoding: scores[encoding])
    if scores[best] >= CERTAIN_SCORE:
        return best
    other = import_module("charset_normalizer").from_bytes(sample).best()  # Cyrillic, Greek …; imported only then
    if other is not None and _is_valid(content, str(other.encoding)):
        return str(other.encoding)
    if _decode_sample(sample, "utf-8").count("\ufffd") * 200 < len(sample):  # UTF-8 with a few broken bytes
        return "utf-8"
    return best if scores[best] > MIN_SCORE else "latin-1"


def _score(sample: bytes, encoding: str, script: Script) -> float:
    text = _decode_sample(sample, encoding)
    odd_bytes = script == "unicode" and len(sample) % 2
    broken = text.count("\ufffd") * 200 > len(text)
    return IMPOSSIBLE if odd_bytes or broken or _is_binary(text) else _plausibility(text, script)


def _decode_sample(sample: bytes, encoding: str) -> str:
    """Leaves out a character that the end of the sample cuts in two."""
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)


def _is_valid(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _python_name(declared: str) -> str:
    """Python's name of the declared encoding, or of its superset; empty if it is not a known text encoding."""
    try:
        name = codecs.lookup(declared.strip().replace("x-sjis", "shift_jis")).name if declared else ""
        "".encode(name or "utf-8")
    except (LookupError, ValueError):
        return ""
    return _SUPERSETS.get(name, name)


def _is_binary(text: str) -> bool:
    return len(_CONTROL.findall(text)) > MAX_CONTROL_SHARE * len(text)


def _plausibility(text: str, script: Script) -> float:
    """From about 3 for text that is certainly right to below zero. Plain ASCII proves nothing and scores 0."""
    runs = _NON_ASCII_RUN.findall(text)
    count = sum(map(len, runs))
    if not count:
        return 0.0
    if script == "latin":
        return sum(map(_latin_score, runs)) / count
    if script == "unicode":
        scripts: tuple[Script, ...] = ("japanese", "simplified", "traditional", "korean", "latin")
        return max(_plausibility(text, other) for other in scripts)
    return sum(_character_score(character, script) for run in runs for character in run) / count


def _latin_score(run: str) -> float:
    """Accented letters come alone or in pairs between ASCII letters; a longer run is another script."""
    if len(run) > 2:
        return -3.0 * len(run)
    return sum(
        2.0
        if character.isalpha() and character < "\u0180"
        else 1.5
        if character in _LATIN_PUNCTUATION
        else _odd(character)
        for character in run
    )


def _character_score(character: str, script: Script) -> float:
    if script == "korean":
        return _korean_score(character)
    kana = _kana_score(character) if script == "japanese" else None
    return _han_score(character, script) if kana is None else kana


def _kana_score(character: str) -> float | None:
    if "\u3041" <= character <= "\u3096":
        return 3.0
    if "\u30a1" <= character <= "\u30fa":
        return 2.0
    # Half-width katakana: Latin and EUC bytes decode to it in Shift_JIS.
    return -0.5 if "\uff61" <= character <= "\uff9f" else None


def _han_score(character: str, script: Script) -> float:
    if character in _frequent(script):
        return 3.0
    if character in _CJK_PUNCTUATION:
        return 2.0
    if "\uff01" <= character <= "\uff5e":
        return 1.0
    if _is_han(character):
        return 1.0 if character in _level(script, 1) else -1.0 if character in _level(script, 2) else -4.0
    return _odd(character)


def _korean_score(character: str) -> float:
    if character in _frequent("korean"):
        return 3.0
    if "\uac00" <= character <= "\ud7a3":
        return 0.5 if character in _level("korean", 1) else -4.0
    return 2.0 if character in _CJK_PUNCTUATION else -2.0 if _is_han(character) else _odd(character)


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"


def _odd(character: str) -> float:
    is_bad = character == "\ufffd" or unicodedata.category(character) in _BAD_CATEGORIES
    return IMPOSSIBLE if is_bad else -1.0


@cache
def _frequent(script: Script) -> frozenset[str]:
    path = Path(__file__).with_name("frequent_characters.json")
    return frozenset(json.loads(path.read_text(encoding="utf-8"))[script])


@cache
def _level(script: Script, level: Literal[1, 2]) -> frozenset[str]:
    codec, *lead_bytes = _LEVELS[script]
    pairs = (bytes((lead, trail)) for lead in lead_bytes[level - 1] for trail in range(0x40, 0xFF))
    return frozenset("".join(pair.decode(codec, errors="ignore") for pair in pairs))
