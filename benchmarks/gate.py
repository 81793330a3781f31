"""The approval gate without a judge model: how many right answers it holds back, and how many wrong ones it releases.

    python -m benchmarks.gate DIRECTORY [--sets clapnq rgb jsquad] [--keep FOLDER]

The directory contains the data of `benchmarks.answers`; it can also be set as VERACITY_DATA. The extractive writer
answers each question over its evidence, and each answer is reviewed and scored by local checks as in a run. An answer
waits for approval ("held") if its score is below the threshold of the settings, if its grounding is below the floor, or
if it fails its review; otherwise it is "released". The bar: at most 20 % of the right answers of clapnq are held.

An answer is right if it contains the gold answer. Answers to unanswerable questions are counted separately. Right
answers are also made wrong on purpose: given to another question with their own evidence, so that they are grounded but
irrelevant, and with one number changed. Both are repeated with the answers that people wrote (clapnq), with a [1] after
each sentence, as a substitute for what a model would write.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.answers.cases import CaseWithEvidence, load_cases_with_evidence
from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.answers.items import read_lines
from benchmarks.answers.outcome import make_outcome
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.base import ReviewTask, WritingTask
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.agents.local_reviewer import LocalReviewer
from veracity.embedding import make_embedder
from veracity.evaluator import Evaluator
from veracity.language import sentences
from veracity.models import EvaluationRequest, Evidence, EvidenceMetadata
from veracity.settings import Settings

SETS = ("clapnq", "rgb", "jsquad")
KINDS = ("right", "wrong", "not answerable")  # in the order of the table
OTHER_QUESTION_DISTANCE = 7
MAX_HELD = 0.2
GROUNDING = ("Groundedness", "CitationAccuracy")
REASONS = ("low_score", "low_grounding", "review_failed")
# Numbers that are not citations.
NUMBER = re.compile(r"(?<![\[\d.,])\d[\d,]{0,15}(?![\d\]])")


class Submission(NamedTuple):
    """An answer to be scored."""

    kind: str
    question: str
    text: str
    evidence: Sequence[Evidence]


class GateResult(NamedTuple):
    """`low_score`, `low_grounding` and `review_failed` are the reasons to hold an answer."""

    kind: str
    low_score: bool
    low_grounding: bool
    review_failed: bool
    seconds: float

    @property
    def held(self) -> bool:
        return self.low_score or self.low_grounding or self.review_failed


def extractive_answers(cases: Sequence[CaseWithEvidence], writer: ExtractiveWriter) -> Iterator[Submission]:
    """The writer's answers, without abstentions."""
    for item, evidence in cases:
        written = writer.write(WritingTask(item.question, evidence, ()))
        if written.abstains:
            continue
        is_right = make_outcome(item, evidence, written, 0.0).holds_gold
        kind = ("right" if is_right else "wrong") if item.answerable else "not answerable"
        yield Submission(kind, item.question, written.text, evidence)


def with_headings(passage: Evidence) -> str:
    """The context as a run passes it to the metrics: title and headings in the first line."""
    head = " › ".join(dict.fromkeys(filter(None, (passage.title, *passage.headings))))
    return f"{head}\n{passage.text}" if head else passage.text


def human_answers(folder: Path) -> Iterator[Submission]:
    passages = {row["_id"]: make_evidence(row) for row in read_lines(folder / "clapnq.corpus.jsonl")}
    for row in read_lines(folder / "clapnq.items.jsonl"):
        if row["answerable"] and row["answers"]:
            cited = " ".join(f"{sentence.text} [1]" for sentence in sentences(row["answers"][0]))
            yield Submission("by people", row["query"], cited, [passages[name] for name in row["context_ids"]])


def make_evidence(row: dict[str, Any]) -> Evidence:
    return Evidence(
        id=row["_id"],
        text=row["text"],
        source="knowledge",
        document_id=row["_id"],
        title=row.get("title") or "",
        location="",
        headings=[],
        page=None,
        start=0,
        end=len(row["text"]),
        language="en",
        metadata=EvidenceMetadata(relevance_score=0.0),
    )


def make_wrong(right: Sequence[Submission]) -> Iterator[Submission]:
    """The same answers made wrong in two ways."""
    suffix = ", by people" if right and right[0].kind == "by people" else ""
    for index, own in enumerate(right):
        other = right[index - OTHER_QUESTION_DISTANCE]
        if other.question != own.question:
            yield other._replace(kind=f"to another question{suffix}", question=own.question)
        if (text := change_number(own.text)) is not None:
            yield own._replace(kind=f"a number changed{suffix}", text=text)


def change_number(text: str) -> str | None:
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return None
    number = random.Random(text).choice(numbers)
    return f"{text[: number.start()]}{int(number[0].replace(',', '')) + 7}{text[number.end() :]}"


def check(submission: Submission, evaluator: Evaluator, settings: Settings) -> GateResult:
    started = time.perf_counter()
    result = evaluator.evaluate(
        EvaluationRequest(
            user_query=submission.question,
            submission=submission.text,
            context=[with_headings(passage) for passage in submission.evidence],
            team_id="benchmark",
        )
    )
    review = LocalReviewer().review(ReviewTask(submission.question, submission.text, submission.evidence))
    grounding = min(metric.score for metric in result.metrics if metric.metric_name in GROUNDING)
    return GateResult(
        submission.kind,
        low_score=result.overall_score / 100 < settings.approval.threshold,
        low_grounding=grounding / 100 < settings.approval.grounding_floor,
        review_failed=review.outcome == "failed" and review.confidence >= settings.answering.least_confidence,
        seconds=time.perf_counter() - started,
    )


def print_results(name: str, results: Sequence[GateResult], language: str) -> None:
    milliseconds = fmean(result.seconds for result in results) * 1000
    print(f"\n{name} ({language}), {len(results)} answers, {milliseconds:.1f} ms per answer")
    print(f"  {'':30}{'answers':>8}{'held':>8}{'released':>10}   held by: {'score':>5}{'grounding':>11}{'review':>8}")
    for kind in dict.fromkeys(result.kind for result in results):
        of_kind = [result for result in results if result.kind == kind]
        held = sum(result.held for result in of_kind)
        reasons = [sum(getattr(result, reason) for result in of_kind) for reason in REASONS]
        by_reason = f"{reasons[0]:>17}{reasons[1]:>11}{reasons[2]:>8}"
        bar = f" (bar: at most {MAX_HELD:.0%} held)" if (name, kind) == ("clapnq", "right") else ""
        row = f"  {kind:30}{len(of_kind):>8}{held / len(of_kind):>8.1%}{len(of_kind) - held:>10}{by_reason}{bar}"
        print(row, flush=True)


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(queries=5000)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS])
    chosen = parser.parse_args()
    folder = data_folder(chosen.directory)
    embedder = CachingEmbedder(make_embedder("bundled"), chosen.keep / "vectors.pickle" if chosen.keep else None)
    settings = Settings()
    evaluator = Evaluator(settings=settings, only_named_judges=True)
    for name in chosen.sets:
        cases = load_cases_with_evidence(folder, name, embedder)[: chosen.queries]
        written = extractive_answers(cases, ExtractiveWriter(embedder))
        answers = sorted(written, key=lambda answer: KINDS.index(answer.kind))
        answers += make_wrong([answer for answer in answers if answer.kind == "right"])
        if name == "clapnq":
            human = list(human_answers(folder))
            answers += [*human, *make_wrong(human)]
        print_results(name, [check(answer, evaluator, settings) for answer in answers], cases[0][0].language)


if __name__ == "__main__":
    main()
