"""Passages are exact slices, nothing is lost, and cuts fall where a reader would cut, in three languages."""

import time
import unicodedata
from itertools import pairwise
from textwrap import fill

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.knowledge.chunking import (
    FRAGMENT,
    LINE,
    NO_CUT,
    PARAGRAPH,
    SENTENCE,
    Chunk,
    chunk,
    estimate_tokens,
    find_sections,
    split_pieces,
)
from veracity.language import sentences
from veracity.language.layout import starts_item

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


def assert_valid(text: str, chunks: list[Chunk], max_tokens: int) -> None:
    """Chunks are exact slices, trimmed, in order and bounded, and cover all of the text."""
    covered = 0
    for piece in chunks:
        assert piece.text == text[piece.start : piece.end] == piece.text.strip() != ""
        assert not text[covered : piece.start].strip()
        assert piece.end > covered
        assert estimate_tokens(piece.text) <= 1.15 * max_tokens
        covered = piece.end
    assert not text[covered:].strip()
    assert all(before.start < after.start for before, after in pairwise(chunks))


@given(ANY_TEXT, st.booleans(), st.integers(8, 60), st.data())
def test_chunks_are_exact_ordered_bounded_and_complete(
    text: str, markdown: bool, max_tokens: int, data: st.DataObject
) -> None:
    overlap_tokens = data.draw(st.integers(0, max_tokens - 1))
    assert_valid(text, chunk(text, markdown=markdown, max_tokens=max_tokens, overlap_tokens=overlap_tokens), max_tokens)


@given(st.lists(TRICKY_LINES, max_size=40).map("\n".join))
def test_headings_apply_to_the_whole_chunk(text: str) -> None:
    starts = [(section.blocks[0].lines[0].start, section) for section in find_sections(text, markdown=True)]
    for piece in chunk(text, markdown=True, max_tokens=30, overlap_tokens=5):
        inside = [
            section
            for (start, section), (following, _) in pairwise([*starts, (len(text) + 1, starts[0][1])])
            if start < piece.end and following > piece.start
        ]
        assert all(
            section.headings[: len(piece.headings)] == piece.headings for section in inside if not section.is_bare
        )
        if len(inside) == 1:
            assert inside[0].headings == piece.headings


def test_blank_text_has_no_chunks() -> None:
    assert chunk("", markdown=True) == chunk(" \n\u3000\n", markdown=False) == []


@pytest.mark.parametrize(("max_tokens", "overlap_tokens"), [(10, 10), (0, 0), (10, -1)])
def test_overlap_must_be_smaller_than_a_passage(max_tokens: int, overlap_tokens: int) -> None:
    with pytest.raises(ValueError, match="overlap_tokens must be"):
        chunk("text", markdown=False, max_tokens=max_tokens, overlap_tokens=overlap_tokens)


def test_a_short_text_is_one_chunk() -> None:
    text = "\n# Leave\n\nTwenty-five days a year.\n\n"
    assert chunk(text, markdown=True) == [Chunk(text.strip(), 1, len(text) - 2, ("Leave",), None)]


def test_a_chunk_does_not_span_sections() -> None:
    text = f"# Rules\n\n## Leave\n\n{prose(0, 6)}\n\n## Travel\n\n{prose(10, 6)}"
    leave, travel = chunk(text, markdown=True)
    assert leave.text.startswith("# Rules\n\n## Leave\n\nSentence number 0")
    assert leave.headings == ("Rules", "Leave")
    assert travel.text == f"## Travel\n\n{prose(10, 6)}"
    assert travel.headings == ("Rules", "Travel")


def test_tiny_sections_under_one_heading_are_joined() -> None:
    text = "# Desk\n\n## Phone\n\nDial 9.\n\n## Fax\n\nNone.\n\n## Post\n\nAt four.\n\n# Other\n\nA line."
    assert [(piece.text[:6], piece.headings) for piece in chunk(text, markdown=True)] == [
        ("# Desk", ("Desk",)),
        ("# Othe", ("Other",)),
    ]


