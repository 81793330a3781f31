"""Experiments of the workspace: list, results, and comparisons. For approvers, because cases quote anyone's questions.

Experiments run on the command line or from Python, never by a request.
"""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from veracity.errors import InputError, NotFoundError
from veracity.experiments.comparison import Comparison, compare
from veracity.experiments.intervals import Interval
from veracity.experiments.records import Records, experiment_folder, list_experiments
from veracity.experiments.summary import Summary, summarize
from veracity.secrets import presentable
from veracity.server.auth import ApproverCaller, AuthenticatedRoute, Engine
from veracity.server.errors import error_responses
from veracity.server.permissions import redact_paths

MAX_LISTED = 100

router = APIRouter(prefix="/api/experiments", tags=["experiments"], route_class=AuthenticatedRoute)


class ExperimentRow(BaseModel):
    """One experiment in the list."""

    name: str
    suite: str
    created: datetime
    overrides: list[str] = Field(description="settings that were changed for it")
    finished: int
    failed: int = Field(description="cases that could not be run")
    total: int
    passed: Interval | None


@router.get("", responses=error_responses(400, 403))
def list_all(caller: ApproverCaller, engine: Engine) -> list[ExperimentRow]:
    """The latest hundred experiments, newest first."""
    return redact_paths([_row(summarize(records)) for records in list_experiments(engine.root)[:MAX_LISTED]], caller)


@router.get("/{name}", responses=error_responses(400, 403, 404))
def show(name: str, caller: ApproverCaller, engine: Engine) -> Summary:
    """The rates and scores of an experiment with their intervals, and the cases that did not pass."""
    return redact_paths(summarize(_find(engine, name)), caller)


@router.get("/{name}/against/{other}", responses=error_responses(400, 403, 404))
def compare_with(name: str, other: str, caller: ApproverCaller, engine: Engine) -> Comparison:
    """Whether an experiment is better than another one, worse, equivalent, or whether that cannot be told yet."""
    return redact_paths(compare(_find(engine, other), _find(engine, name)), caller)


def _find(engine: Engine, name: str) -> Records:
    try:
        return Records.load(experiment_folder(engine.root, name))
    except InputError as problem:
        raise NotFoundError(f'There is no experiment "{presentable(name)}".') from problem


def _row(summary: Summary) -> ExperimentRow:
    manifest = summary.manifest
    return ExperimentRow(
        name=manifest.name,
        suite=manifest.suite,
        created=manifest.created,
        overrides=manifest.overrides,
        finished=summary.finished,
        failed=len(summary.failed),
        total=manifest.total,
        passed=summary.passed,
    )
