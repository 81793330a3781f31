"""How well a reader does: on held-out documents, and on passages that the product found for benchmark questions.

eval.jsonl.xz, one question a line: set, id, q, answerable, passages (head, and units as [kind, text, lead, 1 if it
contains the answer]), and order: [passage, unit, …] as the product's rules rank them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.batches import log
from training.corpus import STATEMENTS, Window, read_lines
from training.reader_lists import UNIT_CHARACTERS, Group, PackedList, Packer, Row, pack
from training.sources import LANGUAGES

Score = tuple[float, list[float]]  # of the window, and of its units


@dataclass(frozen=True)
class Question:
    fields: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        texts = [self.fields["q"]]
        for passage in self.fields["passages"]:
            texts += [passage["head"], *(unit[1][:UNIT_CHARACTERS] for unit in passage["units"])]
        return texts

    def contains_answer(self, passage: int, unit: int) -> bool:
        return bool(self.fields["passages"][passage]["units"][unit][3])

    @property
    def answer_was_found(self) -> bool:
        return any(unit[3] for passage in self.fields["passages"] for unit in passage["units"])


@dataclass(frozen=True)
class Passage:
    question: int
    number: int
    row: Row


def read_evaluation(data: Path) -> list[Question]:
    file = data / "eval.jsonl.xz"
    return [Question(row) for row in read_lines(file)] if file.exists() else []


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a positive scores higher than a negative."""
    if not positive or not negative:
        return float("nan")
    order = np.sort(np.array(negative))
    below = np.searchsorted(order, positive, "left")
    up_to = np.searchsorted(order, positive, "right")
    return float((below + up_to).mean() / 2 / len(negative))


def report_held(
    groups: Sequence[Group],
    packer: Packer,
    best_units: Callable[[Sequence[PackedList]], list[tuple[float, bool]]],
    windows: Sequence[Window],
) -> None:
    """For each language: how often the best unit answers, and the best scores with an answer against those without."""
    for language in LANGUAGES:
        mine = [group for group in groups if windows[group.window].language == language]
        scores: dict[str, list[float]] = {}
        for kind in ("own", "removed", "absent", "not"):
            wanted = [group for group in mine if (group.gold < 0) == (kind == "not")]
            packed = [packer.pack(group, vary=False, kind="own" if kind == "not" else kind) for group in wanted]
            found = best_units([one for one in packed if one is not None and one.rows])
            scores[kind] = [score for score, _ in found]
            if kind == "own":
                right = sum(is_right for _, is_right in found) / max(1, len(found))
        against = {kind: round(auc(scores["own"], scores[kind]), 3) for kind in ("removed", "absent", "not")}
        log("HELD", language, len(scores["own"]), f"unit {right:.3f}", "auc", against)


def passage_rows(questions: Sequence[Question], ids: dict[str, list[int]]) -> list[Passage]:
    found = []
    for number, question in enumerate(questions):
        for place, passage in enumerate(question.fields["passages"]):
            kinds = [unit[0] for unit in passage["units"]]
            texts = [ids[unit[1][:UNIT_CHARACTERS]] for unit in passage["units"]]
            item, places = pack(ids[question.fields["q"]], ids[passage["head"]], list(zip(kinds, texts, strict=True)))
            units = [unit for unit, kind in enumerate(kinds) if places[unit] > 0 and kind in STATEMENTS]
            row = Row(item, [places[unit] for unit in units], units)
            found.append(Passage(number, place, row))
    return found


def report_evaluation(
    questions: Sequence[Question], passages: Sequence[Passage], scores: Sequence[Score], prefix: Path
) -> None:
    """For each set: answerable against unanswerable questions, and how often the best unit contains the answer."""
    stored = []
    candidates: defaultdict[int, list[tuple[float, float, int, int]]] = defaultdict(list)
    for passage, (logit, units) in zip(passages, scores, strict=True):
        fields = questions[passage.question].fields
        stored.append([fields["set"], fields["id"], passage.number, passage.row.units, logit, units])
        for unit, score in zip(passage.row.units, units, strict=True):
            candidates[passage.question].append((logit, score, passage.number, unit))
    Path(f"{prefix}.eval.json").write_text(json.dumps(stored), encoding="utf-8")
    for name in dict.fromkeys(question.fields["set"] for question in questions):
        numbers = [number for number in candidates if questions[number].fields["set"] == name]
        _report_set(name, {number: candidates[number] for number in numbers}, questions)


def _report_set(
    name: str, candidates: dict[int, list[tuple[float, float, int, int]]], questions: Sequence[Question]
) -> None:
    best: dict[bool, list[float]] = {True: [], False: []}
    right: Counter[str] = Counter()
    total = 0
    for number, units in candidates.items():
        question = questions[number]
        best[question.fields["answerable"]].append(max(unit[1] for unit in units))
        if not question.fields["answerable"] or not (question.fields["answers"] or question.answer_was_found):
            continue
        total += 1
        chosen = max(units, key=lambda unit: unit[1])
        right["reader"] += question.contains_answer(chosen[2], chosen[3])
        if question.fields["order"]:
            right["rules"] += question.contains_answer(*question.fields["order"][0][:2])
        right["any"] += question.answer_was_found
    shares = {key: round(count / max(1, total), 3) for key, count in right.items()}
    log("EVAL", name, f"auc {auc(best[True], best[False]):.3f}", len(best[True]), len(best[False]), shares, total)
