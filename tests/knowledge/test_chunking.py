"""Passages: exact slices, nothing lost, cut where a reader would cut, in English, Chinese and Japanese."""

import time
import unicodedata
from itertools import pairwise
from textwrap import fill

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.knowledge.chunking import Chunk, chunk, sections, size
from veracity.language import sentences

TRICKY_CHARACTERS = (
    "aB1 .!?。！？「」（）\n\n\n\r\t\u3000東京はです#`~=-|*>,，、:_e\u0301\u200d👩🏽\ud83d\udc00ﾞ\x0c\u2028"
)
TRICKY_LINES = st.sampled_from(
    ["# A", "## B", "### C", "Title", "===", "---", "```", "~~~", "", "", "- an item", "| a | b |", "1,2,3",
     "Go. Stop.", "The rules are:", "東京は日本の首都です。大阪は違う。", "上海办公室位于浦东。", "word " * 30,
     "長い" * 40, "x" * 90]
)  # fmt: skip
ANY_TEXT = st.one_of(
    st.text(max_size=300),
    st.text(alphabet=st.sampled_from(TRICKY_CHARACTERS), max_size=300),
    st.lists(TRICKY_LINES, max_size=40).map("\n".join),
)


def sentence(number: int) -> str:
    return f"Sentence number {number} says that the probe reads well."


def prose(first: int, count: int) -> str:
    return " ".join(sentence(number) for number in range(first, first + count))


def texts(chunks: list[Chunk]) -> list[str]:
    return [piece.text for piece in chunks]


def check(text: str, chunks: list[Chunk], most: int) -> None:
    """What holds for every text: exact slices, trimmed, in order, bounded, and everything covered."""
    covered = 0
    for piece in chunks:
        assert piece.text == text[piece.start : piece.end] == piece.text.strip() != ""
        assert not text[covered : piece.start].strip()
        assert piece.end > covered
        assert size(piece.text) <= 1.15 * most
        covered = piece.end
    assert not text[covered:].strip()
    assert all(one.start < other.start for one, other in pairwise(chunks))


@given(ANY_TEXT, st.booleans(), st.integers(8, 60), st.data())
def test_chunks_are_exact_ordered_bounded_and_complete(
    text: str, markdown: bool, most: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, most - 1))
    check(text, chunk(text, markdown=markdown, most=most, overlap=overlap), most)


@given(st.lists(TRICKY_LINES, max_size=40).map("\n".join))
def test_headings_are_those_that_all_of_the_chunk_stands_under(text: str) -> None:
    places = [(section.blocks[0].lines[0].start, section) for section in sections(text, markdown=True)]
    for piece in chunk(text, markdown=True, most=30, overlap=5):
        inside = [
            section
            for (start, section), (following, _) in pairwise([*places, (len(text) + 1, places[0][1])])
            if start < piece.end and following > piece.start
        ]
        assert all(
            section.headings[: len(piece.headings)] == piece.headings for section in inside if not section.is_bare
        )
        if len(inside) == 1:
            assert inside[0].headings == piece.headings


def test_nothing_gives_nothing() -> None:
    assert chunk("", markdown=True) == chunk(" \n\u3000\n", markdown=False) == []


