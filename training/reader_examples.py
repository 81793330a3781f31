"""Examples for the reader: a question, a window, whether it answers, and which unit does.

The language model's judgement (the margin of yes over no) becomes a probability by logistic regression for each
language: its own questions about a window against questions about other documents.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from training.batches import Item, log
from training.corpus import STATEMENTS, Generated, Question, Window
from training.tokens import SEPARATOR, START

LANGUAGES = ("en", "zh", "ja")
# Word pieces that MiniLM does not use, which mark the start of units.
UNIT_MARK, HEADING_MARK, CODE_MARK, PATH_MARK = 1, 2, 3, 4
LONGEST_INPUT, LONGEST_QUESTION, LONGEST_HEAD, LONGEST_UNIT = 448, 64, 32, 160
UNIT_CHARACTERS = 600
IS_QUESTION = re.compile(
    r"[?？]\s*$|^(?:how|what|when|why|who|where|can|do|is|are|should)\b|か[。？?]?$"
    r"|吗|什么|如何|怎么|哪|多少|为什么|是否|几",
    re.IGNORECASE,
)
# The language model at times repeats its instructions.
ABOUT_THE_TASK = re.compile(
    r"\bpassage\b|sentence [a-z]\b|文章中|本文|句子|この文章|文[A-Z]|書いてください|質問を|请用|请写", re.IGNORECASE
)


@dataclass(frozen=True)
class Variant:
    """Readers trained differently err differently, which makes them better teachers together."""

    soft: bool = True  # targets from the language model's judgement, not only 0 and 1
    removed: bool = True  # windows without the unit that answers
    neighbours: bool = False  # more pairs of a question and a neighbouring window, for teachers to judge


VARIANTS = {"base": Variant(), "hard": Variant(soft=False), "nodel": Variant(removed=False)}


@dataclass(frozen=True)
class Example:
    question: str
    window: int
    kind: str
    target: float  # probability that the window answers
    weight: float
    gold: int = -1  # the unit that answers
    removed: int = -1  # a unit to leave out
    heading: int = -1  # a heading that is the question: the units after it answer


class Calibration:
    """From margins to probabilities."""

    def __init__(self, generated: Sequence[Generated], windows: Sequence[Window]) -> None:
        self.parameters = {language: self._fit(language, generated, windows) for language in LANGUAGES}

    def probability(self, margin: float, language: str) -> float:
        slope, offset = self.parameters[language]
        return sigmoid(slope * margin + offset)

    def _fit(self, language: str, generated: Sequence[Generated], windows: Sequence[Window]) -> tuple[float, float]:
        questions = {row.window: row.questions for row in generated}
        own, far = [], []
        for row in generated:
            own += [asked.margin for asked in row.questions if asked.language == language and asked.unit >= 0]
            far += [
                other.margin
                for other in row.others
                if other.window in questions
                and windows[other.window].document != windows[row.window].document
                and questions[other.window][other.number].language == language
            ]
        margins = np.array(own + far)
        labels = np.array([1.0] * len(own) + [0.0] * len(far))
        weights = np.where(labels == 1, 0.5 / max(1, len(own)), 0.5 / max(1, len(far)))
        slope, offset = 1.0, 0.0
        for _ in range(300):
            error = (1 / (1 + np.exp(-(slope * margins + offset))) - labels) * weights
            slope -= 4 * float((error * margins).sum())
            offset -= 4 * float(error.sum())
        log("teacher", language, f"a {slope:.2f} b {offset:.2f} own {len(own)} far {len(far)}")
        return slope, offset


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def is_usable(question: str) -> bool:
    return 4 <= len(question) <= 160 and bool(IS_QUESTION.search(question)) and not ABOUT_THE_TASK.search(question)


class ExampleBuilder:
    def __init__(
        self, generated: Sequence[Generated], windows: Sequence[Window], variant: Variant, chance: random.Random
    ) -> None:
        self.windows, self.variant, self.chance = windows, variant, chance
        self.generated = [row for row in generated if windows[row.window].use != "excluded"]
        self.questions = {row.window: row.questions for row in self.generated}
        self.calibration = Calibration(self.generated, windows)
        self.left_out: Counter[str] = Counter()

    def build(self) -> tuple[list[Example], list[Example]]:
        """Examples to train with, and those of documents that are held out."""
        training: list[Example] = []
        held: list[Example] = []
        for row in self.generated:
            target = held if self.windows[row.window].use == "held" else training
            for question in row.questions:
                target += self._own(question, row.window)
            for other in row.others:
                if other.window in self.questions and other.window != row.window:
                    target += self._other(
                        self.questions[other.window][other.number], other.window, row.window, other.margin
                    )
        training += self._headings()
        if self.variant.neighbours:
            training += self._neighbours(training)
        counts = self.left_out + Counter(example.kind for example in training)
        log("examples", len(training), "held", len(held), dict(counts))
        return training, held

    def _own(self, question: Question, window: int) -> list[Example]:
        """A question that was written about the window."""
        if not is_usable(question.text):
            self.left_out["bad question"] += 1
            return []
        soft = self.variant.soft
        probability = self.calibration.probability(question.margin, question.language)
        if question.unit < 0:  # should have no answer, but often has: little weight
            return [Example(question.text, window, "not", 0.5 * probability if soft else 0.0, 0.15)]
        if probability < 0.12:
            self.left_out["doubtful"] += 1
            return []
        kind = "own" if question.language == self.windows[window].language else "cross"
        target = 0.35 + 0.65 * probability if soft else 1.0
        own = Example(question.text, window, kind, target, 1.0, gold=question.unit)
        removable = self.variant.removed and probability > 0.4 and len(self.windows[window].units) > 2
        if removable and self.chance.random() < 0.7:
            return [own, Example(question.text, window, "removed", 0.06, 0.8, removed=question.unit)]
        return [own]

    def _other(self, question: Question, origin: int, window: int, margin: float) -> list[Example]:
        """A question that was written about another window."""
        if not is_usable(question.text):
            return []
        soft = self.variant.soft
        probability = self.calibration.probability(margin, question.language)
        texts = [unit.text for unit in self.windows[window].units]
        answer = self.windows[origin].units[question.unit].text if question.unit >= 0 else None
        if answer and answer in texts:  # windows overlap
            target = 0.6 + 0.4 * probability
            return [Example(question.text, window, "again", target, 1.0, gold=texts.index(answer))]
        if self.windows[origin].document == self.windows[window].document:
            target = 0.4 * probability if soft else 0.0
            return [Example(question.text, window, "near", target, 1 - 0.6 * probability)]
        return [Example(question.text, window, "far", 0.05 * probability, 0.5)]

    def _headings(self) -> list[Example]:
        """Questions that people wrote as headings: the text below answers, the windows beside it do not."""
        found = []
        for number, window in enumerate(self.windows):
            if window.use != "train":
                continue
            asked = [
                (place, unit.text.strip("#* "))
                for place, unit in enumerate(window.units)
                if unit.kind == "heading" and re.search(r"[?？]\s*$", unit.text.strip("#* "))
            ]
            if not asked or not 8 < len(asked[0][1]) < 120:
                continue
            place, question = asked[0]
            if _has_statement_below(window, place):
                found.append(Example(question, number, "heading", 1.0, 0.7, removed=place, heading=place))
            for beside in (number - 1, number + 1):
                if self._is_same_document(number, beside) and not _mentions(self.windows[beside], question):
                    found.append(Example(question, beside, "heading-near", 0.05, 0.6))
        return found

    def _neighbours(self, examples: Sequence[Example]) -> list[Example]:
        found = []
        for example in examples:
            if example.kind in ("own", "cross"):
                for distance in self.chance.sample((-2, -1, 1, 2), 2):
                    beside = example.window + distance
                    if self._is_same_document(example.window, beside):
                        found.append(Example(example.question, beside, "extra", 0.3, 1.0))
        return found

    def _is_same_document(self, window: int, other: int) -> bool:
        return 0 <= other < len(self.windows) and self.windows[other].document == self.windows[window].document


def _has_statement_below(window: Window, heading: int) -> bool:
    for unit in window.units[heading + 1 :]:
        if unit.kind == "heading":
            return False
        if unit.kind in STATEMENTS:
            return True
    return False


def _mentions(window: Window, question: str) -> bool:
    return question in window.head or any(question in unit.text for unit in window.units)


@dataclass(frozen=True)
class Row:
    """An example as tokens."""

    item: Item
    places: list[int]  # of the markers of units that can answer
    units: list[int]  # their numbers in the window
    gold: list[int]  # indexes into `places`
    target: float
    weight: float
    soft_gold: np.ndarray | None = None  # a probability for each place, from teachers


def pack(
    question: Sequence[int], head: Sequence[int], units: Sequence[tuple[str, Sequence[int]]]
) -> tuple[Item, list[int]]:
    """[CLS] question [SEP] path, and marked units [SEP]; and the places of their markers, -1 where one is cut off."""
    ids = [START, *question[:LONGEST_QUESTION], SEPARATOR]
    second_segment = len(ids)
    if head:
        ids += [PATH_MARK, *head[:LONGEST_HEAD]]
    places = []
    for kind, text in units:
        if len(ids) + 2 >= LONGEST_INPUT:
            places.append(-1)
            continue
        places.append(len(ids))
        ids.append(HEADING_MARK if kind == "heading" else CODE_MARK if kind == "code" else UNIT_MARK)
        ids += text[: min(LONGEST_UNIT, LONGEST_INPUT - 1 - len(ids))]
    return Item([*ids, SEPARATOR], second_segment), places


class Packer:
    """Makes rows. In training heads are left out and windows cut at random, so that the reader relies on neither."""

    def __init__(self, windows: Sequence[Window], ids: dict[str, list[int]], chance: random.Random) -> None:
        self.windows, self.ids, self.chance = windows, ids, chance

    def approximate_length(self, example: Example) -> int:
        """For sorting: without what is cut, left out or varied."""
        units = self.windows[example.window].units
        tokens = sum(len(self.ids[unit.text[:UNIT_CHARACTERS]]) + 1 for unit in units)
        return len(self.ids[example.question]) + tokens + 20

    def row(self, example: Example, *, vary: bool) -> Row:
        window = self.windows[example.window]
        kept = [number for number in range(len(window.units)) if number != example.removed]
        head = window.head
        if vary and self.chance.random() < 0.15:
            head = ""
        if example.heading >= 0:
            head = head.replace(example.question, "")
        elif vary and len(kept) > 4 and self.chance.random() < 0.25:
            kept = self._cut(kept, example.gold)
        row = self._pack(example, window, kept, head)
        lost = example.gold >= 0 and not row.gold
        return replace(row, weight=0.0) if lost else row

    def _cut(self, kept: list[int], gold: int) -> list[int]:
        start = self.chance.randrange(len(kept) // 2)
        end = self.chance.randrange(len(kept) // 2 + 1, len(kept) + 1)
        part = kept[start:end]
        return part if gold < 0 or gold in part else kept

    def _pack(self, example: Example, window: Window, kept: list[int], head: str) -> Row:
        units = [(window.units[number].kind, self.ids[window.units[number].text[:UNIT_CHARACTERS]]) for number in kept]
        item, places = pack(self.ids[example.question], self.ids.get(head, []), units)
        statements = [
            (number, place)
            for number, place in zip(kept, places, strict=True)
            if place > 0 and window.units[number].kind in STATEMENTS
        ]
        numbers = [number for number, _ in statements]
        if example.heading >= 0:
            gold = [index for index, number in enumerate(numbers) if number > example.heading][:3]
        else:
            gold = [index for index, number in enumerate(numbers) if number == example.gold]
        return Row(item, [place for _, place in statements], numbers, gold, example.target, example.weight)


def texts_of(examples: Sequence[Example], windows: Sequence[Window]) -> list[str]:
    """Every text that a packer may need, once."""
    texts = [example.question for example in examples]
    for window in windows:
        texts += [window.head, *(unit.text[:UNIT_CHARACTERS] for unit in window.units)]
    return list(dict.fromkeys(texts))
