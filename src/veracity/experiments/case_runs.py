"""Runs one case through the engine and judges the outcome.

A case is a run of the engine like any other, with a receipt. Its key in the ledger names the case, so that a killed
experiment finds the run again instead of asking twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from veracity.deadlines import Stop
from veracity.errors import ShutdownError, VeracityError
from veracity.evaluator import Evaluator
from veracity.experiments.records import CaseResult
from veracity.experiments.suite import Case
from veracity.language import content_tokens, guess_language, normalized
from veracity.language.citations import without_marks
from veracity.ledger.membership import Membership
from veracity.llm import Budget
from veracity.models import (
    NOTHING_USED,
    Answer,
    EvaluationRequest,
    EvaluationResult,
    Receipt,
    RunEvent,
    RunProgress,
    RunStanding,
    RunStatus,
    RunSummary,
    Usage,
)
from veracity.models.people import experiment_user
from veracity.printable import encodable
from veracity.runs.outcome import doubt_about
from veracity.settings import Settings

UNFINISHED = ("running", "interrupted")
WORKER_SECONDS = 10.0  # between two looks whether there are workers
POLL_SECONDS = 0.1


class Engine(Protocol):
    """What an experiment needs of `veracity.Veracity`."""

    @property
    def settings(self) -> Settings: ...

    @property
    def configuration(self) -> str: ...

    @property
    def membership(self) -> Membership: ...

    def begin(
        self, question: str, *, conversation: str = "", key: str = "", queued: bool = False, experiment: str = ""
    ) -> str: ...

    def standing(self, run_id: str) -> RunStanding: ...

    def run_statuses(self, run_ids: Sequence[str]) -> dict[str, RunStatus]: ...

    def asked(self, *, user: str = ..., key: str) -> RunSummary | None: ...

    def resume(self, run_id: str) -> Iterator[RunEvent]: ...

    def receipt(self, run: str) -> Receipt: ...

    def progress(self, run_id: str) -> RunProgress: ...

    def leave(self) -> None: ...


@dataclass(slots=True)
class Spent:
    """What a case has used so far: also one that fails costs money."""

    usage: Usage = NOTHING_USED

    def add(self, usage: Usage) -> None:
        self.usage += usage


class Scorer:
    """Scores answers with the metrics of the workspace, or the named ones. `stop` ends evaluations under way.

    What is the same for all answers is done once: nothing may change while an experiment runs.
    """

    def __init__(self, evaluator: Evaluator, metrics: Sequence[str], user: str, stop: Stop) -> None:
        self._evaluator, self._user, self._stop = evaluator, user, stop
        self._chosen = evaluator.choose(metrics) if metrics else None
        self._limits = evaluator.settings.budget

    @property
    def has_own_metrics(self) -> bool:
        return self._chosen is not None

    def score(self, question: str, answer: str, context: Sequence[str], spent: Spent) -> EvaluationResult:
        budget = Budget(self._limits.tokens, self._limits.cost_usd)
        request = EvaluationRequest(
            user_query=encodable(question),
            submission=encodable(answer),
            team_id=self._user,
            context=[encodable(text) for text in context],
            config=self._chosen,
        )
        try:
            return self._evaluator.evaluate(request, budget=budget, stop=self._stop)
        finally:
            spent.add(budget.spent)


class CaseRunner:
    """Runs the cases of one experiment. `stop` ends the wait for workers; `documents` are the ids of those that
    `must_cite` names."""

    def __init__(
        self,
        engine: Engine,
        scorer: Scorer,
        experiment: str,
        identity: str,
        stop: Stop,
        documents: Mapping[str, Collection[str]],
    ) -> None:
        self._engine = engine
        self._scorer = scorer
        self._approval = engine.settings.approval  # one gate for all cases, also if it is calibrated meanwhile
        self._experiment, self._identity = experiment, identity
        self._user = experiment_user(experiment)
        self._stop = stop
        self._documents = documents
        self._uses_workers = has_workers(engine)
        self._statuses = _Statuses(engine)

    def run(self, case: Case, repeat: int, attempt: int) -> CaseResult:
        """A case that cannot be run is a result, too: one with a problem. `attempt` counts such results before."""
        spent = Spent()
        try:
            if case.submission is not None:
                return self._score(case, repeat, attempt, spent)
            return self._ask(case, repeat, attempt, spent)
        except ShutdownError:
            raise
        except VeracityError as problem:
            return _result(case, repeat, attempt, status="failed", problem=str(problem), usage=spent.usage)

    def _ask(self, case: Case, repeat: int, attempt: int, spent: Spent) -> CaseResult:
        name = f"{case.id}#{repeat}#{attempt}#{self._identity}#{case.digest}"
        conversation = name if case.history else ""
        questions = enumerate((*case.history, case.question))
        turns = [self._run(question, conversation, f"{name}#{number}", spent) for number, question in questions]
        return self._judge(case, repeat, attempt, turns, spent)

    def _run(self, question: str, conversation: str, key: str, spent: Spent) -> Answer:
        """The answer of the run with this key, which may have begun or even ended before a kill."""
        run = self._engine.asked(user=self._user, key=key)
        if run is None:
            run_id = self._engine.begin(
                question, conversation=conversation, key=key, queued=self._uses_workers, experiment=self._experiment
            )
        else:
            run_id = run.run_id
        try:
            if run is None or run.status in UNFINISHED:
                self._finish(run_id)
            answer = self._answer(run_id)
        except ShutdownError:
            raise
        except VeracityError:
            spent.add(self._engine.receipt(run_id).usage)
            raise
        spent.add(answer.usage)
        return answer

    def _answer(self, run_id: str) -> Answer:
        progress = self._engine.progress(run_id)
        if progress.answer is None:
            raise VeracityError(progress.run.problem or f'The run "{run_id}" did not end: run the experiment again.')
        return progress.answer

    def _finish(self, run_id: str) -> None:
        """Run it here, or wait for the workers while there are any. What a worker has left unfinished runs here."""
        while self._uses_workers and has_workers(self._engine):
            end = time.monotonic() + WORKER_SECONDS
            while time.monotonic() < end:
                if self._statuses.has_ended(run_id):
                    return
                if self._stop.is_set:
                    raise ShutdownError("The experiment was stopped.")
                time.sleep(POLL_SECONDS)
        while True:
            for _ in self._engine.resume(run_id):
                pass
            if self._engine.standing(run_id).status not in UNFINISHED:
                return
            time.sleep(POLL_SECONDS)

    def _judge(self, case: Case, repeat: int, attempt: int, turns: Sequence[Answer], spent: Spent) -> CaseResult:
        answer = turns[-1]
        is_answered = answer.status == "answered"
        scores = {score.metric_name: score.score for score in answer.grounding}
        evaluation = answer.evaluation
        if is_answered and self._scorer.has_own_metrics:
            evidence = [item.text for item in answer.evidence]
            evaluation = self._scorer.score(case.question, answer.text, evidence, spent)
        if evaluation:
            scores |= {score.metric_name: score.score for score in evaluation.metrics}
        faults = list(find_faults(case, answer, self._documents))
        return _result(
            case,
            repeat,
            attempt,
            status="answered" if is_answered else "abstained",
            passed=not faults,
            faults=faults,
            held=doubt_about(answer, self._approval.for_language(answer.language)) if is_answered else None,
            score=answer.score,
            metrics=scores,
            run_id=answer.run_id,
            usage=spent.usage,
            seconds=sum(turn.seconds for turn in turns),
        )

    def _score(self, case: Case, repeat: int, attempt: int, spent: Spent) -> CaseResult:
        result = self._scorer.score(case.question, case.submission or "", case.context, spent)
        score = result.overall_score / 100
        threshold = self._approval.for_language(guess_language(case.question)).threshold
        is_released = score >= threshold
        passed = is_released == (case.expect == "answer")
        fault = f"released with a score of {score:.2f}" if is_released else f"held with a score of {score:.2f}"
        return _result(
            case,
            repeat,
            attempt,
            status="scored",
            passed=passed,
            faults=[] if passed else [fault],
            held=None if is_released else "low_score",
            score=score,
            metrics={item.metric_name: item.score for item in result.metrics},
            usage=spent.usage,
            seconds=result.seconds,
        )


class _Statuses:
    """The runs that threads wait for. One of them asks for all, at most every `POLL_SECONDS`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._awaited: set[str] = set()
        self._ended: set[str] = set()
        self._asked = 0.0

    def has_ended(self, run_id: str) -> bool:
        with self._lock:
            self._awaited.add(run_id)
            if time.monotonic() - self._asked >= POLL_SECONDS:
                found = self._engine.run_statuses([*self._awaited])
                self._ended |= {name for name, status in found.items() if status not in UNFINISHED}
                self._asked = time.monotonic()
            if run_id not in self._ended:
                return False
            self._awaited.discard(run_id)
            self._ended.discard(run_id)
            return True


