"""Does rewriting help? Low-quality queries over the handbook, before and after; questions cut down to two words.

    python -m benchmarks.rewriting DATA [--keep DIR] [--model provider:model]

The queries beside this file are as users type them: one word, vague, misspelt, colloquial, in two languages. Those that
are graded low at first take part. A rewritten round is graded in three ways (`looping.Judging`); questions that the
handbook does not answer show how far a grade can be trusted: none of them should rise. With `--model` that model
rewrites, and only the handbook is measured.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from benchmarks.retrieval.sets import data_folder, handbook, load, options, workspace_of
from benchmarks.rewriting import shortened
from benchmarks.rewriting.looping import Judging, Round, best_of, rounds_of
from veracity.agents.expanding import LocalRewriter
from veracity.agents.rewriter import LLMRewriter, Rewriter
from veracity.engine import Veracity
from veracity.knowledge.vocabulary import StoreVocabulary
from veracity.llm import LLM
from veracity.retrieval.quality import QualityChecker
from veracity.settings import QualitySettings

STRANGERS = 30  # questions of each other set


class Asked(NamedTuple):
    query: str
    kind: str
    language: str
    documents: list[str]


class Case(NamedTuple):
    asked: Asked
    rounds: list[Round]

    @property
    def gain(self) -> float:
        return best_of(self.rounds).quality.score - self.rounds[0].quality.score

    @property
    def is_lifted(self) -> bool:
        return best_of(self.rounds).quality.grade != "low"


def show(case: Case) -> None:
    first, best = case.rounds[0], best_of(case.rounds)
    print(
        f"  {case.asked.language} {case.asked.kind:10} {first.quality.score:.2f} → {best.quality.score:.2f} "
        f"{best.quality.grade:6} relevance {first.quality.relevance:.2f} → {best.quality.relevance:.2f} "
        f"gold {gold(first, case.asked):.2f} → {gold(best, case.asked):.2f}  {case.asked.query}"
        + "".join(f" → {one.query}" for one in case.rounds[1:])
    )


def gold(one: Round, asked: Asked) -> float:
    """The share of the first three passages that come from a document that answers."""
    return sum(item.document_id in asked.documents for item in one.evidence[:3]) / 3


def summed_up(title: str, cases: Sequence[Case]) -> None:
    if not cases:
        return
    before, after = ([one.rounds[0] for one in cases], [best_of(one.rounds) for one in cases])
    golds = [statistics.fmean(gold(r, c.asked) for r, c in zip(some, cases, strict=True)) for some in (before, after)]
    relevance = [statistics.fmean(one.quality.relevance for one in some) for some in (before, after)]
    print(
        f"  {title:12} {len(cases):3} queries: score {statistics.fmean(one.gain for one in cases):+.3f}, "
        f"no longer low {statistics.fmean(one.is_lifted for one in cases):.0%}, "
        f"relevance {relevance[0]:.2f} → {relevance[1]:.2f}, gold {golds[0]:.3f} → {golds[1]:.3f}"
    )


def times(cases: Sequence[Case]) -> None:
    later = [one.seconds for case in cases for one in case.rounds[1:]]
    every = [one.seconds for case in cases for one in case.rounds]
    if later:
        print(
            f"  slowest: grading {max(one['grade'] for one in every) * 1000:.1f} ms, "
            f"rewriting {max(one['rewrite'] for one in later):.2f} s, "
            f"a round {max(sum(one.values()) for one in later):.2f} s"
        )


def measure_handbook(engine: Veracity, rewriter: Rewriter, strangers: Sequence[str]) -> None:
    checker = QualityChecker(QualitySettings())
    lines = Path(__file__).with_name("queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [Asked(**json.loads(line)) for line in lines]
    for judging in get_args(Judging):
        every = [Case(one, rounds_of(one.query, engine._searcher, checker, rewriter, judging)) for one in asked]
        cases = [case for case in every if case.rounds[0].quality.grade == "low"]
        print(f"\nhandbook, a rewritten round is graded by what was {judging}; {len(cases)} of {len(asked)} are low:")
        for case in cases:
            show(case)
        summed_up("all", cases)
        for kind in dict.fromkeys(one.kind for one in asked):
            summed_up(kind, [case for case in cases if case.asked.kind == kind])
        for language in ("en", "zh", "ja"):
            summed_up(language, [case for case in cases if case.asked.language == language])
        times(cases)
        unknown = [
            Case(Asked(text, "", "", []), rounds_of(text, engine._searcher, checker, rewriter, judging))
            for text in strangers
        ]
        low = [case for case in unknown if case.rounds[0].quality.grade == "low"]
        wrongly = statistics.fmean(case.is_lifted for case in low) if low else 0.0
        print(f"  not answered by the handbook: {len(low)} of {len(unknown)} low, {wrongly:.0%} of them lifted wrongly")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", help="rewrites instead of the local form, as provider:model")
    given = parser.parse_args()
    folder = data_folder(given.directory)
    others = [load(folder, name, given.queries) for name in ("scifact", "mtrag")]
    with tempfile.TemporaryDirectory() as scratch:
        keep = given.keep or Path(scratch)
        engine, _ = workspace_of(handbook("en"), keep)
        with engine:
            vocabulary = StoreVocabulary(engine._library.store, engine._embedder)
            rewriter = LLMRewriter(LLM(), given.model) if given.model else LocalRewriter(vocabulary)
            strangers = [
                shortened.shortened(row["text"], vocabulary) or row["text"]
                for data in others
                for row in data.queries[:STRANGERS]
            ]
            measure_handbook(engine, rewriter, [] if given.model else strangers)
        if not given.model:
            for data in others:
                shortened.measure(data, keep)


if __name__ == "__main__":
    main()
