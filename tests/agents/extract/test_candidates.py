"""How a passage is laid out: headings and heads of tables are told from what they stand over."""

from __future__ import annotations

import time

import pytest

from tests.agents.test_extractive_writer import evidence
from veracity.agents.extract.candidates import laid_out
from veracity.language import sentences


def stating(text: str) -> list[tuple[str, str]]:
    """The sentences that state something, with what stands above them."""
    return [(one.sentence.text, one.above.strip()) for one in laid_out(evidence(text)[0]) if one.states]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## Leave\n\nStaff get 25 days. Ask early.", [("Staff get 25 days.", "## Leave"), ("Ask early.", "## Leave")]),
        ("会议室\n会议室最多可提前十四天预订。", [("会议室最多可提前十四天预订。", "会议室")]),
        ("**喫煙**\n\n館内は全面禁煙です。", [("館内は全面禁煙です。", "**喫煙**")]),
        ("One.\n\nHours\n\nFrom nine to five.", [("One.", ""), ("From nine to five.", "Hours")]),
    ],
    ids=["marked", "by its place", "bold", "from there on"],
)
def test_headings_stand_over_what_follows(text: str, found: list[tuple[str, str]]) -> None:
    assert stating(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Staff get 25 days.\nAsk early.",
        "- Leave of staff\n- Hours of work, which are long.",
        "name: Harbour\nplace: Cork, where it is wet.",
        "公司年假为12天\n员工。",
    ],
    ids=["sentences", "list", "values", "what is below is shorter"],
)
def test_other_lines_are_no_headings(text: str) -> None:
    assert [one for one, _ in stating(text)] == [one.text for one in sentences(text)]


def test_the_title_of_a_document_is_a_heading_wherever_it_stands() -> None:
    [item] = evidence("Some words.\nAnnual leave\nMore words.")
    [_, title, _] = laid_out(item.model_copy(update={"title": "Annual leave"}))
    assert not title.states


def test_the_head_of_a_table_stands_over_its_rows_only() -> None:
    text = "| City | Limit |\n| --- | --- |\n| London | 210 euro |\n\nBreakfast is included."
    assert stating(text) == [("| London | 210 euro |", "| City | Limit |"), ("Breakfast is included.", "")]


@pytest.mark.parametrize("piece", ["-", "| -", "-- x", "#", "**a", "a\n\n", "|\n|--|\n"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    laid_out(evidence(piece * 20_000)[0])
    assert time.process_time() - started < 3