def test_a_tiny_section_is_not_joined_with_a_long_one() -> None:
    text = f"## Fax\n\nNone.\n\n## Post\n\n{prose(0, 8)}"
    assert [piece.headings for piece in chunk(text, markdown=True)] == [("Fax",), ("Post",)]


def test_paragraphs_are_kept_whole() -> None:
    paragraphs = [prose(10 * n, 6) for n in range(5)]
    chunks = chunk("\n\n".join(paragraphs), markdown=False, overlap_tokens=0)
    assert [piece.count("\n\n") for piece in texts(chunks)] == [1, 2]
    assert "\n\n".join(texts(chunks)) == "\n\n".join(paragraphs)


def test_a_long_paragraph_is_cut_evenly_between_sentences() -> None:
    text = prose(0, 30)
    chunks = chunk(text, markdown=False, overlap_tokens=0)
    assert [len(sentences(piece)) for piece in texts(chunks)] == [15, 15]
    assert " ".join(texts(chunks)) == text


@pytest.mark.parametrize("joiner", [" ", "\n\n"])
def test_chunks_of_one_section_overlap_by_whole_sentences(joiner: str) -> None:
    text = joiner.join(sentence(number) for number in range(40))
    chunks = chunk(text, markdown=False, max_tokens=100, overlap_tokens=30)
    assert len(chunks) > 3
    for before, after in pairwise(chunks):
        shared = text[after.start : before.end]
        assert 0 < estimate_tokens(shared) <= 30
        assert shared.startswith("Sentence number") and shared.endswith("well.")


def test_chunks_of_different_sections_do_not_overlap() -> None:
    text = "\n\n".join(f"# Part {n}\n\n{prose(10 * n, 9)}" for n in range(3))
    chunks = chunk(text, markdown=True, max_tokens=60)
    assert len({piece.headings for piece in chunks}) == 3
    for before, after in pairwise(chunks):
        assert (after.start < before.end) == (before.headings == after.headings)


def test_a_tiny_last_paragraph_joins_the_before() -> None:
    (whole,) = chunk(f"{prose(0, 19)}\n\nAlmost nothing more.", markdown=False)
    assert estimate_tokens(whole.text) > 190


def test_hard_wrapped_sentences_are_not_cut() -> None:
    chunks = chunk(fill(prose(0, 60), 70), markdown=False)
    assert len(chunks) > 2
    assert all(piece.text.startswith("Sentence") and piece.text.endswith("well.") for piece in chunks)


def test_lists_are_cut_between_items() -> None:
    items = [f"- Item {n} opens here. It goes on\n  and ends." for n in range(30)]
    for piece in chunk("\n".join(items), markdown=True, max_tokens=100):
        assert piece.text.startswith("- Item") and piece.text.endswith("and ends.")


@pytest.mark.parametrize(
    "row", ["| {0} | Probe. Long | 17 |", "{0},Probe. Long,17", "{0}\tProbe. Long\t17\tx"], ids=["table", "csv", "tabs"]
)
def test_tables_are_cut_between_rows(row: str) -> None:
    rows = [row.format(n) for n in range(100, 180)]
    for piece in chunk("\n".join(rows), markdown=False, max_tokens=100):
        assert set(piece.text.split("\n")) <= set(rows)


def test_fenced_code_is_cut_between_lines() -> None:
    lines = [f"call({n}); // first. Then more" for n in range(60)]
    text = "```c\n" + "\n".join(lines) + "\n\n# no heading\n```"
    chunks = chunk(text, markdown=True, max_tokens=80)
    assert {line for piece in chunks for line in piece.text.split("\n")} == {"```c", *lines, "", "# no heading", "```"}
    assert {piece.headings for piece in chunks} == {()}


def test_a_lead_in_stays_with_its_list() -> None:
    text = f"{prose(0, 9)}\n\nThe rules are:\n\n" + "\n".join(f"- {sentence(n)}" for n in range(20, 29))
    first, second = chunk(text, markdown=False, max_tokens=120, overlap_tokens=0)
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
    assert all(after.start < before.end for before, after in pairwise(chunks))


