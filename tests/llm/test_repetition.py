"""Output that repeats itself, and text that only seems to."""

import random
import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.llm.repetition import WINDOW, RepetitionGuard, has_loop

EN = "The answer does not cite its source, so the claim cannot be verified. "
ZH = "答案没有引用来源，因此无法核实这一说法。"
JA = "回答は出典を示していないため、主張を確認できません。"
PARTS = (EN, "Please add a citation. ", "It is unclear what is meant here. ", "The draft should be shorter. ")

LOOPS = {
    "sentence en": EN * 20,
    "sentence zh": ZH * 20,
    "sentence ja": JA * 20,
    "word": "very " * 200,
    "character": "は" * 300,
    "blank lines": "\n" * 4000,
    "paragraph": (EN + "Please add one. " + ZH + JA) * 12,
    "JSON string": '{"passed": false, "suggestions": ["' + f"{EN}\\n" * 20 + '"], "confidence": 0.9}',
    "JSON list": '{"passed": false, "suggestions": [' + ", ".join([f'"{ZH}"'] * 30) + "]}",
    "JSON objects": "[" + '{"name": "evidence", "passed": false}, ' * 30,
    "counter en": "".join(f"{number}. {EN}\n" for number in range(60)),
    "counter zh": "".join(f"{number}、{ZH}\n" for number in range(60)),
    "after a start": "Staff have 24 days of leave. [1] They may carry over five. [2] " + EN * 15,
    "before an end": EN * 15 + "Staff have 24 days of leave. [1] They may carry over five. [2] " * 3,
    "shuffled": "".join(random.Random(1).choice(PARTS) for _ in range(200)),
}
ROW = random.Random(2)
TEXTS = {
    "empty": "",
    "laughter": "「" + "ははは" * 20 + "」と笑った。",
    "refrain": "Row, row, row your boat,\nGently down the stream,\nMerrily, merrily, merrily,\nLife is a dream.\n\n"
    * 3,
    "rule": "Leave\n" + "=" * 200 + "\nText\n" + "-" * 500,
    "numbers": "| a | b |\n|---|---|\n" + "".join(f"| {ROW.random():.3f} | {ROW.random():.3f} |\n" for _ in range(200)),
    "yes and no": "".join(f"| {ROW.randrange(9**9):x} | {ROW.choice(['yes', 'no'])} | no |\n" for _ in range(200)),
    "orders": "".join(
        f"- Order {1000 + number}: sent on 2026-01-{number % 28 + 1:02} to {ROW.choice(['Dublin', '上海', '大阪'])}\n"
        for number in range(80)
    ),
    "steps": "".join(f"Step {number}: done\n" for number in range(1, 40)),
    "zeros": "matrix = [\n" + "    [0, 0, 0, 0, 0, 0, 0, 0],\n" * 16 + "]",
    "code": "".join(f"    assert read({number}) == {number * number}\n" for number in range(23)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loop_is_found(name: str) -> None:
    assert has_loop(LOOPS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_ordinary_text_is_no_loop(name: str) -> None:
    assert not has_loop(TEXTS[name])


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("size", [1, 7, 500])
def test_loop_is_found_while_it_is_streamed(name: str, size: int) -> None:
    """Long before its end."""
    text, guard = LOOPS[name] * 3, RepetitionGuard()
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    read = len([*islice(iter(lambda: guard.is_looping(next(pieces, "")), True), len(text))])
    assert read * size < 4000


@given(st.lists(st.text(max_size=200), max_size=30))
def test_pieces_do_not_change_the_result(pieces: list[str]) -> None:
    text, guard = "".join(pieces), RepetitionGuard()
    found = [guard.is_looping(piece) for piece in pieces]
    assert any(found) == RepetitionGuard().is_looping(text)


@given(st.text(st.characters(categories=["L"]), min_size=1, max_size=300), st.text(max_size=1000))
def test_any_repeated_unit_is_found(unit: str, before: str) -> None:
    assert has_loop(before + unit * (max(8, 700 // len(unit)) + 128 // len(unit) + 1))


@given(st.text(max_size=500), st.integers(1, 3))
def test_few_repetitions_are_allowed(unit: str, times: int) -> None:
    """Unless the unit is a loop itself."""
    assert has_loop(unit) or not has_loop(unit * times) or len(set(unit)) < len(unit) // 4


@given(st.lists(st.text(st.characters(categories=["L", "Nd"]), min_size=12, max_size=30), min_size=60, unique=True))
def test_lists_of_different_items_are_no_loop(items: list[str]) -> None:
    assert not has_loop("".join(f"- The key {item} opens the locker of its owner.\n" for item in items))


def test_documents_of_this_project_are_no_loops() -> None:
    """In three languages, with tables, lists and code."""
    root = Path(__file__).parents[2]
    files = [*(root / "docs").rglob("*.md"), *(root / "src/veracity/handbook").rglob("*.md"), *root.glob("*.md")]
    assert len(files) > 20
    assert [path.name for path in files if has_loop(path.read_text("utf-8"))] == []


def test_long_text_takes_little_memory() -> None:
    guard = RepetitionGuard()
    for number in range(200):
        assert not guard.is_looping("".join(f"{number * 1000 + step:x} " for step in range(1000)))
    assert len(guard._tail) <= WINDOW


def test_lone_surrogates_and_odd_characters_are_read() -> None:
    assert not has_loop(re.sub("x", "\ud83d", "axbxc" * 40))
