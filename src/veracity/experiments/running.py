"""Runs an experiment: plans it, runs what is left of it, and goes on after a kill."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypedDict

from pydantic import BaseModel, ConfigDict

from veracity.batches import run_all
from veracity.deadlines import Stop
from veracity.errors import BudgetError, InputError, VeracityError
from veracity.experiments import records
from veracity.experiments.case_runs import CaseRunner, Engine, Scorer
from veracity.experiments.conditions import Conditions
from veracity.experiments.records import Appender, CaseResult, Manifest, Records
from veracity.experiments.suite import MAX_REPEATS, Case, Suite, find_suite, open_suite
from veracity.models import NOTHING_USED, KnownDocument, Usage
from veracity.models.people import experiment_user
from veracity.secrets import presentable
from veracity.version import __version__

MAX_CONCURRENCY = 256
MAX_FAILURES = 10  # in a row, after which the rest is not tried

Key = tuple[str, int]  # a case and its repeat
Work = tuple[Case, int, int]  # a case, its repeat, and how often it failed before


class Workspace(Engine, Protocol):
    """The engine, and what a result depends on."""

    def documents(self, *, only: str | Sequence[str] = ()) -> list[KnownDocument]: ...

    @property
    def conditions(self) -> Conditions: ...


class ExperimentOptions(TypedDict, total=False):
    """The options of `Veracity.experiment`: fields of `Options`, with the same defaults."""

    name: str
    repeat: int | None
    sample: int | None
    seed: int
    concurrency: int
    budget_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`repeat` None uses that of the suite. `fresh` reuses no results of other experiments."""

    name: str = ""
    overrides: Sequence[str] = ()
    repeat: int | None = None
    sample: int | None = None
    seed: int = 0
    concurrency: int = 4
    budget_usd: float | None = None
    fresh: bool = False

    def check(self) -> None:
        """Raise `InputError` for a number out of range."""
        limits = (("repeat", self.repeat, MAX_REPEATS), ("sample", self.sample, None))
        for name, value, highest in (*limits, ("concurrency", self.concurrency, MAX_CONCURRENCY)):
            if value is not None and (value < 1 or (highest and value > highest)):
                raise InputError(
                    f"--{name} must be at least 1{f' and at most {highest}' if highest else ''}, not {value}."
                )
        if self.budget_usd is not None and not self.budget_usd > 0:
            raise InputError(f"--budget-usd must be more than 0, not {self.budget_usd}.")


class Forecast(BaseModel):
    """What is left to do. Calls, cost and seconds are estimated from `basis`, an earlier experiment; None without."""

    model_config = ConfigDict(frozen=True)

    total: int
    finished: int
    reused: int
    left: int
    calls: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    basis: str = ""


class Progress(BaseModel):
    """After each case. `usage` is of this process."""

    model_config = ConfigDict(frozen=True)

    result: CaseResult
    finished: int
    failed: int
    total: int
    usage: Usage


OnProgress = Callable[[Progress], None]


@dataclass(slots=True)
class Plan:
    """An experiment that is ready to run. `left` are the cases and repeats without a result."""

    suite: Suite
    records: Records
    options: Options
    chosen: tuple[str, ...]
    reusable: dict[Key, CaseResult]
    forecast: Forecast
    finished: set[Key] = field(default_factory=set)
    failures: Counter[Key] = field(default_factory=Counter)


def plan(engine: Workspace, workspace: Path, suite_name: str, options: Options) -> Plan:
    """Validate everything before anything is run. Continues an experiment that was not finished.

    From now on, the engine's metrics stay as they are: the manifest records them.
    """
    options.check()
    engine.conditions.evaluator.stop_reloading()
    suite = open_suite(find_suite(suite_name, workspace))
    require_documents(engine, suite)
    if suite.has_runs and not engine.documents():
        raise InputError("The workspace has no documents yet: add some with veracity ingest PATH.")
    if suite.settings.metrics:
        engine.conditions.require_metrics(suite.settings.metrics)
    manifest = _make_manifest(engine, suite, options)
    found, chosen = _find_or_create(workspace, suite, manifest, options), suite.sample(options.sample, options.seed)
    done = _finished(found, suite)
    reusable = {} if options.fresh else _reusable(workspace, found, chosen)
    return Plan(
        suite=suite,
        records=found,
        options=options,
        chosen=chosen,
        reusable={key: result for key, result in reusable.items() if key not in done},
        forecast=_forecast(workspace, found, len(done), set(reusable) - done),
        finished=done,
        failures=Counter((result.case, result.repeat) for result in found.results() if result.status == "failed"),
    )


