"""Is the gate worth having when no model judges? How many right answers it sends to a person, how many wrong ones out.

    python -m benchmarks.gating DIRECTORY [--sets clapnq rgb jsquad] [--keep FOLDER]

The directory holds what `benchmarks.answering` reads; VERACITY_DATA can name it as well. The writer that needs no model
answers each question over its evidence; the local metrics score every answer as a run scores it; below the threshold
of the settings a person is asked ("held"), from it on the answer goes out ("released"). The bar: at most 20 % of the
right answers of clapnq are held.

An answer is right if it holds the known answer. What was said though the evidence does not hold the answer counts
apart. Three kinds are made wrong on purpose: right answers to another question, scored with the evidence of that one,
so that they are grounded and beside the point; right answers in which one number is changed; and, where people wrote
answers (clapnq), the same two of these, a [1] at the end of each sentence. Those stand in for what a model would write.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.answering.__main__ import Case, cases
from benchmarks.answering.evidence import RememberingEmbedder
from benchmarks.answering.measuring import outcome
from benchmarks.answering.sets import lines
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.agents.writer import WritingTask
from veracity.embedding import make_embedder
from veracity.evaluator import Evaluator
from veracity.language import sentences
from veracity.models import EvaluationRequest
from veracity.settings import Settings

SETS = ("clapnq", "rgb", "jsquad")
STRAY = 7  # how far away the other question stands
BAR = 0.2
# Numbers that are no marks of citation.
NUMBER = re.compile(r"(?<![\[\d.,])\d[\d,]{0,15}(?![\d\]])")


class Given(NamedTuple):
    """An answer on its way to the gate."""

    kind: str
    question: str
    text: str
    context: list[str]


class Passed(NamedTuple):
    kind: str
    released: bool
    seconds: float


def extracts(given: Sequence[Case], writer: ExtractiveWriter) -> Iterator[Given]:
    """What the writer says, where it does not abstain."""
    for item, evidence in given:
        written = writer.write(WritingTask(item.question, evidence, ()))
        if written.abstains:
            continue
        holds = outcome(item, evidence, written, 0.0).holds_gold
        kind = ("right" if holds else "wrong") if item.answerable else "not answerable"
        yield Given(kind, item.question, written.text, [headed(one.text, one.title, *one.headings) for one in evidence])


def headed(text: str, *above: str) -> str:
    """As a run hands it to the metrics: title and headings in the line above."""
    head = " › ".join(dict.fromkeys(filter(None, above)))
    return f"{head}\n{text}" if head else text


def written_by_people(folder: Path) -> Iterator[Given]:
    texts = {row["_id"]: headed(row["text"], row.get("title") or "") for row in lines(folder / "clapnq.corpus.jsonl")}
    for row in lines(folder / "clapnq.items.jsonl"):
        if row["answerable"] and row["answers"]:
            cited = " ".join(f"{sentence.text} [1]" for sentence in sentences(row["answers"][0]))
            yield Given("by people", row["query"], cited, [texts[name] for name in row["context_ids"]])


def spoilt(right: Sequence[Given]) -> Iterator[Given]:
    """The same answers made wrong, in two ways."""
    after = ", by people" if right and right[0].kind == "by people" else ""
    for place, own in enumerate(right):
        other = right[place - STRAY]
        if other.question != own.question:
            yield other._replace(kind=f"to another question{after}", question=own.question)
        if (text := with_another_number(own.text)) is not None:
            yield own._replace(kind=f"a number changed{after}", text=text)


def with_another_number(text: str) -> str | None:
    found = list(NUMBER.finditer(text))
    if not found:
        return None
    one = random.Random(text).choice(found)
    return f"{text[: one.start()]}{int(one[0].replace(',', '')) + 7}{text[one.end() :]}"


def passed(given: Given, evaluator: Evaluator, threshold: float) -> Passed:
    result = evaluator.evaluate(
        EvaluationRequest(user_query=given.question, submission=given.text, context=given.context, team_id="benchmark")
    )
    return Passed(given.kind, result.overall_score / 100 >= threshold, result.seconds)


def report(name: str, judged: Sequence[Passed], language: str) -> None:
    milliseconds = fmean(one.seconds for one in judged) * 1000
    print(f"\n{name} ({language}), {len(judged)} answers, {milliseconds:.1f} ms to score one")
    print(f"  {'':30}{'answers':>8}{'held':>8}{'released':>10}")
    for kind in dict.fromkeys(one.kind for one in judged):
        released = [one.released for one in judged if one.kind == kind]
        out = sum(released)
        told = f" (bar: at most {BAR:.0%} held)" if (name, kind) == ("clapnq", "right") else ""
        print(f"  {kind:30}{len(released):>8}{1 - out / len(released):>8.1%}{out:>10}{told}", flush=True)


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(queries=5000)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS])
    given = parser.parse_args()
    folder = data_folder(given.directory)
    embedder = RememberingEmbedder(make_embedder("bundled"), given.keep / "vectors.pickle" if given.keep else None)
    evaluator, threshold = Evaluator(settings=Settings(), only_named_judges=True), Settings().approval.threshold
    for name in given.sets:
        found = cases(folder, name, embedder)[: given.queries]
        answers = sorted(extracts(found, ExtractiveWriter(embedder)), key=lambda one: ORDER.index(one.kind))
        answers += spoilt([one for one in answers if one.kind == "right"])
        if name == "clapnq":
            people = list(written_by_people(folder))
            answers += [*people, *spoilt(people)]
        report(name, [passed(one, evaluator, threshold) for one in answers], found[0][0].language)


ORDER = ("right", "wrong", "not answerable")


if __name__ == "__main__":
    main()
