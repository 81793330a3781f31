"""Pages that the teacher reads, and its labels as targets of the reader. Training itself needs PyTorch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from training.corpus import Unit, Window
from training.labels import Labels, save_labels
from training.reader_lists import TRUST, Packer, build_written, make_batch, texts_of
from training.teacher_pages import IGNORED, NEAR_GENERATED, Asked, Page, Pages, Texts, batches_of, collate
from training.written import Written

GONE = 99  # a unit that no window has


class OneTokenPerWord:
    """A tokenizer with a number for each word that it has seen."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.numbers.setdefault(word, len(self.numbers)) for word in self._words(text)] for text in texts]

    def words(self, ids: Sequence[int]) -> list[str]:
        names = {number: word for word, number in self.numbers.items()}
        return [names[number] for number in ids]

    @staticmethod
    def _words(text: str) -> list[str]:
        return [text] if text == "\n" else text.split()


def window(*statements: str, use: str = "train", head: str = "Leave") -> Window:
    units = (Unit("heading", "Days", None), *(Unit("prose", text, None) for text in statements))
    return Window("repo:leave.md", "en", use, head, units)


WINDOWS = [
    window("Staff get 25 days.", "Ask your lead."),
    *(window(f"Page {n} is about tea {n}.", "Tea is warm.") for n in range(6)),
]
WRITTEN = [Written(0, (1,), "How many days?"), Written(0, (), "How many hours?"), Written(1, (1,), "What is page 0?")]
NEAR = {0: [1, 2, 3, 4, 5, 6], 1: [1, 2, 3, 4, 5, 6], 2: [0, 2, 3, 4, 5, 6]}


@pytest.fixture
def model() -> OneTokenPerWord:
    return OneTokenPerWord()


@pytest.fixture
def texts(model: OneTokenPerWord) -> Texts:
    return Texts(WINDOWS, WRITTEN, range(len(WINDOWS)), model)


def test_a_mark_follows_each_statement_and_questions_follow_the_window(texts: Texts, model: OneTokenPerWord) -> None:
    row = texts.row(Page(0, (Asked(0, (1,)), Asked(1))))
    assert row.units == [1, 2]
    assert [model.words(row.ids[mark - 1 : mark + 1]) for mark in row.marks] == [["days.", "\n"], ["lead.", "\n"]]
    assert [one.answers for one in row.asked] == [(0,), ()]
    assert [model.words(row.ids)[end] for end in row.ends] == ["<|im_end|>", "<|im_end|>"]


def test_without_its_unit_a_question_has_no_answer(texts: Texts) -> None:
    batch = collate([texts.row(Page(0, (Asked(0, (1,)),), removed=(1,)))])
    assert batch.target.tolist() == [[[1.0, 0.0]]]


def test_a_question_whose_unit_is_cut_off_is_left_out(texts: Texts) -> None:
    assert texts.row(Page(0, (Asked(0, (GONE,)), Asked(1)))).asked == [Asked(1)]


def test_each_question_continues_the_positions_of_the_window(texts: Texts) -> None:
    row = texts.row(Page(0, (Asked(0, (1,)), Asked(1))))
    batch = collate([row])
    for number in (1, 2):
        assert batch.positions[0][batch.segments[0] == number].tolist() == [row.length + place for place in range(4)]
    assert batch.target.sum(-1).tolist() == [[1.0, 1.0]]


def test_a_question_is_written_after_the_start_of_its_unit(texts: Texts, model: OneTokenPerWord) -> None:
    row = texts.row(Page(0, (Asked(1),), write=(Asked(0, (1,)), Asked(1))))
    batch = collate([row])
    wanted = batch.following[0] != IGNORED
    assert model.words(batch.following[0][wanted]) == [
        *("How", "many", "days?", "<|im_end|>"),
        *("How", "many", "hours?", "<|im_end|>"),
    ]
    start = row.segments[0]
    assert model.words(row.ids[start : start + 6]) == ["<|im_start|>", "Staff", "get", "25", "days.", "\n"]
    assert all(row.ids[place + 1] == token for place, token in row.following.items())


def test_only_written_questions_train_the_teacher_and_all_get_labels() -> None:
    generated = Written(2, (1,), "What is tea?", is_generated=True)
    pages = Pages(WINDOWS, [*WRITTEN, generated], {**NEAR, 3: [0, 1, 3, 4, 5, 6]})
    source = pages.training(random.Random(1))
    trained = [next(source) for _ in range(20)]
    assert {one.question for page in trained for one in page.asked} == {0, 1, 2}
    labelled = [(one.question, page.window) for page in pages.to_label() for one in page.asked]
    assert sum(question == 3 for question, _ in labelled) == 1 + NEAR_GENERATED
    assert len(labelled) == len(set(labelled))


