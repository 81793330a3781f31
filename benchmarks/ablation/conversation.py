"""Follow-up questions: nDCG@10 of the local standalone form, and whether a question is recognized as a follow-up.

CAsT 2022 and MTRAG as in `benchmarks.conversation`. `cast_rewrite` are CAsT questions of other years with a person's
rewrite, without documents: a question is a follow-up if the person changed it. All of them are in English.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.ablation.items import Context, Item, Library
from benchmarks.answers.items import read_lines
from benchmarks.conversation import PASSAGES, SETS, past_turns, rewrite_locally
from benchmarks.retrieval.sets import RetrievalSet, load, ndcg
from veracity.agents.follow_up import standalone

MAX_QUERIES = 300  # of each set

Row = dict[str, Any]


def find_follow_ups(context: Context, model: str) -> Iterator[Item]:
    for name in SETS:
        data = load(context.directory, name, MAX_QUERIES)
        library = context.library(data, model)
        for row in context.sample(data.queries):
            yield Item("en", name, _Found(data, library, dict(row)))


class _Found:
    def __init__(self, data: RetrievalSet, library: Library, row: Row) -> None:
        self._row, self._library, self._relevant = row, library, data.relevant[row["_id"]]

    def __call__(self) -> Mapping[str, float]:
        question, added = rewrite_locally(self._row)
        return {"follow-ups found": ndcg(self._library.documents(question, PASSAGES, added=added), self._relevant)}


def recognize_follow_ups(context: Context, _model: str) -> Iterator[Item]:
    for row in context.sample(read_lines(context.directory / "cast_rewrite.items.jsonl"), 3):
        if row["history"]:
            depends = row["rewrite"].strip() != row["raw"].strip()
            yield Item("en", str(depends), _Recognized(row, depends))


class _Recognized:
    def __init__(self, row: Row, depends: bool) -> None:
        self._question, self._turns, self._depends = row["raw"], past_turns(row), depends

    def __call__(self) -> Mapping[str, float]:
        depends = standalone.make_standalone(self._question, self._turns).depends
        return {"follow-ups recognized": float(depends == self._depends)}
