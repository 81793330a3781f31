"""Does rewriting help? Low-quality queries over the handbook, before and after; questions cut down to two words.

    python -m benchmarks.rewriting DATA [--keep DIR] [--model provider:model]

The queries beside this file are as users type them: one word, vague, misspelt, colloquial, in two languages. Each is
asked as `veracity ask` asks it, and the rounds are those of its receipt; those that are graded low at first count.
"gold" is the share of the first three passages that come from a document that answers. Questions that the handbook does
not answer show how far a grade can be trusted: none of them should rise. With `--model` that model rewrites, and only
the handbook is measured.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.retrieval.sets import data_folder, handbook, load, options, workspace_of
from benchmarks.rewriting import shortened
from veracity.engine import Veracity
from veracity.knowledge.vocabulary import StoreVocabulary
from veracity.models import Receipt, Round
from veracity.settings import Settings

STRANGERS = 30  # questions of each other set


class Asked(NamedTuple):
    query: str
    kind: str
    language: str
    documents: list[str]


class Case(NamedTuple):
    asked: Asked
    receipt: Receipt

    @property
    def first(self) -> Round:
        return self.receipt.rounds[0]

    @property
    def best(self) -> Round:
        """The later of equals."""
        return max(reversed(self.receipt.rounds), key=lambda one: one.quality.score)

    def gold(self, one: Round) -> float:
        return sum(item.document_id in self.asked.documents for item in one.evidence[:3]) / 3


def show(case: Case) -> None:
    first, best = case.first, case.best
    print(
        f"  {case.asked.language} {case.asked.kind:10} {first.quality.score:.2f} → {best.quality.score:.2f} "
        f"{best.quality.grade:6} relevance {first.quality.relevance:.2f} → {best.quality.relevance:.2f} "
        f"gold {case.gold(first):.2f} → {case.gold(best):.2f}  " + " → ".join(one.query for one in case.receipt.rounds)
    )


def summed_up(title: str, cases: Sequence[Case]) -> None:
    if not cases:
        return
    gain = statistics.fmean(case.best.quality.score - case.first.quality.score for case in cases)
    lifted = statistics.fmean(case.best.quality.grade != "low" for case in cases)
    pairs = [(case.first.quality.relevance, case.best.quality.relevance) for case in cases]
    relevance = [statistics.fmean(one) for one in zip(*pairs, strict=True)]
    golds = [statistics.fmean(one) for one in zip(*((c.gold(c.first), c.gold(c.best)) for c in cases), strict=True)]
    print(
        f"  {title:12} {len(cases):3} queries: score {gain:+.3f}, no longer low {lifted:.0%}, "
        f"relevance {relevance[0]:.2f} → {relevance[1]:.2f}, gold {golds[0]:.3f} → {golds[1]:.3f}"
    )


def times(cases: Sequence[Case]) -> None:
    slowest = {
        name: max((step.seconds for case in cases for step in case.receipt.steps if step.name == name), default=0.0)
        for name in ("grade_documents", "rewrite_query", "retrieve")
    }
    print("  slowest: " + ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in slowest.items()))


def measure_handbook(engine: Veracity, strangers: Sequence[str]) -> None:
    lines = Path(__file__).with_name("queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [Asked(**json.loads(line)) for line in lines]
    every = [_case(engine, one) for one in asked]
    cases = [case for case in every if case.first.quality.grade == "low"]
    print(f"handbook: {len(cases)} of {len(asked)} are low")
    for case in cases:
        show(case)
    summed_up("all", cases)
    for kind in dict.fromkeys(one.kind for one in asked):
        summed_up(kind, [case for case in cases if case.asked.kind == kind])
    for language in ("en", "zh", "ja"):
        summed_up(language, [case for case in cases if case.asked.language == language])
    times(cases)
    unknown = [_case(engine, Asked(text, "", "", [])) for text in strangers]
    low = [case for case in unknown if case.first.quality.grade == "low"]
    wrongly = statistics.fmean(case.best.quality.grade != "low" for case in low) if low else 0.0
    print(f"  not answered by the handbook: {len(low)} of {len(unknown)} low, {wrongly:.0%} of them lifted wrongly")


def _case(engine: Veracity, asked: Asked) -> Case:
    return Case(asked, engine.receipt(engine.ask(asked.query).run_id))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", help="rewrites instead of the local form, as provider:model")
    given = parser.parse_args()
    folder = data_folder(given.directory)
    others = [load(folder, name, given.queries) for name in ("scifact", "mtrag")]
    with tempfile.TemporaryDirectory() as scratch:
        keep = given.keep or Path(scratch)
        filled, _ = workspace_of(handbook("en"), keep)
        filled.close()
        settings = Settings.model_validate({"models": {"rewriter": given.model}})
        with Veracity(keep / "handbook_en", settings=settings) as engine:
            vocabulary = StoreVocabulary(engine._library.store).now()
            strangers = [
                shortened.shortened(row["text"], vocabulary) or row["text"]
                for data in others
                for row in data.queries[:STRANGERS]
            ]
            measure_handbook(engine, [] if given.model else strangers)
        if not given.model:
            for data in others:
                shortened.measure(data, keep)


if __name__ == "__main__":
    main()
