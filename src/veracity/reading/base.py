"""Makes decoded text clean: one kind of line break, no characters that are not text.

Knows nothing about formats or encodings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Format = Literal["text", "markdown", "html", "pdf", "docx", "pptx", "xlsx", "csv", "json", "jsonl"]
Status = Literal["skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a document. Its only line break is \\n, and it is never blank.

    `markdown`: lines that begin with # are headings. `pages`: where in the text each page of a PDF, each slide of a
    presentation begins, the first page first; empty for what has no pages.
    """

    text: str
    title: str
    format: Format
    markdown: bool = False
    pages: tuple[int, ...] = ()


class Unreadable(Exception):
    """No text comes of this document. `reason` goes on from "… was skipped: " or "… failed: ".

    Skipped is what holds nothing for us to read, failed is what should have been readable.
    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


def skipped(reason: str) -> Unreadable:
    return Unreadable("skipped", reason)


def failed(reason: str) -> Unreadable:
    return Unreadable("failed", reason)


LONGEST_TITLE = 300

_TERMINAL_COLOUR = re.compile("\x1b\\[[0-9;?]{0,20}[A-Za-z]")
_LINE_BREAK = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls, the byte order mark and the two that are no characters at all. Tabs and \n stay.
_NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TRAILING_SPACE = re.compile(r"(?<![ \t\u3000\xa0])[ \t\u3000\xa0]++(?=\n|\Z)")  # looks at each space once
_MANY_EMPTY_LINES = re.compile(r"\n{4,}")


def clean(text: str) -> str:
    """The same text with \\n for every line break, and without controls, byte order marks and lone surrogates."""
    return _SURROGATE.sub("\ufffd", _NOT_TEXT.sub("", _LINE_BREAK.sub("\n", _TERMINAL_COLOUR.sub("", text))))


def tidy(text: str) -> str:
    """Clean, without spaces at the ends of lines, heaps of empty lines, and blank lines around it."""
    return _MANY_EMPTY_LINES.sub("\n\n\n", _TRAILING_SPACE.sub("", clean(text))).strip("\n")


def as_title(text: object) -> str:
    """On one line and not long; nothing for what is not text."""
    return " ".join(clean(text).split())[:LONGEST_TITLE].strip() if isinstance(text, str) else ""
