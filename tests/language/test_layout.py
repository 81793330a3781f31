"""The layout of documents: hard-wrapped lines are joined, list items and table rows are units with their labels."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.language.layout import Unit, lay_out, one_line, unit_text


def stated(text: str) -> list[str]:
    """The units that state something, each on one line."""
    units = lay_out(text)
    return [unit_text(unit, units) for unit in units if unit.states]


def headed(text: str) -> list[tuple[str, str]]:
    return [
        (" ".join(sentence.text for sentence in unit.sentences), unit.heading) for unit in lay_out(text) if unit.states
    ]


def leads(text: str) -> dict[str, str]:
    """The text of each unit that another one introduces, with that one's."""
    units = lay_out(text)
    return {unit_text(unit, units): unit_text(units[unit.lead], units) for unit in units if unit.lead >= 0}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Only people on flexible work schedules\ncan earn and use credit hours. There is no\nsalary maximum.",
            ["Only people on flexible work schedules can earn and use credit hours.", "There is no salary maximum."],
        ),
        (
            "入学手续需要携带录取通知书、身份证以及户\n口本原件。请提前准备。",
            ["入学手续需要携带录取通知书、身份证以及户口本原件。", "请提前准备。"],
        ),
        (
            "年次有給休暇は入社日から六か月を経過した\n日に付与します。",
            ["年次有給休暇は入社日から六か月を経過した日に付与します。"],
        ),
        ("> Quoted text that goes\n> over two lines.", ["> Quoted text that goes over two lines."]),
    ],
    ids=["en", "zh", "ja", "quotation"],
)
def test_hard_wrapped_lines_are_joined(text: str, found: list[str]) -> None:
    assert stated(text) == found


def test_an_item_is_one_unit_with_everything_behind_its_first_full_stop() -> None:
    text = (
        "The following arguments are supported:\n\n"
        "* `minimum_size` - Do not compress smaller responses. Default is `500`.\n"
        "* `level` - An integer.\n  Lower is faster. Default is `9`.\n"
        "    - nested"
    )
    assert stated(text)[1:] == [
        "* `minimum_size` - Do not compress smaller responses. Default is `500`.",
        "* `level` - An integer. Lower is faster. Default is `9`.",
        "- nested",
    ]


def test_a_list_belongs_to_the_line_that_introduces_it() -> None:
    text = "We pay for:\n\n- trains\n- hotels\n  - with breakfast\n\nNothing else."
    assert leads(text) == {"- trains": "We pay for:", "- hotels": "We pay for:", "- with breakfast": "- hotels"}


def test_code_belongs_to_the_line_that_introduces_it() -> None:
    assert leads("Start the server:\n\n```console\n$ fastapi dev main.py\n```") == {
        "$ fastapi dev main.py": "Start the server:"
    }


def test_a_row_has_the_names_of_its_columns_and_the_head_is_no_statement() -> None:
    text = "| City | Limit |\n| --- | --- |\n| London | 210 euro |\n| Cork | |\n\nBreakfast is included."
    assert stated(text) == ["City: London; Limit: 210 euro", "City: Cork", "Breakfast is included."]


@pytest.mark.parametrize(
    "text",
    [
        "Order number: 3911\nOrder date: 12 May 2025\nOrder total with tax: 45.00",
        "订单编号：3911\n订单日期：2025年5月12日\n应付总额（含税）：45元",
        "注文番号：3911\n注文日：2025年5月12日\n合計（税込）：4,500円",
    ],
    ids=["en", "zh", "ja"],
)
def test_lines_of_a_receipt_are_units_with_their_labels(text: str) -> None:
    assert stated(text) == text.splitlines()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## Leave\n\nStaff get 25 days. Ask early.", [("Staff get 25 days.", "## Leave"), ("Ask early.", "## Leave")]),
        ("会议室\n\n会议室最多可提前十四天预订。", [("会议室最多可提前十四天预订。", "会议室")]),
        ("会议室\n会议室最多可提前十四天预订。", [("会议室最多可提前十四天预订。", "会议室")]),
        ("**喫煙**\n\n館内は全面禁煙です。", [("館内は全面禁煙です。", "**喫煙**")]),
        ("One.\n\nHours\n\nFrom nine to five.", [("One.", ""), ("From nine to five.", "Hours")]),
        ("Hours\n=====\n\nFrom nine to five.", [("From nine to five.", "Hours")]),
    ],
    ids=["marked", "by its place", "directly above", "bold", "from there on", "underlined"],
)
def test_headings_apply_to_the_following_sentences(text: str, found: list[tuple[str, str]]) -> None:
    assert headed(text) == found


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
    assert stated(text) == text.splitlines()


def test_known_headings_are_headings_anywhere() -> None:
    [_, title, _] = lay_out("Some words.\nAnnual leave\nMore words.", frozenset(["Annual leave"]))
    assert not title.states


@given(st.text(alphabet="ab .。:|-*#>`\n 年1", max_size=80))
def test_units_are_slices_of_the_text_in_order(text: str) -> None:
    units = lay_out(text)
    ends = [0]
    for unit in units:
        for sentence in unit.sentences:
            assert text[sentence.start : sentence.end] == sentence.text
            assert sentence.start >= ends[-1]
            ends.append(sentence.end)
    assert all(_is_introduced(index, unit) for index, unit in enumerate(units))


def _is_introduced(index: int, unit: Unit) -> bool:
    return -1 <= unit.lead < index


def test_one_line_joins_han_without_a_space() -> None:
    assert one_line("年次\n有給 and\n more") == "年次有給 and more"


@pytest.mark.parametrize("piece", ["-", "| -", "-- x", "#", "**a", "a\n\n", "|\n|--|\n", "- a\n  ", "```\n", ">\n"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    lay_out(piece * 20_000)
    assert time.process_time() - started < 10