def test_batches_contain_every_row_once(texts: Texts) -> None:
    rows = [texts.row(Page(number % 7, (Asked(number % 3),))) for number in range(50)]
    found = [row for batch in batches_of(iter(rows), 100, sorted_together=20) for row in batch]
    assert sorted(map(id, found)) == sorted(map(id, rows))


def make_labels(folder: Path, odds: dict[tuple[int, int], dict[int, float]]) -> Labels:
    file = folder / "labels.npz"
    save_labels([(*pair, list(units), list(units.values())) for pair, units in odds.items()], file, len(WRITTEN))
    return Labels(file, len(WRITTEN))


def test_labels_are_read_as_they_were_saved(tmp_path: Path) -> None:
    labels = make_labels(tmp_path, {(0, 0): {1: 2.5, 2: -4.0}, (0, 3): {1: -7.0}})
    assert labels.of(0, 0) == {1: 2.5, 2: -4.0}
    assert labels.of(0, 3) == {1: -7.0}
    assert labels.of(0, 5) == {}
    assert labels.has(0, 3) and not labels.has(3, 0)


def packed_target(tmp_path: Path, written: Sequence[Written], kind: str) -> list[float]:
    """The target of each unit of the own window of the first question, and the sum of all others."""
    everything = {(0, number): {1: 0.0, 2: -40.0} if number == 0 else {1: -40.0, 2: -40.0} for number in range(6)}
    labels = make_labels(tmp_path, everything)
    groups = build_written(written, NEAR, WINDOWS, labels)
    ids = {text: [5, 6] for text in texts_of(groups, WINDOWS)}
    packed = Packer(WINDOWS, ids, random.Random(1), labels).pack(groups[0], vary=False, kind=kind)
    assert packed is not None
    gold = make_batch([packed]).gold
    return [*gold[0].round(3).tolist(), round(float(gold[1:].sum()), 3)]


def test_the_target_is_part_the_written_answer_and_part_the_teachers(tmp_path: Path) -> None:
    # The odds of unit 1 are even: the teacher gives it one half.
    assert packed_target(tmp_path, WRITTEN[:1], "own") == pytest.approx([1 - TRUST / 2, 0.0, 0.0], abs=1e-3)


def test_the_share_of_a_unit_that_is_left_out_goes_to_none(tmp_path: Path) -> None:
    assert packed_target(tmp_path, WRITTEN[:1], "removed") == pytest.approx([0.0, 0.0, 0.0], abs=1e-3)


def test_the_answer_of_a_generated_question_is_the_teachers(tmp_path: Path) -> None:
    generated = [Written(0, (2,), "How many days?", is_generated=True)]
    assert packed_target(tmp_path, generated, "own") == pytest.approx([0.5, 0.0, 0.0], abs=1e-3)


def test_a_generated_question_without_labels_is_not_used() -> None:
    generated = [Written(0, (1,), "How many days?", is_generated=True)]
    assert build_written(generated, NEAR, WINDOWS) == []


def test_generated_questions_do_not_use_held_out_windows(tmp_path: Path) -> None:
    windows = [*WINDOWS[:-2], window("Held out.", "Also this.", use="held"), WINDOWS[-1]]
    labels = make_labels(tmp_path, {(question, number): {1: 0.5} for question in (0, 1) for number in range(7)})
    generated = [Written(number, (1,), "What is it?", is_generated=True) for number in (0, 5)]
    [group] = build_written(generated, {0: [5, 1, 2, 3, 6], 1: [1, 2, 3, 4, 6]}, windows, labels)
    assert group.window == 0
    assert list(group.others) == [1, 2, 3, 6]


def test_a_question_whose_answer_has_no_label_keeps_the_written_one(tmp_path: Path) -> None:
    cut_off = {(0, number): {1: -9.0} for number in range(6)}
    [group] = build_written([Written(0, (2,), "Whom do I ask?")], NEAR, WINDOWS, make_labels(tmp_path, cut_off))
    assert group.number is None


def test_labels_about_other_questions_are_refused(tmp_path: Path) -> None:
    make_labels(tmp_path, {(0, 0): {1: 0.5}})
    with pytest.raises(SystemExit, match="is about 3 questions, not 4"):
        Labels(tmp_path / "labels.npz", 4)
