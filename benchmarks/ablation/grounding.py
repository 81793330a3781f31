"""Does a text support a sentence? WiCE, the contrast pairs, and sentences in another language than their source.

The contrast pairs were written with the rules, so that they show what a rule is for rather than what it gains.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from unittest.mock import patch

from benchmarks.ablation.items import Context, Item
from benchmarks.answers.items import read_lines
from benchmarks.grounding_across import (
    DIRECTIONS,
    Pair,
    change_number,
    make_pairs,
    negate,
    vue_articles,
    xquad_articles,
)
from benchmarks.grounding_wice import CONTRASTS
from veracity.grounding import support, translation

STATEMENTS = 0.25  # of the sample size, for each direction across languages


def check_claims(context: Context, _model: str) -> Iterator[Item]:
    for row in context.sample(read_lines(context.directory / "wice.items.jsonl"), 2):
        is_true = row["label"] == "supported"
        yield Item("en", str(is_true), _Supported("WiCE", row["claim"], "\n".join(row["evidence"]), is_true))


def check_contrasts(_context: Context, _model: str) -> Iterator[Item]:
    for row in map(json.loads, CONTRASTS.read_text("utf-8").splitlines()):
        for kind in ("faithful", "altered"):
            checked = _Supported("contrast pairs (our own)", row[kind], row["text"], kind == "faithful")
            yield Item(row["language"], kind, checked)


def check_across(context: Context, _model: str) -> Iterator[Item]:
    """Vectors are kept: only the checks of quantities, names and negations are switched off."""
    context.enter(patch.object(translation, "_embed", context.embedder.embed_passages))
    articles = {"XQuAD": xquad_articles(context.clones), "Vue": vue_articles(context.clones, "ja")}
    for source, stated, written in DIRECTIONS:
        for pair in make_pairs(articles[source], stated, written, round(STATEMENTS * context.size)):
            pairs = [("right" if pair.is_true else "wrong", pair)]
            if pair.is_true:
                pairs += [("number", Pair(change_number(pair.statement), pair.text, False))]
                pairs += [("negation", Pair(negate(pair.statement, stated), pair.text, False))]
            for kind, made in pairs:
                if kind in ("right", "wrong") or made.statement != pair.statement:
                    name = "across languages"
                    yield Item(stated, kind, _Supported(name, made.statement, made.text, made.is_true))


class _Supported:
    def __init__(self, figure: str, statement: str, text: str, is_true: bool) -> None:
        self._figure, self._statement, self._text, self._is_true = figure, statement, text, is_true

    def __call__(self) -> Mapping[str, float]:
        found = support(self._statement, self._text).supported
        return {self._figure: float(found == self._is_true)}
