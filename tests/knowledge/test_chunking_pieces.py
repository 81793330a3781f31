"""The estimate of size, and how blocks fall into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.knowledge.chunking import FRAGMENT, GLUED, LINE, PARAGRAPH, SENTENCE, pieces_of, sections, size


def cuts(text: str, most: int = 200) -> list[tuple[str, int]]:
    blocks = [block for section in sections(text, markdown=True) for block in section.blocks]
    return [(text[piece.start : piece.end], piece.cut) for piece in pieces_of(text, blocks, most)]


@given(st.text(max_size=60), st.text(max_size=60))
def test_size_is_at_most_the_sum_of_its_parts(one: str, other: str) -> None:
    assert size(one + other) <= size(one) + size(other)
    assert (size(one) == 0) == (not one.strip())


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
def test_size_of(text: str, expected: int) -> None:
    assert size(text) == expected


def test_a_heading_and_a_lead_in_are_glued_to_what_follows() -> None:
    assert cuts("# Leave\n\nGo. Stop.\n\nThe rules are:\n\n- One. Two.\n- Three") == [
        ("# Leave", PARAGRAPH),
        ("Go.", GLUED),
        ("Stop.", SENTENCE),
        ("The rules are:", PARAGRAPH),
        ("- One.", GLUED),
        ("Two.", SENTENCE),
        ("- Three", LINE),
    ]


def test_sentences_go_on_over_lines_that_are_broken_for_their_length() -> None:
    english = "The laboratory is kept at twenty degrees,\nwithin limits, day and night, always. It\nis quiet."
    assert [text for text, _ in cuts(english)] == [english[:-13], "It\nis quiet."]
    japanese = "測定室に入る前にエアシャワーを二十秒間\n浴びることとし、記録を残す。次に手を洗う。"
    assert [text for text, _ in cuts(japanese)] == [japanese[:-7], "次に手を洗う。"]


@pytest.mark.parametrize("row", ["17,Probe. Long,x", "17;Probe. Long;x", "17\tProbe. Long\tx", "| 17 | Probe. Long |"])
def test_rows_are_whole(row: str) -> None:
    assert cuts(f"{row}\n{row}") == [(row, PARAGRAPH), (row, LINE)]


def test_an_endless_sentence_falls_into_fragments() -> None:
    assert cuts("one two three four five six seven eight nine ten", most=8) == [
        ("one two", PARAGRAPH),
        ("three four", FRAGMENT),
        ("five six", FRAGMENT),
        ("seven eight", FRAGMENT),
        ("nine ten", FRAGMENT),
    ]
