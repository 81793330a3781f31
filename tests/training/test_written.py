"""Questions that were written for this project, and the lists that the reader learns from them."""

import random
from pathlib import Path

from training.corpus import Unit, Window
from training.reader_lists import Packer, build_written, make_batch, texts_of
from training.written import Written, add, read_written

DOCUMENT = "kubernetes/website:content/en/docs/leave.md"


def window(days: int, use: str = "train") -> Window:
    units = (
        Unit("heading", "## Leave", None),
        Unit("prose", f"Employees have {days} days of annual leave.", None),
        Unit("prose", f"A year of work gives {days} days off.", None),
        Unit("item", "Ask your team first.", None),
    )
    return Window(f"{DOCUMENT}{days}", "en", use, "Handbook", units)


def test_questions_are_stored_by_the_text_of_their_window(tmp_path: Path) -> None:
    windows = [window(days) for days in (20, 25, 30)]
    lines = ["1\t1,2\tHow much vacation do I get?", "2\t-\tHow many days may I carry over?"]
    file = tmp_path / "written.tsv.xz"
    assert add(windows, lines, file) == (2, [])
    assert add(windows, lines[:1], file) == (0, [])  # it is there already
    assert read_written(windows[::-1], file) == [
        Written(1, (1, 2), "How much vacation do I get?"),
        Written(0, (), "How many days may I carry over?"),
    ]
    assert read_written([window(20), window(25, use="excluded")], file) == []


def test_wrong_lines_are_named(tmp_path: Path) -> None:
    lines = ["0\t0\tWhat is the heading?", "7\t1\tHow many days?", "0\t1", "0\t1\tHow many days?"]
    count, faults = add([window(25)], lines, tmp_path / "written.tsv.xz")
    assert count == 1
    assert [fault.partition(": ")[2] for fault in faults] == [
        "window 0 has no statement 0.",
        "no window 7.",
        "not WINDOW<TAB>UNITS<TAB>QUESTION.",
    ]


def test_another_unit_that_answers_counts_neither_as_right_nor_as_wrong() -> None:
    windows = [window(days) for days in range(20, 28)]
    written = [Written(0, (1, 2), "How much vacation do I get?"), Written(0, (), "How many days may I carry over?")]
    near = {0: list(range(1, 8)), 1: list(range(1, 8))}
    answered, missed = build_written(written, near, windows)[:2]
    assert (answered.gold, answered.also, missed.gold) == (1, (2,), -1)
    packer = Packer(windows, {key: [200] for key in texts_of([answered, missed], windows)}, random.Random(1))
    own, removed = (packer.pack(answered, vary=False, kind=kind) for kind in ("own", "removed"))
    assert own and removed
    assert removed.rows[0].units == [3]  # without both
    batch = make_batch([own])
    assert batch.gold[0].tolist() == [1, 0, 0]
    assert batch.counts[0].tolist() == [True, False, True]


def test_held_windows_are_no_neighbours_of_those_to_train_with() -> None:
    windows = [window(days, "held" if days > 26 else "train") for days in range(20, 28)]
    [group] = build_written([Written(0, (1,), "How much vacation do I get?")], {0: list(range(1, 8))}, windows)[:1]
    assert list(group.others) == list(range(1, 7))
