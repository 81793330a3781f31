"""Sections and blocks: headings of both kinds, fences, front matter, and what only looks like them."""

import pytest

from veracity.knowledge.chunking import sections, starts_an_item


def paths(text: str, *, markdown: bool = True) -> list[tuple[str, ...]]:
    return [section.headings for section in sections(text, markdown=markdown)]


def test_headings_nest_by_level() -> None:
    text = "before\n\n# A\n## B\n#### C\n## D\n# E\n"
    assert paths(text) == [(), ("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Plain", "Plain"),
        ("   ## Indented a little  ", "Indented a little"),
        ("### Closed ###", "Closed"),
        ("# C#", "C#"),
        ("#\tAfter a tab", "After a tab"),
        ("# 休暇　規程", "休暇　規程"),
        ("###### Six", "Six"),
        (f"# {'long ' * 100}", ("long " * 40).strip()),
    ],
)
def test_a_heading_is_named_without_its_marks(line: str, title: str) -> None:
    assert paths(line) == [(title,)]


@pytest.mark.parametrize(
    "line", ["#hashtag", "####### seven", "    # indented code", "- # in an item", "\\# escaped", "＃ full width", "+#"]
)
def test_what_is_no_heading(line: str) -> None:
    assert paths(line) == [()]


def test_a_heading_without_words_opens_a_section_without_a_name() -> None:
    assert paths("# A\n\nx\n\n#\n\ny\n\n## ##\n\nz") == [("A",), (), ()]


def test_underlined_headings() -> None:
    assert paths("Title\n=====\n\nText.\n\nPart\n---\nMore.") == [("Title",), ("Title", "Part")]


@pytest.mark.parametrize(
    "text",
    [
        "two lines\nof prose\n---\n",
        "- item\n---\n",
        "| a |\n---\n",
        "text\n\n---\n\ntext",
        "a | b\n--- | ---\n1 | 2",
        "---",
    ],
)
def test_what_is_no_underlined_heading(text: str) -> None:
    assert paths(text) == [()]


@pytest.mark.parametrize("fence", ["```", "~~~~", "  ```sh"])
def test_no_heading_inside_fenced_code(fence: str) -> None:
    closing = fence.strip().rstrip("sh")
    text = f"# A\n\n{fence}\n# not a heading\nneither\n====\n\n{closing}\n## B\n"
    assert paths(text) == [("A",), ("A", "B")]
    first = next(sections(text, markdown=True))
    assert [block.kind for block in first.blocks] == ["heading", "code"]


def test_a_fence_closes_only_with_its_own_mark_and_length() -> None:
    assert paths("````\n```\n# x\n~~~~\n# y\n````\n# A\n") == [(), ("A",)]
    assert paths("```\n# never closed\n") == [()]
    assert paths("```inline``` code\n# A") == [(), ("A",)]


def test_front_matter_makes_no_heading() -> None:
    assert paths("---\ntitle: x\n---\n# A\n") == [(), ("A",)]
    assert paths("---\n# A\n") == [(), ("A",)]


def test_plain_text_has_no_headings() -> None:
    assert paths("# A\n\nB\n===\n```\n", markdown=False) == [()]
    assert paths(" \n\n", markdown=False) == paths("\n \n") == []


@pytest.mark.parametrize(
    "line", ["- a", "  * a", "1. a", "(2) a", "3）甲", "一、总则", "（二）范围", "① 一", "・項目", "|a|b|", "> q"]
)
def test_items_rows_and_quotations_start_anew(line: str) -> None:
    assert starts_an_item(line)


@pytest.mark.parametrize("line", ["a line", "2024 was long", "一般に", "第一条"])
def test_other_lines_do_not(line: str) -> None:
    assert not starts_an_item(line)
