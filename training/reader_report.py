"""How well a reader does on held-out documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from training.batches import log
from training.corpus import Window
from training.reader_lists import Group, PackedList, Packer
from training.sources import LANGUAGES


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