def require_documents(engine: Workspace, suite: Suite) -> dict[str, frozenset[str]]:
    """The ids of the documents that each `must_cite` names. Raises `InputError` for one that matches none."""
    found: dict[str, frozenset[str]] = {}
    for name, case in suite.cited.items():
        try:
            found[name] = frozenset(document.id for document in engine.documents(only=name))
        except InputError:
            raise InputError(
                f'{suite.file}: the case "{presentable(case)}" must cite "{presentable(name)}", but no document '
                'matches that: run "veracity documents" to list them.'
            ) from None
    return found


def run(engine: Workspace, work: Plan, on_progress: OnProgress = lambda progress: None) -> Records:
    """Run what is left. Results are stored as they come; an exception or Ctrl-C interrupts those under way only.

    The engine can run nothing else afterwards.
    """
    stop, documents = Stop(), require_documents(engine, work.suite)
    manifest = work.records.manifest
    scorer = Scorer(engine.conditions.evaluator, work.suite.settings.metrics, experiment_user(manifest.name), stop)
    runner = CaseRunner(engine, scorer, manifest.name, manifest.identity, stop, documents)
    with work.records.open() as appender:
        work.finished |= _finished(work.records, work.suite)  # another process may have ended just before
        work.reusable = {key: result for key, result in work.reusable.items() if key not in work.finished}
        recorder = _Recorder(work, appender, on_progress)
        for result in work.reusable.values():
            recorder.add(result)

        def run_case(item: Work) -> None:
            if not recorder.is_closed:
                recorder.add(runner.run(*item))

        def stop_all() -> None:
            stop.set()
            engine.leave()

        run_all(run_case, _work(work), max(1, min(work.options.concurrency, work.forecast.left)), stop_all)
        recorder.require_no_problem()
    return work.records


class _Recorder:
    """Stores results, counts them, and closes when the budget is spent or nothing works any more."""

    def __init__(self, work: Plan, appender: Appender, on_progress: OnProgress) -> None:
        self._appender, self._on_progress, self._budget = appender, on_progress, work.options.budget_usd
        self._total, self._finished = work.forecast.total, len(work.finished)
        self._usage, self._failed, self._in_a_row = NOTHING_USED, 0, 0
        self._lock = threading.Lock()
        self._problem: VeracityError | None = None

    @property
    def is_closed(self) -> bool:
        return self._problem is not None

    def add(self, result: CaseResult) -> None:
        with self._lock:
            self._appender.append(result)
            has_failed = result.status == "failed"
            self._finished, self._failed = self._finished + (not has_failed), self._failed + has_failed
            self._in_a_row = self._in_a_row + 1 if has_failed else 0
            if not result.reused_from:
                self._usage += result.usage
            self._check(result)
            self._on_progress(
                Progress(
                    result=result, finished=self._finished, failed=self._failed, total=self._total, usage=self._usage
                )
            )

    def require_no_problem(self) -> None:
        if self._problem:
            raise self._problem

    def _check(self, result: CaseResult) -> None:
        if self._in_a_row >= MAX_FAILURES:
            self._problem = VeracityError(
                f"{MAX_FAILURES} cases in a row failed, and the rest was not tried. The last one: {result.problem}"
            )
        if self._budget is None:
            return
        if self._usage.cost_usd is None:
            self._problem = BudgetError(
                "The price of a model is not known, so --budget-usd cannot be kept: leave it out."
            )
        elif self._usage.cost_usd >= self._budget:
            self._problem = BudgetError(
                f"The budget of ${self._budget:g} is spent after {self._finished} of {self._total} cases: run the same "
                "command again to go on."
            )


