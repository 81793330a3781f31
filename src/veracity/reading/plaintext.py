"""Plain text and Markdown.

Knows nothing about encodings: the text comes decoded.
"""

from __future__ import annotations

import re

from veracity.reading.cleaning import as_title
from veracity.reading.result import Reading

_FRONT_MATTER = re.compile(r"\A\s*(---|\+\+\+)[ \t]*\n(.{0,20000}?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^[\w\"'][^\n:=]{0,100}\s*[:=]", re.MULTILINE)
_TITLE_FIELD = re.compile(r"^[\"']?title[\"']?\s*[:=]\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]*)", re.MULTILINE)
_UNDERLINED = re.compile(r"(?:\A|\n)(?![#>\-*|])([^\n]{1,200})\n(?:={3,}|-{3,})[ \t]*(?:\n|\Z)")


def read_text(text: str, name: str) -> Reading:
    return Reading(text, "", "text")


def read_markdown(text: str, name: str) -> Reading:
    """Front matter gives the title and is left out."""
    title = ""
    front = _FRONT_MATTER.match(text)
    if front and (front[1] == "+++" or _FIELD.search(front[2]) or not front[2].strip()):
        field = _TITLE_FIELD.search(front[2])
        title = as_title(field[1].strip().strip("\"'")) if field else ""
        text = text[front.end() :]
    return Reading(text, title or first_heading(text), "markdown", markdown=True)


def first_heading(text: str) -> str:
    """The first line that is a heading, outside of code."""
    start = 0
    while (fence := _FENCE.search(text, start)) is not None:
        if found := _heading_in(text[start : fence.start()]):
            return found
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[1])}", re.MULTILINE).search(text, fence.end())
        if closing is None:
            return ""
        start = closing.end()
    return _heading_in(text[start:])


def _heading_in(text: str) -> str:
    found = [match for match in (_HEADING.search(text), _UNDERLINED.search(text)) if match]
    return as_title(min(found, key=lambda match: match.start())[1]).rstrip("#").rstrip() if found else ""
