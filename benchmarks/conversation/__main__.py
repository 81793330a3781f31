"""Are questions of a conversation understood? nDCG@10 as typed, as they are put to stand alone, and as people put them.

    python -m benchmarks.conversation DATA [--keep DIR] [--model provider:model --sample 30]

The sets are those of `benchmarks.retrieval` whose queries have a `history` and a `rewrite` by a person. "local" is the
form that needs no model: the question with what it leaves out, and words of the conversation that count less. A
question counts as standing alone where there is no history or the person left it as it was. "closed" is the share of
the way from the typed question to the person's that it goes; there is none to go where the person's finds no better.
Queries without a person's wording are shown by themselves. With `--model` that model is asked as well, for a sample of
those that do not stand alone.
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
from veracity.agents.follow_up.standalone import StandAlone, stand_alone
from veracity.agents.local_router import LocalRouter
from veracity.agents.router import LLMRouter, RoutingTask
from veracity.deadlines import Deadline
from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.llm import LLM
from veracity.models import PastTurn
from veracity.settings import LLMSettings

SETS = ("cast22", "mtrag")
PASSAGES = 40  # of which the documents are taken
LEAST_GAP = 0.01  # a way too short to tell how much of it was gone
PATIENCE = 600.0  # seconds for one answer of a model

Row = dict[str, Any]
Ranked = dict[str, list[str]]  # documents, by the id of the query


def turns(row: Row) -> list[PastTurn]:
    """What was said before, a question and what followed on it each."""
    said: list[list[str]] = []
    for one in row["history"]:
        if one["role"] == "user":
            said.append([one["text"], ""])
        elif said:
            said[-1][1] = f"{said[-1][1]} {one['text']}".strip()
    asked = datetime.now(UTC)
    return [
        PastTurn(run_id=str(number), number=number, question=question, answer=answer, asked=asked)
        for number, (question, answer) in enumerate(said, 1)
    ]


def stands_alone(row: Row) -> bool:
    return not row["history"] or row["rewrite"].strip() == row["text"].strip()


def ranked(engine: Veracity, rows: Sequence[Row], put: Callable[[Row], tuple[str, Sequence[str]]]) -> Ranked:
    found: Ranked = {}
    for row in rows:
        question, added = put(row)
        evidence = engine._searcher.search(question, PASSAGES, added=added)
        found[row["_id"]] = list(dict.fromkeys(item.document_id for item in evidence))
    return found


def locally(row: Row) -> tuple[str, Sequence[str]]:
    routing = LocalRouter().route(RoutingTask(row["text"], turns=turns(row), available=["knowledge"]))
    return routing.question, routing.added


def by_bm25(data: RetrievalSet, rows: Sequence[Row], key: str) -> Ranked:
    asked = [{"_id": row["_id"], "text": row[key]} for row in rows]
    lists = bm25_rankings(RetrievalSet(data.name, data.language, data.corpus, asked, data.relevant))
    return {row["_id"]: one for row, one in zip(rows, lists, strict=True)}


def show(title: str, data: RetrievalSet, rows: Sequence[Row], ways: dict[str, Ranked]) -> None:
    if not rows:
        return
    means = {
        name: statistics.mean(ndcg(found[row["_id"]], data.relevant[row["_id"]]) for row in rows)
        for name, found in ways.items()
    }
    typed, gap = means["typed"], means.get("rewritten", 0.0) - means["typed"]
    told = "  ".join(f"{name} {mean:.4f}" for name, mean in means.items())
    print(f"  {title:26} {len(rows):4}  {told}", end="")
    for name in set(means) - {"typed", "rewritten"} if "rewritten" in means else ():
        closed = (
            f"{(means[name] - typed) / gap:.0%}" if gap > LEAST_GAP else f"no way to go ({means[name] - typed:+.4f})"
        )
        print(f"  {name} closed {closed}", end="")
    print(flush=True)


def measure(data: RetrievalSet, folder: Path) -> None:
    rows: list[Row] = [dict(row) for row in data.queries]
    given = [row for row in rows if row.get("rewrite")]
    engine, _ = workspace_of(data, folder)
    with engine:
        ways = {
            "typed": ranked(engine, rows, lambda row: (row["text"], ())),
            "local": ranked(engine, rows, locally),
            "rewritten": ranked(engine, given, lambda row: (row["rewrite"], ())),
        }
    print(f"\n{data.name}: {len(data.corpus):,} documents")
    show("all with a rewrite", data, given, ways)
    show("  standing alone", data, [row for row in given if stands_alone(row)], ways)
    show("  not standing alone", data, [row for row in given if not stands_alone(row)], ways)
    others = [row for row in rows if not row.get("rewrite")]
    show("others", data, others, {name: ways[name] for name in ("typed", "local")})
    show("BM25", data, given, {"typed": by_bm25(data, given, "text"), "rewritten": by_bm25(data, given, "rewrite")})


def measure_model(data: RetrievalSet, folder: Path, model: str, size: int) -> None:
    """A sample of what does not stand alone, with what became of each question."""
    rows = [dict(row) for row in data.queries if row.get("rewrite") and not stands_alone(dict(row))]
    rows = random.Random(0).sample(rows, min(size, len(rows)))
    router = LLMRouter(LLM(LLMSettings(call_timeout=PATIENCE, deadline=PATIENCE)), model)
    put: dict[str, tuple[str, Sequence[str]]] = {}
    print(f"\n{data.name}, asking {model}")
    for row in rows:
        read = asked(router, row)
        put[row["_id"]] = (read.question, read.added)
        print(f"  {row['text']!r} -> {read.question!r} + {' '.join(read.added)}", flush=True)
    engine, _ = workspace_of(data, folder)
    with engine:
        ways = {
            "typed": ranked(engine, rows, lambda row: (row["text"], ())),
            "local": ranked(engine, rows, locally),
            "model": ranked(engine, rows, lambda row: put[row["_id"]]),
            "rewritten": ranked(engine, rows, lambda row: (row["rewrite"], ())),
        }
    show("sample", data, rows, ways)


def asked(router: LLMRouter, row: Row) -> StandAlone:
    """How the model puts it; the route is not asked for, since all are searched for in the documents. What fails is put
    without a model, as in a run."""
    task = RoutingTask(row["text"], turns=turns(row), deadline=Deadline.within(PATIENCE))
    try:
        return router.understood(task).read
    except VeracityError as problem:
        print(f"  failed: {problem}")
        return stand_alone(task.question, task.turns)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--model", help="asked too, as provider:model")
    parser.add_argument("--sample", type=int, default=30, help="questions of each set that the model is asked")
    given = parser.parse_args()
    folder = data_folder(given.directory)
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.sets:
            data = load(folder, name, given.queries)
            if given.model:
                measure_model(data, given.keep or Path(scratch), given.model, given.sample)
            else:
                measure(data, given.keep or Path(scratch))


if __name__ == "__main__":
    main()
