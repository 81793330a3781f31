"""How well the local metrics distinguish a reference answer from an answer to another question.

    python benchmarks/local_metrics.py DIRECTORY      (or set VERACITY_DATA to the directory)

The directory contains `clapnq.items.jsonl` and `clapnq.corpus.jsonl` (ClapNQ: questions with long reference answers and
their passages). Each answer is scored for its own question and passages, and for those of another question. AUC is the
probability that a reference answer scores higher than the answer to another question. The other question is usually
about another topic, so this is the easy case: it does not show that subtle errors are detected (for those see
`grounding_wice.py`). The reference answers were written by people, not copied: their low Groundedness scores are false
alarms.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from veracity import BaseMetric, EvaluationRequest
from veracity.evaluator.metrics.groundedness import Groundedness
from veracity.evaluator.metrics.question_coverage import QuestionCoverage

OTHER_QUESTION_DISTANCE = 7


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(data: Path) -> None:
    corpus = {row["_id"]: row["text"] for row in read_rows(data / "clapnq.corpus.jsonl")}
    items = [row for row in read_rows(data / "clapnq.items.jsonl") if row["answerable"] and row["answers"]]
    print(f"ClapNQ, {len(items)} questions\n{'metric':<20}{'own':>8}{'other':>10}{'AUC':>8}")
    for metric in (QuestionCoverage(), Groundedness()):
        own = [score(metric, item, item, corpus) for item in items]
        other = [
            score(metric, item, items[index - OTHER_QUESTION_DISTANCE], corpus) for index, item in enumerate(items)
        ]
        print(f"{type(metric).__name__:<20}{mean(own):>8.1f}{mean(other):>10.1f}{auc(own, other):>8.3f}")


def score(metric: BaseMetric, item: dict[str, Any], answered: dict[str, Any], corpus: dict[str, str]) -> float:
    """Scores the answer of `answered` for the question of `item`."""
    context = [corpus[name] for name in item["context_ids"] if name in corpus]
    request = EvaluationRequest(
        user_query=item["query"], submission=answered["answers"][0], team_id="benchmark", context=context
    )
    return metric.evaluate(request).score


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def auc(higher: list[float], lower: list[float]) -> float:
    wins = sum((high > low) + 0.5 * (high == low) for high in higher for low in lower)
    return wins / len(higher) / len(lower)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default=os.environ.get("VERACITY_DATA"), help="directory of the data")
    directory = parser.parse_args().data
    if not directory:
        parser.error("pass the directory of the data or set VERACITY_DATA")
    main(Path(directory))
