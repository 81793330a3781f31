"""Lists that the reader learns from: a question, its own window and others, and which unit answers, if any."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from training.batches import Arrays, Item, collate, log
from training.corpus import STATEMENTS, Window
from training.labels import Labels
from training.tokens import SEPARATOR, START
from training.written import Written

# Word pieces that MiniLM does not use, which mark the start of units.
UNIT_MARK, HEADING_MARK, CODE_MARK, PATH_MARK = 1, 2, 3, 4
LONGEST_INPUT, LONGEST_QUESTION, LONGEST_HEAD, LONGEST_UNIT = 448, 64, 32, 160
UNIT_CHARACTERS = 600
WINDOWS = 6  # of a list
PARTS = 4  # of a batch, by length: less padding
REMOVED, ABSENT = 0.25, 0.12  # share of lists without the unit that answers, and without its window
UNSURE = 0.9  # weight of a list without an answer, since another window may answer after all
ALTERED, ALTERED_WEIGHT = 0.4, 0.5  # share of the questions with a number or name, and their weight
WRITTEN_WEIGHT, NEAR_MISS_WEIGHT, GENERATED_WEIGHT = 1.0, 0.8, 0.7
TRUST = 0.6  # in the teacher's labels, against the written answer; generated questions have only labels
SEED = 3
# A number, a Latin name inside a sentence, or a word in katakana.
NAME = re.compile(r"\d+|(?<=[^.!?\s] )[A-Z][A-Za-z]{2,}|(?<=[^\x00-\x7f])[A-Za-z][A-Za-z0-9.]{2,}|[ァ-ヴー]{3,}")


@dataclass(frozen=True)
class Group:
    """A question with its windows. `others` ends with a random one."""

    question: str
    window: int
    gold: int  # the unit that answers; -1: none does
    weight: float
    others: tuple[int, ...]
    is_removable: bool  # the unit that answers may be left out
    also: tuple[int, ...] = ()  # more units that answer
    number: int | None = None  # of the question, if the teacher has labelled it
    trust: float = TRUST


def build_written(
    written: Sequence[Written], near: dict[int, list[int]], windows: Sequence[Window], labels: Labels | None = None
) -> list[Group]:
    """Lists of questions that were written for this project, and of generated ones that the teacher labelled."""
    groups = []
    for number, one in enumerate(written):
        if one.is_generated:
            groups += _generated_group(number, one, near.get(number, ()), windows, labels) if labels else []
            continue
        answers = {windows[one.window].units[unit].text for unit in one.units}
        others = tuple(
            other
            for other in near.get(number, ())
            if windows[other].use in ("train", windows[one.window].use)
            and not any(unit.text in answers for unit in windows[other].units)  # windows overlap
        )
        if len(others) < WINDOWS - 2:
            continue
        labelled = [other for other in others[:-1] if labels and labels.has(number, other)]
        named = None
        if labels and len(labelled) >= 3 and labels.has_units(number, one.window, one.units):
            named, others = number, (*labelled, others[-1])
        if one.units:
            gold, *also = one.units
            is_removable = len(windows[one.window].units) > 2
            groups.append(Group(one.text, one.window, gold, WRITTEN_WEIGHT, others, is_removable, tuple(also), named))
        else:
            groups.append(Group(one.text, one.window, -1, NEAR_MISS_WEIGHT, others, is_removable=False, number=named))
    altered = list(alter(groups, windows, random.Random(SEED)))
    log("written lists", len(groups), "altered", len(altered))
    return groups + altered


def _generated_group(
    number: int, one: Written, near: Sequence[int], windows: Sequence[Window], labels: Labels
) -> list[Group]:
    """What answers is what the teacher says. Nothing about held-out windows, or without labels of enough windows."""
    odds = labels.of(number, one.window)
    *nearest, far = [other for other in near if windows[other].use == "train"] or [-1]
    labelled = [other for other in nearest if labels.has(number, other)]
    if windows[one.window].use != "train" or not odds or len(labelled) < 3 or far in labelled:
        return []
    best = max(odds, key=odds.__getitem__)
    gold = best if odds[best] > 0 else -1
    return [Group(one.text, one.window, gold, GENERATED_WEIGHT, (*labelled, far), gold >= 0, number=number, trust=1.0)]


def alter(groups: Sequence[Group], windows: Sequence[Window], chance: random.Random) -> Iterator[Group]:
    """Questions with a number or name of their window replaced by one of another question: nothing answers them."""
    names: dict[str, list[str]] = {}
    for group in groups:
        names.setdefault(windows[group.window].language, []).extend(NAME.findall(group.question)[:1])
    for group in groups:
        window = windows[group.window]
        found = [match for match in NAME.finditer(group.question) if match[0] in window.text]
        if group.gold < 0 or not found or chance.random() >= ALTERED:
            continue
        match = chance.choice(found)
        digits = "".join(chance.choices("123456789", k=len(match[0])))
        other = digits if match[0].isdigit() else chance.choice(names[window.language])
        if other not in window.text and not (other.isdigit() and not match[0].isdigit()):
            question = group.question[: match.start()] + other + group.question[match.end() :]
            weight = ALTERED_WEIGHT * group.weight
            yield Group(question, group.window, -1, weight, group.others, is_removable=False, trust=group.trust)


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


class Row(NamedTuple):
    """A question and a window as tokens."""

    item: Item
    places: list[int]  # of the markers of units that can answer
    units: list[int]  # their numbers in the window
    gold: int = -1  # index into `places`
    also: tuple[int, ...] = ()  # indices of more units that answer; without labels they do not count
    odds: tuple[float, ...] = ()  # of each unit against none, by the teacher's label


class PackedList(NamedTuple):
    rows: list[Row]
    weight: float
    trust: float = TRUST


class Packer:
    """Makes lists of rows. In training heads are left out and windows cut at random."""

    def __init__(
        self,
        windows: Sequence[Window],
        ids: dict[str, list[int]],
        chance: random.Random,
        labels: Labels | None = None,
    ) -> None:
        self.windows, self.ids, self.chance, self.labels = windows, ids, chance, labels

    def pack(self, group: Group, *, vary: bool, kind: str = "") -> PackedList | None:
        """`kind` is "own", "removed" or "absent", by default at random. None where the unit that answers is cut off."""
        kind = kind or self._draw_kind(group)
        rows, weight = [], group.weight
        if kind != "absent":
            removed = (group.gold, *group.also) if kind == "removed" else ()
            gold, also = (-1, ()) if removed else (group.gold, group.also)
            rows.append(self._row(group, group.window, removed, gold, vary, also))
            if gold >= 0 and rows[0].gold < 0:
                return None
        others = self._draw_others(group.others)[: WINDOWS - len(rows)]
        rows += [self._row(group, other, (), -1, vary) for other in others]
        if all(row.gold < 0 for row in rows):
            weight *= UNSURE
        return PackedList([row for row in rows if row.places], weight, group.trust)

    def _draw_kind(self, group: Group) -> str:
        drawn = self.chance.random()
        if group.gold < 0 or drawn >= REMOVED + ABSENT:
            return "own"
        return "removed" if group.is_removable and drawn < REMOVED else "absent"

    def _draw_others(self, others: Sequence[int]) -> list[int]:
        """The nearest three, two of the rest, and at times a random one."""
        *near, far = others
        drawn = near[:3] + self.chance.sample(near[3:], min(2, len(near[3:])))
        return [*drawn[:-1], far] if self.chance.random() < 0.3 else drawn

    def _row(
        self, group: Group, number: int, removed: Sequence[int], gold: int, vary: bool, also: Sequence[int] = ()
    ) -> Row:
        window = self.windows[number]
        kept = [place for place in range(len(window.units)) if place not in removed]
        if vary and len(kept) > 4 and self.chance.random() < 0.3:
            kept = self._cut(kept, gold)
        head = "" if vary and self.chance.random() < 0.2 else window.head
        units = [(window.units[place].kind, self.ids[window.units[place].text[:UNIT_CHARACTERS]]) for place in kept]
        item, places = pack(self.ids[group.question], self.ids[head] if head else [], units)
        found = [
            (unit, place)
            for unit, place in zip(kept, places, strict=True)
            if place > 0 and window.units[unit].kind in STATEMENTS
        ]
        numbers = [unit for unit, _ in found]
        at = numbers.index(gold) if gold in numbers else -1
        others = tuple(index for index, unit in enumerate(numbers) if unit in also)
        odds = self._odds(group, number, numbers)
        return Row(item, [place for _, place in found], numbers, at, also=others, odds=odds)

    def _odds(self, group: Group, window: int, units: Sequence[int]) -> tuple[float, ...]:
        """The odds of units that were left out go to "none". Empty where there is no label."""
        if self.labels is None or group.number is None:
            return ()
        odds = {unit: math.exp(value) for unit, value in self.labels.of(group.number, window).items()}
        none = 1 + sum(value for unit, value in odds.items() if unit not in units)
        return tuple(odds.get(unit, 0.0) / none for unit in units) if odds else ()

    def _cut(self, kept: list[int], gold: int) -> list[int]:
        start = self.chance.randrange(len(kept) // 2)
        end = self.chance.randrange(len(kept) // 2 + 1, len(kept) + 1)
        part = kept[start:end]
        return part if gold < 0 or gold in part else kept


class Batch(NamedTuple):
    """Rows of several lists, by length. `places`, `counts` and `gold` are [row, unit], padded."""

    parts: list[Arrays]  # of the rows, in order
    places: np.ndarray
    counts: np.ndarray
    gold: np.ndarray
    list_of: np.ndarray  # for each row
    weight: np.ndarray


def make_batch(lists: Sequence[PackedList]) -> Batch:
    placed = [(row, number) for number, packed in enumerate(lists) for row in packed.rows]
    placed.sort(key=lambda pair: len(pair[0].item.ids))
    rows = [row for row, _ in placed]
    width = max(len(row.places) for row in rows)
    places = np.zeros((len(rows), width), np.int64)
    counts, gold = np.zeros((len(rows), width), bool), np.zeros((len(rows), width), np.float32)
    for number, row in enumerate(rows):
        places[number, : len(row.places)] = row.places
        counts[number, : len(row.places)] = True
        if not row.odds:
            counts[number, list(row.also)] = False
        if row.gold >= 0:
            right = [row.gold, *row.also] if row.odds else [row.gold]
            gold[number, right] = 1 / len(right)
    list_of = np.array([number for _, number in placed])
    add_labels(gold, rows, list_of, np.array([packed.trust for packed in lists]))
    weight = np.array([packed.weight for packed in lists], np.float32)
    size = -(-len(rows) // PARTS)
    parts = [collate([row.item for row in rows[at : at + size]]) for at in range(0, len(rows), size)]
    return Batch(parts, places, counts, gold, list_of, weight)


def add_labels(gold: np.ndarray, rows: Sequence[Row], list_of: np.ndarray, trust: np.ndarray) -> None:
    """Moves the share `trust` of a labelled list's target to the teacher's distribution over its units and none."""
    odds = np.zeros_like(gold)
    for number, row in enumerate(rows):
        odds[number, : len(row.odds)] = row.odds
    total = np.bincount(list_of, odds.sum(1))
    labelled = (np.bincount(list_of, [bool(row.odds) for row in rows]) > 0)[list_of]
    share = trust[list_of][labelled, None]
    gold[labelled] = (1 - share) * gold[labelled] + share * (odds / (1 + total[list_of])[:, None])[labelled]


def endless_batches(groups: Sequence[Group], packer: Packer, tokens: int) -> Iterator[Batch]:
    """Yields batches of at most `tokens` tokens without end. Every epoch varies the lists differently."""
    while True:
        current: list[PackedList] = []
        used = 0
        for index in packer.chance.sample(range(len(groups)), len(groups)):
            packed = packer.pack(groups[index], vary=True)
            if packed is None or not packed.rows:
                continue
            size = len(packed.rows) * max(len(row.item.ids) for row in packed.rows)
            if current and used + size > tokens:
                yield make_batch(current)
                current, used = [], 0
            current.append(packed)
            used += size


def texts_of(groups: Sequence[Group], windows: Sequence[Window]) -> list[str]:
    """Every text that a packer may need, once."""
    numbers = {number for group in groups for number in (group.window, *group.others)}
    texts = [group.question for group in groups]
    for number in sorted(numbers):
        texts += [windows[number].head, *(unit.text[:UNIT_CHARACTERS] for unit in windows[number].units)]
    return list(dict.fromkeys(texts))
