"""nDCG@10 of follow-up questions: as typed, made standalone by Veracity, and rewritten by a person.

    python -m benchmarks.conversation DIRECTORY [--keep FOLDER] [--model provider:model --sample 30]

Uses the sets of `benchmarks.retrieval` whose queries have a `history` and a `rewrite` by a person. "local" uses no
model: it resolves references and adds words of the conversation with a lower weight. A question is standalone if it has
no history or the person left it unchanged. "closed" is the share of the gap between the typed and the person's question
that is closed, if there is a gap. Queries without a person's rewrite are shown separately. With `--model` that model
rewrites a sample of the questions that are not standalone.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.retrieval.sets import RetrievalSet, bm25_rankings, data_folder, load, ndcg, options, workspace_of
from veracity.agents.base import RoutingTask
from veracity.agents.follow_up.standalone import StandaloneQuestion, make_standalone
from veracity.agents.local_router import LocalRouter
from veracity.agents.router import LLMRouter
from veracity.deadlines import Deadline
from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.llm import LLM
from veracity.models import PastTurn
from veracity.settings import LLMSettings

SETS = ("cast22", "mtrag")
PASSAGES = 40  # retrieved, to rank their documents
MIN_GAP = 0.01  # below it no share is printed
MODEL_TIMEOUT_SECONDS = 600.0

Row = dict[str, Any]
Rankings = dict[str, list[str]]  # documents by query id


def past_turns(row: Row) -> list[PastTurn]:
    """The history as pairs of question and answer."""
    pairs: list[list[str]] = []
    for message in row["history"]:
        if message["role"] == "user":
            pairs.append([message["text"], ""])
        elif pairs:
            pairs[-1][1] = f"{pairs[-1][1]} {message['text']}".strip()
    asked = datetime.now(UTC)
    return [
        PastTurn(run_id=str(number), number=number, question=question, answer=answer, asked=asked)
        for number, (question, answer) in enumerate(pairs, 1)
    ]


def is_standalone(row: Row) -> bool:
    return not row["history"] or row["rewrite"].strip() == row["text"].strip()


def rank(engine: Veracity, rows: Sequence[Row], rewrite: Callable[[Row], tuple[str, Sequence[str]]]) -> Rankings:
    rankings: Rankings = {}
    for row in rows:
        question, added = rewrite(row)
        evidence = engine._parts.searcher.search(question, PASSAGES, added_words=added)
        rankings[row["_id"]] = list(dict.fromkeys(item.document_id for item in evidence))
    return rankings


def rewrite_locally(row: Row) -> tuple[str, Sequence[str]]:
    routing = LocalRouter().route(RoutingTask(row["text"], turns=past_turns(row), available=["knowledge"]))
    return routing.question, routing.added


def rank_by_bm25(data: RetrievalSet, rows: Sequence[Row], key: str) -> Rankings:
    queries = [{"_id": row["_id"], "text": row[key]} for row in rows]
    lists = bm25_rankings(RetrievalSet(data.name, data.language, data.corpus, queries, data.relevant))
    return {row["_id"]: ranking for row, ranking in zip(rows, lists, strict=True)}


def print_row(title: str, data: RetrievalSet, rows: Sequence[Row], methods: dict[str, Rankings]) -> None:
    if not rows:
        return
    means = {
        name: statistics.mean(ndcg(rankings[row["_id"]], data.relevant[row["_id"]]) for row in rows)
        for name, rankings in methods.items()
    }
    typed, gap = means["typed"], means.get("rewritten", 0.0) - means["typed"]
    values = "  ".join(f"{name} {mean:.4f}" for name, mean in means.items())
    print(f"  {title:26} {len(rows):4}  {values}", end="")
    for name in set(means) - {"typed", "rewritten"} if "rewritten" in means else ():
        closed = f"{(means[name] - typed) / gap:.0%}" if gap > MIN_GAP else f"– (no gap, {means[name] - typed:+.4f})"
        print(f"  {name} closed {closed}", end="")
    print(flush=True)


def measure(data: RetrievalSet, folder: Path) -> None:
    rows: list[Row] = [dict(row) for row in data.queries]
    rewritten = [row for row in rows if row.get("rewrite")]
    engine, _ = workspace_of(data, folder)
    with engine:
        methods = {
            "typed": rank(engine, rows, lambda row: (row["text"], ())),
            "local": rank(engine, rows, rewrite_locally),
            "rewritten": rank(engine, rewritten, lambda row: (row["rewrite"], ())),
        }
    print(f"\n{data.name}: {len(data.corpus):,} documents")
    print_row("all with a rewrite", data, rewritten, methods)
    print_row("  standalone", data, [row for row in rewritten if is_standalone(row)], methods)
    print_row("  not standalone", data, [row for row in rewritten if not is_standalone(row)], methods)
    others = [row for row in rows if not row.get("rewrite")]
    print_row("others", data, others, {name: methods[name] for name in ("typed", "local")})
    bm25 = {name: rank_by_bm25(data, rewritten, key) for name, key in (("typed", "text"), ("rewritten", "rewrite"))}
    print_row("BM25", data, rewritten, bm25)


def measure_model(data: RetrievalSet, folder: Path, model: str, size: int) -> None:
    """Measures a sample of the questions that are not standalone, and prints each rewrite."""
    rows = [dict(row) for row in data.queries if row.get("rewrite") and not is_standalone(dict(row))]
    rows = random.Random(0).sample(rows, min(size, len(rows)))
    router = LLMRouter(LLM(LLMSettings(call_timeout=MODEL_TIMEOUT_SECONDS, deadline=MODEL_TIMEOUT_SECONDS)), model)
    rewrites: dict[str, tuple[str, Sequence[str]]] = {}
    print(f"\n{data.name}, rewritten by {model}")
    for row in rows:
        standalone = rewrite_by_model(router, row)
        rewrites[row["_id"]] = (standalone.question, standalone.added)
        print(f"  {row['text']!r} -> {standalone.question!r} + {' '.join(standalone.added)}", flush=True)
    engine, _ = workspace_of(data, folder)
    with engine:
        methods = {
            "typed": rank(engine, rows, lambda row: (row["text"], ())),
            "local": rank(engine, rows, rewrite_locally),
            "model": rank(engine, rows, lambda row: rewrites[row["_id"]]),
            "rewritten": rank(engine, rows, lambda row: (row["rewrite"], ())),
        }
    print_row("sample", data, rows, methods)


def rewrite_by_model(router: LLMRouter, row: Row) -> StandaloneQuestion:
    """Falls back to the local form if the model fails, as in a run."""
    task = RoutingTask(row["text"], turns=past_turns(row), deadline=Deadline.within(MODEL_TIMEOUT_SECONDS))
    try:
        return router.make_standalone(task)[0]
    except VeracityError as error:
        print(f"  failed: {error}")
        return make_standalone(task.question, task.turns)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--model", help="model that rewrites, as provider:model")
    parser.add_argument("--sample", type=int, default=30, help="questions of each set for the model")
    chosen = parser.parse_args()
    folder = data_folder(chosen.directory)
    with tempfile.TemporaryDirectory() as scratch:
        for name in chosen.sets:
            data = load(folder, name, chosen.queries)
            if chosen.model:
                measure_model(data, chosen.keep or Path(scratch), chosen.model, chosen.sample)
            else:
                measure(data, chosen.keep or Path(scratch))


if __name__ == "__main__":
    main()