def test_chinese_and_japanese_headings() -> None:
    chinese = f"# 差旅\n\n## 住宿\n\n{'上海每晚不超过六百元。' * 20}\n\n## 交通\n\n{'高铁二等座实报实销。' * 20}"
    assert [piece.headings for piece in chunk(chinese, markdown=True)] == [("差旅", "住宿"), ("差旅", "交通")]
    japanese = f"休暇規程\n====\n\n{'有給休暇は二十日です。' * 20}\n\n病気休暇\n----\n\n{'診断書が必要です。' * 20}"
    assert [piece.headings for piece in chunk(japanese, markdown=True)] == [("休暇規程",), ("休暇規程", "病気休暇")]


def test_full_width_spaces_are_trimmed_and_cut_at() -> None:
    chunks = chunk("　　" + "測定器　" * 200, markdown=False, max_tokens=40)
    assert all(piece.text.startswith("測定器") and piece.text.endswith("測定器") for piece in chunks)


def test_an_endless_sentence_is_cut_at_spaces() -> None:
    text = "wordily " * 2000
    chunks = chunk(text, markdown=False, max_tokens=200)
    assert_valid(text, chunks, 200)
    assert {word for piece in chunks for word in piece.text.split()} == {"wordily"}


@pytest.mark.parametrize("cluster", ["e\u0301", "か\u3099", "👩\u200d🔬", "👍🏽", "ｶﾞ", "न\u093f"])
def test_no_cut_splits_a_grapheme(cluster: str) -> None:
    chunks = chunk(cluster * 1000, markdown=False, max_tokens=200)
    assert len(chunks) > 1
    assert all(len(piece.text) % len(cluster) == 0 for piece in chunks)
    assert not any(unicodedata.combining(piece.text[0]) for piece in chunks)


def test_page_is_where_the_chunk_starts() -> None:
    pages = [prose(10 * n, 8) for n in range(4)]
    text = "\n\n".join(pages)
    starts = [text.index(page) for page in pages]
    assert [piece.page for piece in chunk(text, markdown=False, pages=starts, overlap_tokens=0)] == [1, 3]
    assert {piece.page for piece in chunk(text, markdown=False)} == {None}
    assert chunk(text, markdown=False, pages=[5, 900])[0].page == 1


