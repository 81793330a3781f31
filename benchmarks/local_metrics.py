"""How well the local metrics tell a reference answer from an answer to another question.

    python benchmarks/local_metrics.py DIRECTORY      (or set VERACITY_DATA to the directory)

The directory holds `clapnq.items.jsonl` and `clapnq.corpus.jsonl` (ClapNQ: questions with long reference answers and
their passages). Each answer is scored for its own question and passages, and for those of another question. AUC is the
chance that a reference answer scores higher than a strayed one. The other question is usually about something else
entirely, so this is the easy case: it shows that the scores mean something, not that subtle faults are seen (for those
see `grounding_wice.py`). Groundedness is given reference answers that people wrote, not copied: what it rejects of
those is the price of its strictness.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from veracity import BaseMetric, EvaluationRequest
from veracity.evaluator.metrics.groundedness import Groundedness
from veracity.evaluator.metrics.question_coverage import QuestionCoverage

STRAY = 7  # how far away the other question stands


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(data: Path) -> None:
    corpus = {row["_id"]: row["text"] for row in rows_of(data / "clapnq.corpus.jsonl")}
    items = [row for row in rows_of(data / "clapnq.items.jsonl") if row["answerable"] and row["answers"]]
    print(f"ClapNQ, {len(items)} questions\n{'metric':<20}{'own':>8}{'strayed':>10}{'AUC':>8}")
    for metric in (QuestionCoverage(), Groundedness()):
        own = [scored(metric, item, item, corpus) for item in items]
        strayed = [scored(metric, item, items[number - STRAY], corpus) for number, item in enumerate(items)]
        print(f"{type(metric).__name__:<20}{mean(own):>8.1f}{mean(strayed):>10.1f}{auc(own, strayed):>8.3f}")


def scored(metric: BaseMetric, item: dict[str, Any], answered: dict[str, Any], corpus: dict[str, str]) -> float:
    """The answer to one question, scored for another (or for itself)."""
    context = [corpus[one] for one in item["context_ids"] if one in corpus]
    request = EvaluationRequest(
        user_query=item["query"], submission=answered["answers"][0], team_id="benchmark", context=context
    )
    return metric.evaluate(request).score


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def auc(higher: list[float], lower: list[float]) -> float:
    won = sum((one > other) + 0.5 * (one == other) for one in higher for other in lower)
    return won / len(higher) / len(lower)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default=os.environ.get("VERACITY_DATA"), help="where the data lies")
    directory = parser.parse_args().data
    if not directory:
        parser.error("name the directory of the data, or set VERACITY_DATA")
    main(Path(directory))
