"""What the teacher reads: a window with a mark after each statement, then questions about it, to answer or to write.

Each question sees the window and itself, and its positions follow those of the window: so one reading of the window
serves all its questions.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from training.corpus import STATEMENTS, Window
from training.written import Written

NEAR, NEAR_GENERATED = 5, 3  # windows besides a question's own that the teacher labels
MOST_ASKED = 14  # questions about a window in one row of training
MOST_LABELLED = 40
MOST_WRITTEN = 3  # questions in one row of training that the teacher learns to write
UNIT_START = 12  # tokens of the unit that a question to be written is about
REMOVED = 0.25  # share of the rows without a unit that answers
FOREIGN_WEIGHT = 0.35  # of questions about other windows: nobody has checked that this one does not answer
LONGEST_HEAD, LONGEST_UNIT = 120, 420  # characters
LONGEST_WINDOW, LONGEST_QUESTION = 560, 48  # tokens
NO_SEGMENT = -1  # of padding
IGNORED = -100  # token that is not to be predicted


class Asked(NamedTuple):
    question: int
    answers: tuple[int, ...] = ()  # units of the window
    weight: float = 1.0


class Page(NamedTuple):
    window: int
    asked: tuple[Asked, ...]
    removed: tuple[int, ...] = ()
    write: tuple[Asked, ...] = ()


class Row(NamedTuple):
    ids: list[int]
    window: int
    length: int  # of the window's part
    marks: list[int]  # places of the marks of statements
    units: list[int]  # their numbers
    asked: list[Asked]  # answers are indices into marks
    ends: list[int]  # places of the last token of each question
    segments: list[int]  # where each question ends, first those to answer
    following: dict[int, int]  # token that is to be predicted at a place


class Batch(NamedTuple):
    ids: np.ndarray
    positions: np.ndarray
    segments: np.ndarray  # 0: the window, then the number of the question
    marks: np.ndarray  # [row, unit]
    has_unit: np.ndarray
    ends: np.ndarray  # [row, question]
    target: np.ndarray  # [row, question, none and units]
    weight: np.ndarray  # [row, question], 0 for padding
    predicted: np.ndarray  # [row, token]: places
    following: np.ndarray  # tokens to predict there


class Tokenizer(Protocol):
    def ids(self, texts: Sequence[str]) -> list[list[int]]: ...


class Texts:
    """Tokens of windows and questions."""

    def __init__(
        self, windows: Sequence[Window], written: Sequence[Written], numbers: Sequence[int], model: Tokenizer
    ) -> None:
        self.windows = windows
        marks = ("\n", "<|im_start|>", "<|im_end|>")
        self.newline, self.start, self.end = (model.ids([text])[0][0] for text in marks)
        self.questions = [ids[:LONGEST_QUESTION] for ids in model.ids([one.text for one in written])]
        texts = [text for number in numbers for text in _parts(windows[number])]
        tokens = iter(model.ids(texts))
        self.parts = {number: [next(tokens) for _ in _parts(windows[number])] for number in numbers}

    def prefix(self, window: int, removed: Sequence[int] = ()) -> tuple[list[int], dict[int, int]]:
        """The window's tokens, and the mark of each statement."""
        head, *units = self.parts[window]
        ids = [*head, self.newline]
        marks = {}
        for number, unit in enumerate(units):
            if number in removed or len(ids) + len(unit) >= LONGEST_WINDOW:
                continue
            ids += [*unit, self.newline]
            if self.windows[window].units[number].kind in STATEMENTS:
                marks[number] = len(ids) - 1
        return ids, marks

    def prompt(self, window: int, unit: int | None) -> list[int]:
        """To write a question that the unit answers, or one that the window seems to answer and does not."""
        start = [] if unit is None else self.parts[window][1 + unit][:UNIT_START]
        return [self.start, *start, self.newline]

    def row(self, page: Page) -> Row:
        ids, places = self.prefix(page.window, page.removed)
        numbers = list(places)
        length, asked, ends = len(ids), [], []
        for one in page.asked:
            answers = tuple(numbers.index(unit) for unit in one.answers if unit in numbers)
            if one.answers and not answers and not set(one.answers) & set(page.removed):
                continue  # cut off
            ids += [*self.questions[one.question], self.end]
            ends.append(len(ids) - 1)
            asked.append(one._replace(answers=answers))
        segments = [end + 1 for end in ends]
        following: dict[int, int] = {}
        for one in page.write:
            ids += self.prompt(page.window, one.answers[0] if one.answers else None)
            written = [*self.questions[one.question], self.end]
            following |= {len(ids) - 1 + place: token for place, token in enumerate(written)}
            ids += written
            segments.append(len(ids))
        return Row(ids, page.window, length, list(places.values()), numbers, asked, ends, segments, following)


def _parts(window: Window) -> list[str]:
    titles = "# " + window.head[-LONGEST_HEAD:]
    return [titles, *(("# " if unit.kind == "heading" else "") + unit.text[:LONGEST_UNIT] for unit in window.units)]


