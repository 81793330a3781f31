"""How a passage is laid out: which of its lines are headings or heads of tables, and which sentences stand below them.

By form alone, so that it holds for Markdown and for plain text. Knows nothing about questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from veracity.language import Sentence, sentences
from veracity.models import Evidence

LONGEST_HEADING = 60  # characters of a line that is a heading by its place alone


class Placed(NamedTuple):
    sentence: Sentence
    states: bool  # headings, heads of tables and rules say nothing of their own
    is_entry: bool  # of a table or a list: its neighbours say nothing about it
    above: str  # the heading nearest above it, and the head of its table


def laid_out(item: Evidence) -> list[Placed]:
    """The sentences of the passage in order, headings among them."""
    lines = item.text.splitlines(keepends=True)
    names = {name.strip() for name in (item.title, *item.headings)} - {""}
    heading = head = ""
    found = []
    for place, (line, within) in enumerate(zip(lines, _within(item.text, lines), strict=True)):
        bare = line.strip()
        states = False
        if bare.startswith("|") and _is_rule(_at(lines, place + 1)):
            head = bare
        elif _is_heading(lines, place, names):
            heading, head = bare, ""
        elif not _is_rule(bare):
            states, head = True, head if bare.startswith("|") else ""
        above = f"{heading} {head}" if states else ""
        found += [Placed(one, states, ENTRY.match(bare) is not None, above) for one in within]
    return found


def _within(text: str, lines: Sequence[str]) -> Iterator[list[Sentence]]:
    """The sentences of each line: none reaches over its end."""
    found, at, end = sentences(text), 0, 0
    for line in lines:
        end += len(line)
        first = at
        while at < len(found) and found[at].start < end:
            at += 1
        yield found[first:at]


def _is_heading(lines: Sequence[str], place: int, names: set[str]) -> bool:
    """Marked as one, or known as one, or a short line without a stop after an empty line, and text right below."""
    bare = lines[place].strip()
    if MARKED.match(bare) or bare in names:
        return True
    if not bare or len(bare) > LONGEST_HEADING or _at(lines, place - 1) or NO_HEADING.search(bare):
        return False
    below = _at(lines, place + 1) or _at(lines, place + 2)
    return len(below) > len(bare) and below.endswith(STOPS)


def _is_rule(bare: str) -> bool:
    return "--" in bare and RULED.issuperset(bare)


def _at(lines: Sequence[str], place: int) -> str:
    return lines[place].strip() if 0 <= place < len(lines) else ""


ENTRY = re.compile(r"\||[-*•・+]\s")
RULED = frozenset("|:+=- \t")
STOPS = tuple('.!?。！？)）」』”"')
MARKED = re.compile(r"#{1,6}\s|\*\*[^*\n]{1,200}\*\*:?$|<h\d")
# A line that ends a sentence, starts an item, names a value or holds cells is none.
NO_HEADING = re.compile(r"[.!?。！？,，、;；:：|]$|^[-*•・+>|\d(（]|[:：|=]\s*\S|[。；]")
