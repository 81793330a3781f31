"""Does rewriting help? Poor queries over the handbook before and after, and questions cut to two words.

    python -m benchmarks.rewrites DIRECTORY [--keep FOLDER] [--model provider:model]

The queries in `queries.jsonl` are as users type them: one word, vague, misspelt, colloquial, in two languages. Each is
asked as with `veracity ask`, and the rounds are read from its receipt; only queries that are graded low at first count.
"gold" is the share of the top three passages that come from a document with the answer. The grade of questions that the
handbook does not answer should not rise. With `--model` that model rewrites, and only the handbook is measured.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.retrieval.sets import data_folder, handbook, load, options, workspace_of
from benchmarks.rewrites.short_queries import measure_short_queries, shorten
from veracity.engine import Veracity
from veracity.knowledge.vocabulary import StoreVocabulary
from veracity.models import Receipt, Round
from veracity.settings import Settings

UNANSWERABLE = 30  # questions from each other set


class Query(NamedTuple):
    text: str
    kind: str
    language: str
    documents: list[str]


class Case(NamedTuple):
    query: Query
    receipt: Receipt

    @property
    def first(self) -> Round:
        return self.receipt.rounds[0]

    @property
    def best(self) -> Round:
        """The round with the best score, the last of several."""
        return max(reversed(self.receipt.rounds), key=lambda round_: round_.quality.score)

    def gold(self, round_: Round) -> float:
        return sum(item.document_id in self.query.documents for item in round_.evidence[:3]) / 3


def print_case(case: Case) -> None:
    first, best = case.first, case.best
    print(
        f"  {case.query.language} {case.query.kind:10} {first.quality.score:.2f} → {best.quality.score:.2f} "
        f"{best.quality.grade:6} relevance {first.quality.relevance:.2f} → {best.quality.relevance:.2f} "
        f"gold {case.gold(first):.2f} → {case.gold(best):.2f}  "
        + " → ".join(round_.query for round_ in case.receipt.rounds)
    )


def print_summary(title: str, cases: Sequence[Case]) -> None:
    if not cases:
        return
    gain = statistics.fmean(case.best.quality.score - case.first.quality.score for case in cases)
    lifted = statistics.fmean(case.best.quality.grade != "low" for case in cases)
    pairs = [(case.first.quality.relevance, case.best.quality.relevance) for case in cases]
    relevance = [statistics.fmean(values) for values in zip(*pairs, strict=True)]
    gold_pairs = [(case.gold(case.first), case.gold(case.best)) for case in cases]
    golds = [statistics.fmean(values) for values in zip(*gold_pairs, strict=True)]
    print(
        f"  {title:12} {len(cases):3} queries: score {gain:+.3f}, no longer low {lifted:.0%}, "
        f"relevance {relevance[0]:.2f} → {relevance[1]:.2f}, gold {golds[0]:.3f} → {golds[1]:.3f}"
    )


def print_slowest(cases: Sequence[Case]) -> None:
    slowest = {
        name: max((step.seconds for case in cases for step in case.receipt.steps if step.name == name), default=0.0)
        for name in ("grade_documents", "rewrite_query", "retrieve")
    }
    print("  slowest: " + ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in slowest.items()))


def measure_handbook(engine: Veracity, unanswerable: Sequence[str]) -> None:
    lines = Path(__file__).with_name("queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [_parse(json.loads(line)) for line in lines]
    cases = [case for case in (_ask(engine, query) for query in queries) if case.first.quality.grade == "low"]
    print(f"handbook: {len(cases)} of {len(queries)} are low")
    for case in cases:
        print_case(case)
    print_summary("all", cases)
    for kind in dict.fromkeys(query.kind for query in queries):
        print_summary(kind, [case for case in cases if case.query.kind == kind])
    for language in ("en", "zh", "ja"):
        print_summary(language, [case for case in cases if case.query.language == language])
    print_slowest(cases)
    others = [_ask(engine, Query(text, "", "", [])) for text in unanswerable]
    low = [case for case in others if case.first.quality.grade == "low"]
    wrongly = statistics.fmean(case.best.quality.grade != "low" for case in low) if low else 0.0
    print(f"  not answered by the handbook: {len(low)} of {len(others)} low, {wrongly:.0%} of them lifted wrongly")


def _parse(row: dict[str, Any]) -> Query:
    return Query(row["query"], row["kind"], row["language"], row["documents"])


def _ask(engine: Veracity, query: Query) -> Case:
    return Case(query, engine.receipt(engine.ask(query.text).run_id))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", help="model that rewrites, as provider:model")
    chosen = parser.parse_args()
    folder = data_folder(chosen.directory)
    others = [load(folder, name, chosen.queries) for name in ("scifact", "mtrag")]
    with tempfile.TemporaryDirectory() as scratch:
        keep = chosen.keep or Path(scratch)
        filled, _ = workspace_of(handbook("en"), keep)
        filled.close()
        settings = Settings.model_validate({"models": {"rewriter": chosen.model}})
        with Veracity(keep / "handbook_en", settings=settings) as engine:
            vocabulary = StoreVocabulary(engine._parts.library.store).current()
            unanswerable = [
                shorten(row["text"], vocabulary) or row["text"]
                for data in others
                for row in data.queries[:UNANSWERABLE]
            ]
            measure_handbook(engine, [] if chosen.model else unanswerable)
        if not chosen.model:
            for data in others:
                measure_short_queries(data, keep)


if __name__ == "__main__":
    main()