def _finished(found: Records, suite: Suite) -> set[Key]:
    """A result of a case that was changed meanwhile does not count."""
    own = (result for result in found.finished() if suite.digests.get(result.case) == result.digest)
    return {(result.case, result.repeat) for result in own}


def _work(work: Plan) -> Iterator[Work]:
    """What is left, repeat by repeat, so that an experiment that is cut short has seen as many cases as possible."""
    for repeat in range(work.records.manifest.repeats):
        for case in work.suite.cases(work.chosen):
            key = (case.id, repeat)
            if key not in work.finished and key not in work.reusable:
                yield case, repeat, work.failures[key]


def _make_manifest(engine: Workspace, suite: Suite, options: Options) -> Manifest:
    return Manifest(
        name="",
        suite=suite.name,
        suite_file=str(suite.file),
        created=records.now(),
        version=__version__,
        models=engine.conditions.models(),
        overrides=list(options.overrides),
        hashes={**engine.conditions.hashes(), "suite": suite.digest},
        cases=len(suite.sample(options.sample, options.seed)),
        repeats=options.repeat or suite.settings.repeats,
        sample=options.sample,
        seed=options.seed,
        settings=suite.settings,
    )


def _find_or_create(workspace: Path, suite: Suite, manifest: Manifest, options: Options) -> Records:
    """The experiment to continue: the one with this name, or an unfinished one that would be the same. Else a new one.

    Raises `InputError` if the named one is another experiment: its results must not be mixed with these.
    """
    if not options.name:
        for other in records.list_experiments(workspace):
            if not _differences(other.manifest, manifest) and not other.is_complete:
                return other
    name = options.name or records.next_name(workspace, suite.name)
    folder = records.experiment_folder(workspace, name)
    if (folder / records.MANIFEST).exists():
        found = Records.load(folder)
        if changed := _differences(found.manifest, manifest):
            raise InputError(
                f'The experiment "{name}" was run before the {_join(changed)} changed: choose another --name, so that '
                "results are not mixed."
            )
        return found
    created = Records(folder, manifest.model_copy(update={"name": name}))
    created.create()
    return created


def _differences(before: Manifest, after: Manifest) -> list[str]:
    """The names of what differs."""
    changed = [name for name in after.hashes if before.hashes.get(name) != after.hashes[name]]
    options = ("repeats", "sample", "seed") if after.sample is not None else ("repeats", "sample")
    return changed + [name for name in options if getattr(before, name) != getattr(after, name)]


def _reusable(workspace: Path, own: Records, chosen: Iterable[str]) -> dict[Key, CaseResult]:
    """Results of other experiments in which everything was the same."""
    wanted, found = set(chosen), dict[Key, CaseResult]()
    for other in records.list_experiments(workspace):
        if other.folder == own.folder or other.manifest.fingerprint != own.manifest.fingerprint:
            continue
        for result in other.finished():
            if result.case in wanted and result.repeat < own.manifest.repeats:
                origin = result.reused_from or other.manifest.name
                copy = result.model_copy(update={"reused_from": origin, "attempt": 0})
                found.setdefault((result.case, result.repeat), copy)
    return found


def _forecast(workspace: Path, own: Records, finished: int, reused: set[Key]) -> Forecast:
    total, left = own.manifest.total, own.manifest.total - finished - len(reused)
    known = {"total": total, "finished": finished, "reused": len(reused), "left": left}
    for other in [own, *records.list_experiments(workspace)]:
        results = [] if other.manifest.suite != own.manifest.suite else list(_costs(other))
        if results and other.manifest.models == own.manifest.models:
            usage, seconds = sum((used for used, _ in results), NOTHING_USED), sum(spent for _, spent in results)
            share = left / len(results)
            cost = None if usage.cost_usd is None else usage.cost_usd * share
            estimated = {"calls": round(usage.calls * share), "cost_usd": cost, "seconds": seconds * share}
            return Forecast.model_validate({**known, **estimated, "basis": other.manifest.name})
    return Forecast.model_validate(known)


def _costs(other: Records) -> Iterator[tuple[Usage, float]]:
    return ((result.usage, result.seconds) for result in other.finished() if not result.reused_from)


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