class Pages:
    """The pages of training, of the held-out documents, and those to label."""

    def __init__(self, windows: Sequence[Window], written: Sequence[Written], near: dict[int, list[int]]) -> None:
        self.windows, self.written = windows, written
        self.own: defaultdict[int, list[int]] = defaultdict(list)
        self.foreign: defaultdict[int, list[int]] = defaultdict(list)
        for number, one in enumerate(written):
            self.own[one.window].append(number)
            for window in near.get(number, ())[: NEAR_GENERATED if one.is_generated else NEAR]:
                self.foreign[window].append(number)

    @property
    def numbers(self) -> list[int]:
        """Of the windows that anything is asked about."""
        return sorted({*self.own, *self.foreign})

    def training(self, chance: random.Random) -> Iterator[Page]:
        """Without end; each window that has questions once in an epoch."""
        written = {one.window for one in self.written if not one.is_generated}
        numbers = [number for number in sorted(written) if self.windows[number].use == "train"]
        while True:
            for number in chance.sample(numbers, len(numbers)):
                own = [
                    Asked(question, self.written[question].units)
                    for question in self.own[number]
                    if not self.written[question].is_generated
                ]
                chance.shuffle(own)
                foreign = [
                    Asked(question, (), FOREIGN_WEIGHT)
                    for question in self.foreign[number]
                    if not self.written[question].is_generated
                    and self.windows[self.written[question].window].use == "train"
                    and not self._answers(question) & {unit.text for unit in self.windows[number].units}
                ]
                room = max(0, MOST_ASKED - len(own))
                chosen = chance.sample(foreign, min(room, len(foreign)))
                removed = self._draw_removed(own, chance)
                write = () if removed else tuple(own[:MOST_WRITTEN])
                yield Page(number, (*own[:MOST_ASKED], *chosen), removed, write)

    def _draw_removed(self, own: Sequence[Asked], chance: random.Random) -> tuple[int, ...]:
        answered = [one.answers for one in own if one.answers]
        return chance.choice(answered) if answered and chance.random() < REMOVED else ()

    def _answers(self, question: int) -> set[str]:
        one = self.written[question]
        return {self.windows[one.window].units[unit].text for unit in one.units}

    def held(self, most: int) -> list[Page]:
        numbers = [number for number in self.own if self.windows[number].use == "held"]
        return [
            Page(number, tuple(Asked(question, self.written[question].units) for question in self.own[number]))
            for number in random.Random(1).sample(numbers, min(most, len(numbers)))
        ]

    def held_removed(self, most: int) -> list[Page]:
        """Each question on its own, without the units that answer it."""
        return [Page(page.window, (one,), one.answers) for page in self.held(most) for one in page.asked if one.answers]

    def to_label(self) -> Iterator[Page]:
        numbers = self.numbers
        for number in random.Random(2).sample(numbers, len(numbers)):
            asked = [Asked(question) for question in (*self.own.get(number, ()), *self.foreign.get(number, ()))]
            for start in range(0, len(asked), MOST_LABELLED):
                yield Page(number, tuple(asked[start : start + MOST_LABELLED]))


def batches_of(rows: Iterator[Row], tokens: int, sorted_together: int = 400) -> Iterator[list[Row]]:
    """Rows of similar length, at most `tokens` tokens with padding."""
    while True:
        group = list(islice(rows, sorted_together))
        if not group:
            return
        found: list[list[Row]] = [[]]
        for row in sorted((row for row in group if row.asked and row.marks), key=lambda row: len(row.ids)):
            if found[-1] and (len(found[-1]) + 1) * _padded(len(row.ids)) > tokens:
                found.append([])
            found[-1].append(row)
        yield from random.Random(len(group)).sample(found, len(found)) if found[0] else []


def _padded(length: int) -> int:
    return -(-length // 16) * 16


def collate(rows: Sequence[Row]) -> Batch:
    width = _padded(max(len(row.ids) for row in rows))
    units, questions = max(len(row.marks) for row in rows), max(len(row.ends) for row in rows)
    shape = len(rows), width
    ids, positions = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    segments = np.full(shape, NO_SEGMENT, np.int64)
    marks, has_unit = np.zeros((len(rows), units), np.int64), np.zeros((len(rows), units), bool)
    ends, weight = np.zeros((len(rows), questions), np.int64), np.zeros((len(rows), questions), np.float32)
    target = np.zeros((len(rows), questions, 1 + units), np.float32)
    tokens = max([1, *(len(row.following) for row in rows)])
    predicted = np.zeros((len(rows), tokens), np.int64)
    following = np.full((len(rows), tokens), IGNORED, np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = row.ids
        positions[number, : row.length], segments[number, : row.length] = np.arange(row.length), 0
        start = row.length
        for place, end in enumerate(row.segments):
            positions[number, start:end] = row.length + np.arange(end - start)
            segments[number, start:end] = place + 1
            start = end
        predicted[number, : len(row.following)] = list(row.following)
        following[number, : len(row.following)] = list(row.following.values())
        marks[number, : len(row.marks)], has_unit[number, : len(row.marks)] = row.marks, True
        ends[number, : len(row.ends)] = row.ends
        for place, one in enumerate(row.asked):
            weight[number, place] = one.weight
            places = [1 + answer for answer in one.answers] or [0]
            target[number, place, places] = 1 / len(places)
    return Batch(ids, positions, segments, marks, has_unit, ends, target, weight, predicted, following)