@pytest.mark.parametrize(
    "unit",
    ["#", "# ", "#\n", "`", "```\n", "~~~\n`", "\n", " \n", "|", "|\n", "-", "a\n--\n", "x", "漢", "。",
     "e\u0301", "\u0301", "1,2\n", "- ", "- a\n", "(", "word ", "a. "],
)  # fmt: skip
def test_pathological_input_takes_linear_time(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    started = time.process_time()
    assert_valid(text, chunk(text, markdown=True, max_tokens=200), 200)
    assert time.process_time() - started < 20  # quadratic time would be minutes


def paths(text: str, *, markdown: bool = True) -> list[tuple[str, ...]]:
    return [section.headings for section in find_sections(text, markdown=markdown)]


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
def test_heading_titles_have_no_markup(line: str, title: str) -> None:
    assert paths(line) == [(title,)]


@pytest.mark.parametrize(
    "line", ["#hashtag", "####### seven", "    # indented code", "- # in an item", "\\# escaped", "＃ full width", "+#"]
)
def test_lines_that_are_not_headings(line: str) -> None:
    assert paths(line) == [()]


def test_an_empty_heading_opens_an_untitled_section() -> None:
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
def test_lines_that_are_not_underlined_headings(text: str) -> None:
    assert paths(text) == [()]


@pytest.mark.parametrize("fence", ["```", "~~~~", "  ```sh"])
def test_no_heading_inside_fenced_code(fence: str) -> None:
    closing = fence.strip().rstrip("sh")
    text = f"# A\n\n{fence}\n# not a heading\nneither\n====\n\n{closing}\n## B\n"
    assert paths(text) == [("A",), ("A", "B")]
    first = next(find_sections(text, markdown=True))
    assert [block.kind for block in first.blocks] == ["heading", "code"]


def test_a_fence_closes_only_with_its_own_mark_and_length() -> None:
    assert paths("````\n```\n# x\n~~~~\n# y\n````\n# A\n") == [(), ("A",)]
    assert paths("```\n# never closed\n") == [()]
    assert paths("```inline``` code\n# A") == [(), ("A",)]


def test_front_matter_is_not_a_heading() -> None:
    assert paths("---\ntitle: x\n---\n# A\n") == [(), ("A",)]
    assert paths("---\n# A\n") == [(), ("A",)]


def test_plain_text_has_no_headings() -> None:
    assert paths("# A\n\nB\n===\n```\n", markdown=False) == [()]
    assert paths(" \n\n", markdown=False) == paths("\n \n") == []


@pytest.mark.parametrize(
    "line", ["- a", "  * a", "1. a", "(2) a", "3）甲", "一、总则", "（二）范围", "① 一", "・項目", "|a|b|", "> q"]
)
def test_lines_that_start_an_item(line: str) -> None:
    assert starts_item(line)


@pytest.mark.parametrize("line", ["a line", "2024 was long", "一般に", "第一条"])
def test_lines_that_do_not_start_an_item(line: str) -> None:
    assert not starts_item(line)


def cuts(text: str, max_tokens: int = 200) -> list[tuple[str, int]]:
    blocks = [block for section in find_sections(text, markdown=True) for block in section.blocks]
    return [(text[piece.start : piece.end], piece.cut) for piece in split_pieces(text, blocks, max_tokens)]


@given(st.text(max_size=60), st.text(max_size=60))
def test_estimate_is_at_most_the_sum_of_the_parts(text: str, more: str) -> None:
    assert estimate_tokens(text + more) <= estimate_tokens(text) + estimate_tokens(more)
    assert (estimate_tokens(text) == 0) == (not text.strip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("The probe reads well.", 5),
        ("electroencephalography", 4),
        ("2024", 2),
        ("上海办公室位于浦东", 7),
        ("東京は日本の首都です。", 9),
        ("naïve", 1),
        ("a_b", 3),
    ],
)
def test_estimated_tokens(text: str, expected: int) -> None:
    assert estimate_tokens(text) == expected


def test_no_cut_after_a_heading_or_lead_in() -> None:
    assert cuts("# Leave\n\nGo. Stop.\n\nThe rules are:\n\n- One. Two.\n- Three") == [
        ("# Leave", PARAGRAPH),
        ("Go.", NO_CUT),
        ("Stop.", SENTENCE),
        ("The rules are:", PARAGRAPH),
        ("- One.", NO_CUT),
        ("Two.", SENTENCE),
        ("- Three", LINE),
    ]


def test_sentences_continue_over_hard_wrapped_lines() -> None:
    english = "The laboratory is kept at twenty degrees,\nwithin limits, day and night, always. It\nis quiet."
    assert [text for text, _ in cuts(english)] == [english[:-13], "It\nis quiet."]
    japanese = "測定室に入る前にエアシャワーを二十秒間\n浴びることとし、記録を残す。次に手を洗う。"
    assert [text for text, _ in cuts(japanese)] == [japanese[:-7], "次に手を洗う。"]


@pytest.mark.parametrize("row", ["17,Probe. Long,x", "17;Probe. Long;x", "17\tProbe. Long\tx", "| 17 | Probe. Long |"])
def test_rows_are_not_split(row: str) -> None:
    assert cuts(f"{row}\n{row}") == [(row, PARAGRAPH), (row, LINE)]


def test_an_endless_sentence_is_split_into_fragments() -> None:
    assert cuts("one two three four five six seven eight nine ten", max_tokens=8) == [
        ("one two", PARAGRAPH),
        ("three four", FRAGMENT),
        ("five six", FRAGMENT),
        ("seven eight", FRAGMENT),
        ("nine ten", FRAGMENT),
    ]
