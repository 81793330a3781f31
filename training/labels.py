"""What the teacher says of questions and windows: log-odds of each unit against "none of this window"."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

Label = tuple[int, int, list[int], list[float]]  # the question, the window, its units, their log-odds


def save_labels(labels: list[Label], file: Path, asked: int) -> None:
    """`asked`: how many questions there are. Labels name them by number."""
    counts = [len(units) for _, _, units, _ in labels]
    np.savez_compressed(
        file,
        asked=np.array(asked),
        questions=np.array([label[0] for label in labels], np.int32),
        windows=np.array([label[1] for label in labels], np.int32),
        starts=np.cumsum([0, *counts]).astype(np.int32),
        units=np.concatenate([label[2] for label in labels]).astype(np.uint8),
        odds=np.concatenate([label[3] for label in labels]).clip(-40, 40).astype(np.float16),
    )


class Labels:
    """Exits where the file is about another number of questions."""

    def __init__(self, file: Path, asked: int) -> None:
        with np.load(file) as stored:
            if int(stored["asked"]) != asked:
                raise SystemExit(f"{file} is about {stored['asked']} questions, not {asked}. Label them again.")
            self.starts, self.units, self.odds = (stored[name] for name in ("starts", "units", "odds"))
            pairs = zip(stored["questions"].tolist(), stored["windows"].tolist(), strict=True)
            self.places = {pair: place for place, pair in enumerate(pairs)}

    def has_units(self, question: int, window: int, units: Iterable[int]) -> bool:
        """Whether the window has a label that includes the units: the teacher does not see the end of a long one."""
        return self.has(question, window) and self.of(question, window).keys() >= set(units)

    def has(self, question: int, window: int) -> bool:
        return (question, window) in self.places

    def of(self, question: int, window: int) -> dict[int, float]:
        """The log-odds of each unit, empty where there is no label."""
        place = self.places.get((question, window))
        if place is None:
            return {}
        part = slice(self.starts[place], self.starts[place + 1])
        return dict(zip(self.units[part].tolist(), self.odds[part].astype(float).tolist(), strict=True))
