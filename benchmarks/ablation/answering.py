"""Answers of the extractive writer over kept evidence: right or rightly abstained, and what is released.

The sets of `benchmarks.answers`, the bundled handbook and the development parts of `benchmarks.real_documents`. The
evidence is that of a single search, kept from run to run: the rules that are switched off come after it. The writer
alone decides what is released, except over real documents, where review and metrics decide as in a run.

"right": 1 for a right answer and for no answer to a question that the evidence does not answer. "released": 1 for a
right answer that is released, -1 for an unfounded one, 0 for one that waits for a person, and for no answer.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

from benchmarks.ablation.items import MODELS, Context, Item
from benchmarks.answers.cases import HANDBOOKS, Case, CaseWithEvidence, load_cases
from benchmarks.answers.evidence import ItemStore
from benchmarks.answers.items import NAMES, load
from benchmarks.answers.items import Item as Question
from benchmarks.answers.outcome import make_outcome
from benchmarks.gate import Submission, check
from benchmarks.real_documents.__main__ import LANGUAGES, SETS, is_right, library, load_questions
from veracity.agents.base import WriterOutput, WritingTask
from veracity.evaluator import Evaluator
from veracity.models import Evidence
from veracity.retrieval import make_searcher

Evidences = Mapping[str, Sequence[Evidence]]  # by embedder


def answer_sets(context: Context, model: str) -> Iterator[Item]:
    for name in NAMES:
        for question, evidence in load_evidence(context, name, model):
            yield Item(question.language, _kind(question.answerable), _Answered(context, model, question, evidence))


def answer_handbook(context: Context, model: str) -> Iterator[Item]:
    for name in HANDBOOKS:
        for question, evidence in load_evidence(context, name, model):
            answered = _Answered(context, model, question, evidence, "handbook")
            yield Item(question.language, _kind(question.answerable), answered)


def _kind(answerable: bool) -> str:
    return "answerable" if answerable else "not answerable"


class _Answered:
    def __init__(
        self, context: Context, model: str, question: Question, evidence: Sequence[Evidence], figure: str = ""
    ) -> None:
        self._writer, self._question, self._evidence = context.writer_for(model), question, evidence
        self._figure = figure or f"answers ({question.language})"

    def __call__(self) -> Mapping[str, float]:
        written = self._writer.write(WritingTask(self._question.question, self._evidence, ()))
        outcome = make_outcome(self._question, self._evidence, written, 0.0)
        right = self._question.answerable and outcome.holds_gold is not False
        return _score(self._figure, self._question.answerable, written, right, not written.tentative)


def _score(figure: str, answerable: bool, written: WriterOutput, right: bool, released: bool) -> Mapping[str, float]:
    if written.abstains:
        return {f"{figure}, right": float(not answerable), f"{figure}, released": 0.0}
    value = 1.0 if right else -1.0
    return {f"{figure}, right": float(right), f"{figure}, released": value if released else 0.0}


def answer_real_documents(context: Context, model: str) -> Iterator[Item]:
    evaluator = Evaluator(settings=context.settings, only_named_judges=True)
    for collection, language in product(SETS, LANGUAGES):
        for row, evidence in load_real_evidence(context, collection, language, model):
            kind = _kind(row["expect"] == "answer")
            yield Item(language, kind, _AnsweredReally(context, model, row, evidence, evaluator))


class _AnsweredReally:
    def __init__(
        self, context: Context, model: str, row: dict[str, Any], evidence: Sequence[Evidence], evaluator: Evaluator
    ) -> None:
        self._context, self._writer = context, context.writer_for(model)
        self._row, self._evidence, self._evaluator = row, evidence, evaluator

    def __call__(self) -> Mapping[str, float]:
        written = self._writer.write(WritingTask(self._row["question"], self._evidence, ()))
        asked: Any = SimpleNamespace(draft=written, abstains=written.abstains)
        released = not (written.abstains or written.tentative) and not self._is_held(written.text)
        answerable = self._row["expect"] == "answer"
        return _score("real documents", answerable, written, answerable and is_right(self._row, asked), released)

    def _is_held(self, text: str) -> bool:
        key = (self._row["id"], text, tuple(item.id for item in self._evidence))
        if key not in self._context.checks:
            submission = Submission("", self._row["question"], text, self._evidence)
            self._context.checks[key] = check(submission, self._evaluator, self._context.settings).held
        return self._context.checks[key]


# --- evidence -------------------------------------------------------------------------------------------------------


def load_evidence(context: Context, name: str, model: str) -> list[CaseWithEvidence]:
    def find() -> list[tuple[Question, Evidences]]:
        cases = _handbook_cases(context, name) if name in HANDBOOKS else _sampled_cases(context, name)
        return [(question, _search(context, store, question.question)) for question, store in cases]

    return [(question, [*evidence[model]]) for question, evidence in _keep(context, name, find)]


def _handbook_cases(context: Context, name: str) -> list[Case]:
    return load_cases(context.directory, name, context.embedder)


def _sampled_cases(context: Context, name: str) -> Iterator[Case]:
    """Only the stores of the sample are built."""
    items, corpus = load(context.directory, name)
    sample = context.sample(items)
    whole = ItemStore(corpus.values(), context.embedder) if any(item.passages is None for item in sample) else None
    for item in sample:
        yield item, whole or ItemStore(item.passages or (), context.embedder)


def load_real_evidence(
    context: Context, collection: str, language: str, model: str
) -> list[tuple[dict[str, Any], Sequence[Evidence]]]:
    """Of the development part: the final part is never read here."""

    def find() -> list[tuple[dict[str, Any], Evidences]]:
        with library(context.clones, language, context.keep / collection, collection=collection) as engine:
            store = engine._parts.library.store
            rows = load_questions("dev", language, collection)
            return [(row, _search(context, store, row["question"])) for row in rows]

    return [(row, evidence[model]) for row, evidence in _keep(context, f"real_{collection}_{language}", find)]


def _search(context: Context, store: Any, question: str) -> Evidences:
    limit = context.settings.answering.evidence
    return {
        model: make_searcher(store, context.embedder_for(model), context.settings.retrieval).search(question, limit)
        for model in MODELS
    }


def _keep(context: Context, name: str, find: Callable[[], list[Any]]) -> list[Any]:
    """Stores what was found, because building the indexes takes longer than all answers."""
    file = context.keep / "evidence" / f"{name}-{context.size}.pickle"
    if not file.exists():
        found = find()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(found))
        context.embedder.save()
    loaded: list[Any] = pickle.loads(file.read_bytes())
    return loaded
