"""How well the local metrics distinguish a reference answer from an answer to another question; what long texts cost.

    python benchmarks/local_metrics.py DIRECTORY      (or set VERACITY_DATA to the directory)
    python benchmarks/local_metrics.py --growth       (needs no data)

The directory contains `clapnq.items.jsonl` and `clapnq.corpus.jsonl` (ClapNQ: questions with long reference answers and
their passages). Each answer is scored for its own question and passages, and for those of another question. AUC is the
probability that a reference answer scores higher than the answer to another question. The other question is usually
about another topic, so this is the easy case: it does not show that subtle errors are detected (for those see
`grounding_wice.py`). The reference answers were written by people, not copied: their low Groundedness scores are false
alarms.

With `--growth`, the three default metrics score an answer of 12,000 characters with as many of context, and one of
48,000: the CPU seconds, and their ratio, of the fastest of three rounds. The bar is a ratio of 5. Each round has texts
of its own, so that nothing is cached.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veracity import BaseMetric, EvaluationRequest
from veracity.evaluator.metrics.answers_question import AnswersQuestion
from veracity.evaluator.metrics.citation_accuracy import CitationAccuracy
from veracity.evaluator.metrics.groundedness import Groundedness
from veracity.evaluator.metrics.question_coverage import QuestionCoverage

OTHER_QUESTION_DISTANCE = 7
SIZES = (12_000, 48_000)  # characters
ROUNDS = 3
DEFAULT_METRICS = (Groundedness(), QuestionCoverage(), CitationAccuracy())

Sentence = Callable[[int], str]
# By name: the question, and the sentences of the answer and of its context, by number.
TEXTS: dict[str, tuple[str, Sentence, Sentence]] = {
    "en, one sentence repeated": (
        "How long is the warranty in Dublin?",
        lambda n: f"It lasts {n // 100_000 + 24} months. ",
        lambda n: f"The warranty lasts {n // 100_000 + 24} months. ",
    ),
    "en, all different": (
        "How long is the warranty in Dublin?",
        lambda n: f"Product {n} lasts {n % 40} months [1]. ",
        lambda n: f"The warranty of product {n} lasts {n % 37} months. ",
    ),
    "zh, all different": (
        "都柏林的保修期是多久？",
        lambda n: f"产品{n}的期限是{n % 40}个月[1]。",
        lambda n: f"产品{n}的保修期限为{n % 37}个月。",
    ),
    "ja, all different": (
        "ダブリンの保証期間はどのくらいですか？",
        lambda n: f"製品{n}は{n % 40}か月です[1]。",
        lambda n: f"製品{n}の保証期間は{n % 37}か月です。",
    ),
}


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(data: Path) -> None:
    corpus = {row["_id"]: row["text"] for row in read_rows(data / "clapnq.corpus.jsonl")}
    items = [row for row in read_rows(data / "clapnq.items.jsonl") if row["answerable"] and row["answers"]]
    print(f"ClapNQ, {len(items)} questions\n{'metric':<20}{'own':>8}{'other':>10}{'AUC':>8}")
    for metric in (QuestionCoverage(), AnswersQuestion(), Groundedness()):
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


def measure_growth() -> None:
    print(f"| texts | {' | '.join(f'{size:,} characters' for size in SIZES)} | ratio |\n|---|---|---|---|")
    for name in TEXTS:
        cpu_seconds(name, 1000, ROUNDS)  # loads the word lists
        short, long = (min(cpu_seconds(name, size, number) for number in range(ROUNDS)) for size in SIZES)
        print(f"| {name} | {short:.2f} s | {long:.2f} s | {long / short:.1f} |", flush=True)


def cpu_seconds(name: str, size: int, number: int) -> float:
    """For all metrics. `number` makes the texts different from those of another round."""
    question, answer, context = TEXTS[name]
    first = (number + 10 * SIZES.index(size) if size in SIZES else 90) * 100_000
    request = EvaluationRequest(
        user_query=question, submission=fill(answer, first, size), team_id="t", context=[fill(context, first, size)]
    )
    started = time.process_time()
    for metric in DEFAULT_METRICS:
        metric.evaluate(request)
    return time.process_time() - started


def fill(sentence: Sentence, first: int, size: int) -> str:
    """Sentences of at least `size` characters."""
    text = ""
    while len(text) < size:
        text += sentence(first)
        first += 1
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default=os.environ.get("VERACITY_DATA"), help="directory of the data")
    parser.add_argument("--growth", action="store_true", help="measure long texts instead")
    arguments = parser.parse_args()
    if arguments.growth:
        measure_growth()
    elif not arguments.data:
        parser.error("pass the directory of the data or set VERACITY_DATA")
    else:
        main(Path(arguments.data))
