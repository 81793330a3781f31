"""The layout of a passage: headings and table heads are separated from statements."""

from __future__ import annotations

import time

import pytest

from tests.agents.test_extractive_writer import evidence
from veracity.agents.extract.candidates import lay_out
from veracity.language import sentences


def stating_sentences(text: str) -> list[tuple[str, str]]:
    """The sentences that state something, with their headings."""
    return [(placed.sentence.text, placed.above.strip()) for placed in lay_out(evidence(text)[0]) if placed.states]


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
def test_headings_apply_to_the_following_sentences(text: str, found: list[tuple[str, str]]) -> None:
    assert stating_sentences(text) == found


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
def test_other_lines_are_not_headings(text: str) -> None:
    assert [sentence for sentence, _ in stating_sentences(text)] == [sentence.text for sentence in sentences(text)]


def test_document_title_is_a_heading_anywhere() -> None:
    [item] = evidence("Some words.\nAnnual leave\nMore words.")
    [_, title, _] = lay_out(item.model_copy(update={"title": "Annual leave"}))
    assert not title.states


def test_table_head_applies_to_its_rows_only() -> None:
    text = "| City | Limit |\n| --- | --- |\n| London | 210 euro |\n\nBreakfast is included."
    assert stating_sentences(text) == [("| London | 210 euro |", "| City | Limit |"), ("Breakfast is included.", "")]


@pytest.mark.parametrize("piece", ["-", "| -", "-- x", "#", "**a", "a\n\n", "|\n|--|\n"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    lay_out(evidence(piece * 20_000)[0])
    assert time.process_time() - started < 10
