"""Turns a candidate into the sentences that are shown: whole list items, rows with their columns, lists with the line
that introduces them, without Markdown and citation marks.

Each sentence is one that the later checks find in the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from veracity.agents.extract.candidates import Candidate
from veracity.grounding import support
from veracity.grounding.statements import statements
from veracity.language import sentences
from veracity.language.excerpts import remove_links, remove_marks
from veracity.language.layout import Unit, one_line, unit_text, units_of
from veracity.language.scripts import HAN
from veracity.models import Evidence
from veracity.patterns import lazy_pattern

MAX_UNIT_SENTENCES = 4  # of a list item
MAX_ENTRIES = 6  # of a list that is shown with the line that introduces it
MAX_CODE_LINES = 3
MAX_LEAD_LENGTH = 200
MAX_PASSAGE_LENGTH = 900  # characters

_DECORATION = lazy_pattern(r"\*{2,3}|_{2,3}|`+")
_ITEM_MARK = lazy_pattern(r"^(?:[-*•・+>#◦‣▪■□◆●○:]{1,6}\s+)+")
_ITEM_NUMBER = lazy_pattern(r"^[(（]?\d{1,3}[.)）、]\s+")
# Values of JSON and CSV look like this: projects[2].leader: Orla Finnerty.
_KEY_PATH = lazy_pattern(r"^(?:[\w-]{1,60}(?:\[\d{1,6}\]){0,3}\.){1,8}(?=[\w-]{1,60}(?:\[\d{1,6}\]){0,3}: )")
_KEY_OF_SENTENCE = lazy_pattern(rf"^(?:[a-z][\w-]{{0,60}}|[{HAN}]{{1,12}}): (?=[^:;\n]{{20,2000}}[.!?。！？]$)")
# A sentence that is not understood without the one before it.
_REFERS_BACK = lazy_pattern(
    r"(?:it|he|she|they|this|these|those|its|his|her|their|that|then|there|such)\b"
    r"|[它他她其该此这那]|两者|同(?:年|日|月)|これ|それ|この|その|あれ|彼|同(?:氏|社)",
    re.IGNORECASE,
)


class Quote(NamedTuple):
    """A sentence as shown, and where its unit starts in the evidence."""

    number: int
    start: int
    text: str


def quote(candidate: Candidate, evidence: Sequence[Evidence]) -> list[Quote]:
    """The sentences to show for a candidate; empty if it cannot be shown."""
    units = units_of(evidence[candidate.number])
    unit = units[candidate.place]
    own = _unit_quotes(candidate.number, unit, units)
    if not own:
        return []
    # The number of an item means nothing without the other items.
    own[0] = own[0]._replace(text=_ITEM_NUMBER.sub("", own[0].text))
    return [*_before(candidate, unit, units, own[0].text), *own, *_below(candidate.number, candidate.place, units)]


def quote_passage(candidate: Candidate, evidence: Sequence[Evidence]) -> list[Quote]:
    """The passage around a candidate, as far as it can be shown."""
    units = units_of(evidence[candidate.number])
    shown = [_unit_quotes(candidate.number, unit, units) if unit.states else [] for unit in units]
    places = sorted(range(len(units)), key=lambda place: abs(place - candidate.place))
    chosen: list[int] = []
    length = 0
    for place in places:
        length += sum(len(item.text) for item in shown[place])
        if chosen and length > MAX_PASSAGE_LENGTH:
            break
        chosen.append(place)
    return [item for place in sorted(chosen) for item in shown[place]]


def _unit_quotes(number: int, unit: Unit, units: Sequence[Unit]) -> list[Quote]:
    """All sentences of the unit, or none."""
    texts = [unit_text(unit, units)] if unit.kind == "row" else [sentence.text for sentence in unit.sentences]
    is_lead_in = unit.kind == "prose" and texts[-1].rstrip("*").endswith((":", "："))
    shown = [clean(text, is_statement=not is_lead_in) for text in texts[:MAX_UNIT_SENTENCES]]
    return [Quote(number, unit.start, text) for text in shown if text] if shown and shown[0] else []


def _before(candidate: Candidate, unit: Unit, units: Sequence[Unit], text: str) -> list[Quote]:
    """The line that introduces a list item, or the sentence that this one refers back to."""
    if unit.kind in ("item", "prose") and unit.lead >= 0:
        lead = units[unit.lead]
        shown = clean(lead.sentences[-1].text, is_statement=False) if lead.kind == "prose" else None
        return [Quote(candidate.number, lead.start, shown)] if shown and len(shown) <= MAX_LEAD_LENGTH else []
    if unit.kind == "prose" and candidate.place and _REFERS_BACK.match(text):
        before = units[candidate.place - 1]
        return _unit_quotes(candidate.number, before, units) if before.kind == "prose" else []
    return []


def _below(number: int, place: int, units: Sequence[Unit]) -> list[Quote]:
    """The entries of the list or the lines of code that a line introduces."""
    entries = [unit for unit in units if unit.lead == place]
    if len(entries) > MAX_ENTRIES:
        return []
    quotes: list[Quote] = []
    for unit in entries:
        if unit.kind == "code":
            lines = [clean(sentence.text) for sentence in unit.sentences[: MAX_CODE_LINES + 1]]
            lines = lines if len(lines) <= MAX_CODE_LINES else []
            quotes += [Quote(number, unit.start, line) for line in lines if line]
        else:
            quotes += _unit_quotes(number, unit, units)
    return quotes


def clean(sentence: str, *, is_statement: bool = True) -> str | None:
    """The sentence without list marks, emphasis, table cells, citation marks and JSON keys.

    None unless it is a single sentence that the later checks find in the evidence."""
    plain = _KEY_OF_SENTENCE.sub("", _KEY_PATH.sub("", sentence.strip("| \t")))
    plain = _DECORATION.sub("", remove_links(plain))
    plain = one_line(remove_marks(_ITEM_MARK.sub("", plain)))
    if [item.text for item in sentences(plain)] != [plain] or (is_statement and not _is_statement(plain)):
        return None
    return plain if plain == sentence or not is_statement or support(plain, sentence).supported else None


def _is_statement(plain: str) -> bool:
    """Whether the checks read it as one statement. They drop the number of a list item."""
    found = statements(plain)
    return len(found) == 1 and plain.endswith(found[0])


def in_order(quotes: Iterable[Quote]) -> list[Quote]:
    """Passages in the order they were chosen, the sentences of each in the order of its text."""
    chosen = list(quotes)
    first: dict[int, int] = {}
    for index, item in enumerate(chosen):
        first.setdefault(item.number, index)
    return sorted(chosen, key=lambda item: (first[item.number], item.start))