def has_workers(engine: Engine) -> bool:
    """Whether workers with the same settings share the ledger: then they answer the cases."""
    if not engine.settings.store.ledger:
        return False
    own = engine.configuration
    return any(member.kind == "worker" and member.configuration == own for member in engine.membership.list_alive())


def find_faults(case: Case, answer: Answer, documents: Mapping[str, Collection[str]]) -> Iterator[str]:
    """What the answer lacks of what the case expects. They name the suite's words only, never the answer's."""
    if case.expect == "abstain":
        if answer.status == "answered":
            yield "answered, though the documents do not say"
        return
    if answer.status != "answered":
        yield "abstained"
        return
    text = without_marks(answer.text)
    if case.answers and not any(contains(text, expected) for expected in case.answers):
        yield f"does not say “{case.answers[0]}”"
    for forbidden in case.forbid:
        if contains_literally(text, forbidden):
            yield f"says “{forbidden}”"
    cited = {citation.document_id for sentence in answer.sentences for citation in sentence.citations}
    for document in case.must_cite:
        if cited.isdisjoint(documents.get(document, ())):
            yield f"does not cite {document}"


def contains(text: str, expected: str) -> bool:
    """Whether the text has the expected words, literally, or all that carry content: an answer may word it freely."""
    if contains_literally(text, expected):
        return True
    words = {token.casefold() for token in content_tokens(text)}
    wanted = {token.casefold() for token in content_tokens(expected)}
    return bool(wanted) and wanted <= words


def contains_literally(text: str, expected: str) -> bool:
    """Also within a word, except for a number within a number: 4 is not in 24."""
    whole, part = (" ".join(normalized(item).casefold().split()) for item in (text, expected))
    start = whole.find(part)
    while start >= 0:
        before, after = whole[:start][-1:], whole[start + len(part) :][:1]
        if not (part[:1].isdigit() and before.isdigit()) and not (part[-1:].isdigit() and after.isdigit()):
            return True
        start = whole.find(part, start + 1)
    return False


def _result(case: Case, repeat: int, attempt: int, **outcome: object) -> CaseResult:
    return CaseResult.model_validate(
        {
            "case": case.id,
            "repeat": repeat,
            "attempt": attempt,
            "digest": case.digest,
            "group": case.group,
            "language": case.asked_in,
            "tags": case.tags,
            "expect": case.expect,
            **outcome,
        }
    )