@pytest.mark.parametrize(("most", "overlap"), [(10, 10), (0, 0), (10, -1)])
def test_overlap_must_leave_room(most: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap must be"):
        chunk("text", markdown=False, most=most, overlap=overlap)


def test_a_short_text_is_one_chunk() -> None:
    text = "\n# Leave\n\nTwenty-five days a year.\n\n"
    assert chunk(text, markdown=True) == [Chunk(text.strip(), 1, len(text) - 2, ("Leave",), None)]


def test_sections_are_not_mixed() -> None:
    text = f"# Rules\n\n## Leave\n\n{prose(0, 6)}\n\n## Travel\n\n{prose(10, 6)}"
    leave, travel = chunk(text, markdown=True)
    assert leave.text.startswith("# Rules\n\n## Leave\n\nSentence number 0")
    assert leave.headings == ("Rules", "Leave")
    assert travel.text == f"## Travel\n\n{prose(10, 6)}"
    assert travel.headings == ("Rules", "Travel")


def test_tiny_sections_of_one_parent_go_together() -> None:
    text = "# Desk\n\n## Phone\n\nDial 9.\n\n## Fax\n\nNone.\n\n## Post\n\nAt four.\n\n# Other\n\nA line."
    assert [(piece.text[:6], piece.headings) for piece in chunk(text, markdown=True)] == [
        ("# Desk", ("Desk",)),
        ("# Othe", ("Other",)),
    ]


def test_a_tiny_section_beside_a_long_one_stays_alone() -> None:
    text = f"## Fax\n\nNone.\n\n## Post\n\n{prose(0, 8)}"
    assert [piece.headings for piece in chunk(text, markdown=True)] == [("Fax",), ("Post",)]


def test_paragraphs_are_kept_whole() -> None:
    paragraphs = [prose(10 * n, 6) for n in range(5)]
    chunks = chunk("\n\n".join(paragraphs), markdown=False, overlap=0)
    assert [piece.count("\n\n") for piece in texts(chunks)] == [1, 2]
    assert "\n\n".join(texts(chunks)) == "\n\n".join(paragraphs)


def test_a_long_paragraph_is_cut_evenly_between_sentences() -> None:
    text = prose(0, 30)
    chunks = chunk(text, markdown=False, overlap=0)
    assert [len(sentences(piece)) for piece in texts(chunks)] == [15, 15]
    assert " ".join(texts(chunks)) == text


@pytest.mark.parametrize("joiner", [" ", "\n\n"])
def test_chunks_of_one_section_overlap_by_whole_sentences(joiner: str) -> None:
    text = joiner.join(sentence(number) for number in range(40))
    chunks = chunk(text, markdown=False, most=100, overlap=30)
    assert len(chunks) > 3
    for one, other in pairwise(chunks):
        shared = text[other.start : one.end]
        assert 0 < size(shared) <= 30
        assert shared.startswith("Sentence number") and shared.endswith("well.")


def test_nothing_overlaps_across_headings() -> None:
    text = "\n\n".join(f"# Part {n}\n\n{prose(10 * n, 9)}" for n in range(3))
    chunks = chunk(text, markdown=True, most=60)
    assert len({piece.headings for piece in chunks}) == 3
    for one, other in pairwise(chunks):
        assert (other.start < one.end) == (one.headings == other.headings)


def test_a_crumb_at_the_end_joins_what_stands_before() -> None:
    (whole,) = chunk(f"{prose(0, 19)}\n\nAlmost nothing more.", markdown=False)
    assert size(whole.text) > 190


def test_wrapped_lines_are_one_sentence_to_a_cut() -> None:
    chunks = chunk(fill(prose(0, 60), 70), markdown=False)
    assert len(chunks) > 2
    assert all(piece.text.startswith("Sentence") and piece.text.endswith("well.") for piece in chunks)


def test_lists_are_cut_between_items_even_where_items_hold_sentences() -> None:
    items = [f"- Item {n} opens here. It goes on\n  and ends." for n in range(30)]
    for piece in chunk("\n".join(items), markdown=True, most=100):
        assert piece.text.startswith("- Item") and piece.text.endswith("and ends.")


@pytest.mark.parametrize(
    "row", ["| {0} | Probe. Long | 17 |", "{0},Probe. Long,17", "{0}\tProbe. Long\t17\tx"], ids=["table", "csv", "tabs"]
)
def test_tables_are_cut_between_rows(row: str) -> None:
    rows = [row.format(n) for n in range(100, 180)]
    for piece in chunk("\n".join(rows), markdown=False, most=100):
        assert set(piece.text.split("\n")) <= set(rows)


def test_fenced_code_is_cut_between_lines() -> None:
    lines = [f"call({n}); // first. Then more" for n in range(60)]
    text = "```c\n" + "\n".join(lines) + "\n\n# no heading\n```"
    chunks = chunk(text, markdown=True, most=80)
    assert {line for piece in chunks for line in piece.text.split("\n")} == {"```c", *lines, "", "# no heading", "```"}
    assert {piece.headings for piece in chunks} == {()}


def test_a_heading_or_lead_in_is_not_left_behind() -> None:
    text = f"{prose(0, 9)}\n\nThe rules are:\n\n" + "\n".join(f"- {sentence(n)}" for n in range(20, 29))
    first, second = chunk(text, markdown=False, most=120, overlap=0)
    assert first.text == prose(0, 9)
    assert second.text.startswith("The rules are:")


@pytest.mark.parametrize(
    "part", ["第{0}条规定了仪器的校准周期和负责人。", "第{0}回の校正は責任者が行います。", "第{0}条说：“必须校准。”"]
)
def test_chinese_and_japanese_are_cut_between_sentences(part: str) -> None:
    text = "".join(part.format(n) for n in range(100, 160))
    chunks = chunk(text, markdown=False)
    assert len(chunks) > 2
    for piece in chunks:
        assert piece.text.startswith("第") and piece.text[-1] in "。”"
    assert all(other.start < one.end for one, other in pairwise(chunks))


def test_chinese_and_japanese_headings() -> None:
    chinese = f"# 差旅\n\n## 住宿\n\n{'上海每晚不超过六百元。' * 20}\n\n## 交通\n\n{'高铁二等座实报实销。' * 20}"
    assert [piece.headings for piece in chunk(chinese, markdown=True)] == [("差旅", "住宿"), ("差旅", "交通")]
    japanese = f"休暇規程\n====\n\n{'有給休暇は二十日です。' * 20}\n\n病気休暇\n----\n\n{'診断書が必要です。' * 20}"
    assert [piece.headings for piece in chunk(japanese, markdown=True)] == [("休暇規程",), ("休暇規程", "病気休暇")]


def test_full_width_spaces_are_trimmed_and_cut_at() -> None:
    chunks = chunk("　　" + "測定器　" * 200, markdown=False, most=40)
    assert all(piece.text.startswith("測定器") and piece.text.endswith("測定器") for piece in chunks)


def test_an_endless_sentence_is_cut_at_spaces() -> None:
    text = "wordily " * 2000
    chunks = chunk(text, markdown=False, most=200)
    check(text, chunks, 200)
    assert {word for piece in chunks for word in piece.text.split()} == {"wordily"}


@pytest.mark.parametrize("cluster", ["e\u0301", "か\u3099", "👩\u200d🔬", "👍🏽", "ｶﾞ", "न\u093f"])
def test_no_cut_falls_inside_what_is_seen_as_one_character(cluster: str) -> None:
    chunks = chunk(cluster * 1000, markdown=False, most=200)
    assert len(chunks) > 1
    assert all(len(piece.text) % len(cluster) == 0 for piece in chunks)
    assert not any(unicodedata.combining(piece.text[0]) for piece in chunks)


def test_pages_are_those_of_the_start() -> None:
    pages = [prose(10 * n, 8) for n in range(4)]
    text = "\n\n".join(pages)
    starts = [text.index(page) for page in pages]
    assert [piece.page for piece in chunk(text, markdown=False, pages=starts, overlap=0)] == [1, 3]
    assert {piece.page for piece in chunk(text, markdown=False)} == {None}
    assert chunk(text, markdown=False, pages=[5, 900])[0].page == 1


@pytest.mark.parametrize(
    "unit",
    ["#", "# ", "#\n", "`", "```\n", "~~~\n`", "\n", " \n", "|", "|\n", "-", "a\n--\n", "x", "漢", "。",
     "e\u0301", "\u0301", "1,2\n", "- ", "- a\n", "(", "word ", "a. "],
)  # fmt: skip
def test_time_is_linear_on_nasty_input(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    before = time.process_time()
    check(text, chunk(text, markdown=True, most=200), 200)
    assert time.process_time() - before < 6
