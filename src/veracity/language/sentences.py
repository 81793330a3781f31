"""Splits English, Chinese, Japanese and mixed text into sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from veracity.language.citations import MARK_PATTERN
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA
from veracity.language.words import BEFORE_NUMBER, ENGLISH, MAYBE_LAST, NEVER_LAST


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its position: `text == source[start:end]`."""

    text: str
    start: int
    end: int


# A stop, closing quotes and brackets, and the citation marks after it belong to the sentence before.
_STOP = re.compile(
    r"(?P<stop>[.!?。！？｡．…‥]++)"
    r"(?P<closers>[\"'”’»)\]}」』）］｝】》〉]*+)"
    rf"(?P<citations>(?:[ \t\u3000]*+{MARK_PATTERN})*+)"
)
_CJK_STOPS = frozenset("。！？｡．")
_ELLIPSES = frozenset(("…", "……", "‥", "..", "...", "......"))
_CJK_CHARACTER = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}]")
# 「行く。」と言った。 – the sentence continues after the quotation.
_CONTINUES_AFTER_QUOTE = frozenset("とっでがはをのにも、，,")

_LINE_MARKER = re.compile(r"\s*(?:[(（]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4}))\Z")
_DOTTED = re.compile(r"(?:[a-z]\.)*[a-z]\Z")
_WORD_BEFORE = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*\Z")
_WORD_AFTER = re.compile(r"[\"'“‘«(\[]*([^\W\d_]+)(\.?)")
_MAX_ABBREVIATION = 12
_WITH_EXCLAMATION_MARK = re.compile(r"\b(?:Yahoo|Jeopardy)\Z")


def sentences(text: str) -> list[Sentence]:
    """The sentences of the text in order. Line breaks end sentences; only whitespace is between them."""
    result = []
    line_start = 0
    for line in text.splitlines(keepends=True):
        start = 0
        for end in _sentence_ends(line):
            piece = line[start:end]
            if words := piece.strip():
                first = line_start + start + len(piece) - len(piece.lstrip())
                result.append(Sentence(words, first, first + len(words)))
            start = end
        line_start += len(line)
    return result


def _sentence_ends(line: str) -> Iterator[int]:
    for match in _STOP.finditer(line):
        if match.end() < len(line) and _ends_sentence(line, match):
            yield match.end()
    yield len(line)


def _ends_sentence(line: str, match: re.Match[str]) -> bool:
    following = line[match.end()]
    stop = match["stop"]
    if not _CJK_STOPS.isdisjoint(stop):
        if stop == "．" and line[match.start() - 1 : match.start()].isdigit() and following.isdigit():
            return False
        return not (match["closers"] and following in _CONTINUES_AFTER_QUOTE)
    before = line[max(0, match.start() - 1) : match.start()]
    if _CJK_CHARACTER.match(before) or (stop[0] in "!?" and _CJK_CHARACTER.match(following)):
        return stop not in _ELLIPSES or following.isspace()
    if not (following.isspace() or match["citations"]):
        return False
    return _latin_stop_ends_sentence(line, match)


def _latin_stop_ends_sentence(line: str, match: re.Match[str]) -> bool:
    after = _WORD_AFTER.match(line[match.end() : match.end() + 40].lstrip())
    continues_lowercase = after is not None and after[1][0].islower()
    if match["stop"] != ".":
        if match["stop"] == "!" and _WITH_EXCLAMATION_MARK.search(line[max(0, match.start() - 10) : match.start()]):
            return after is not None and after[1][0].isupper() and after[1].lower() in ENGLISH
        return not (continues_lowercase and (match["closers"] or match["stop"][0] in "!.…‥"))
    if match["closers"] or match["citations"]:
        return bool(match["citations"]) or not continues_lowercase
    head = line[max(0, match.start() - _MAX_ABBREVIATION - 1) : match.start()]
    if match.start() <= _MAX_ABBREVIATION and _LINE_MARKER.match(head):
        return False
    word = _WORD_BEFORE.search(head)
    return word is None or _word_can_be_last(word[0], after, line[match.end() : match.end() + 3].strip())


def _word_can_be_last(word: str, after: re.Match[str] | None, next_characters: str) -> bool:
    lower = word.lower()
    if lower in NEVER_LAST:
        return False
    if lower in BEFORE_NUMBER:
        return not next_characters[:1].isdigit()
    if lower not in MAYBE_LAST and not _DOTTED.match(lower):
        return True
    if after is None:
        return not (next_characters[:1].isdigit() or next_characters.startswith(("-", "–", "—")))
    # "the U.S. The court" ends a sentence; "the U.S. Army" and "J. A. Smith" do not.
    return after[1][0].isupper() and not (after[2] and len(after[1]) == 1) and after[1].lower() in ENGLISH
