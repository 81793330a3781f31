"""The benchmarks over which rules are switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from benchmarks.ablation import answering, conversation, gating, grounding, rewriting, search
from benchmarks.ablation.items import MODELS, Context, Item


class Measure(NamedTuple):
    """`models`: the bundled models or none, where the result differs."""

    items: Callable[[Context, str], Iterable[Item]]
    models: tuple[str, ...] = MODELS


ONCE = ("bundled",)  # compares no vectors of the search

MEASURES = {
    "conversation": Measure(conversation.find_follow_ups),
    "recognition": Measure(conversation.recognize_follow_ups, ONCE),
    "poor_queries": Measure(rewriting.rewrite_poor_queries),
    "short_queries": Measure(rewriting.rewrite_short_queries),
    "spelling": Measure(rewriting.correct_well_spelt, ONCE),
    "answers": Measure(answering.answer_sets),
    "handbook": Measure(answering.answer_handbook),
    "real_documents": Measure(answering.answer_real_documents),
    "gate": Measure(gating.gate_answers, ONCE),
    "wice": Measure(grounding.check_claims, ONCE),
    "contrasts": Measure(grounding.check_contrasts, ONCE),
    "across": Measure(grounding.check_across, ONCE),
    "search": Measure(search.search_handbook),
}


class Scores:
    """The scores of a measure's items by figure; without a rule only items in its languages are scored again."""

    def __init__(self, context: Context, name: str, model: str) -> None:
        self._items = list(MEASURES[name].items(context, model))
        self._scores = [dict(item.score()) for item in self._items]

    def figures(self) -> list[str]:
        return list(dict.fromkeys(figure for scores in self._scores for figure in scores))

    def pairs(self, languages: Iterable[str]) -> Iterator[tuple[str, list[float], list[float], list[str]]]:
        """Scores everything again. For each figure the scores before and now, and the kinds of their items."""
        now = [
            dict(item.score()) if item.language in languages else scores
            for item, scores in zip(self._items, self._scores, strict=True)
        ]
        for figure in self.figures():
            of = [place for place, scores in enumerate(self._scores) if figure in scores]
            before, after = [self._scores[place][figure] for place in of], [now[place][figure] for place in of]
            yield figure, before, after, [self._items[place].kind for place in of]
