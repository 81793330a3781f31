"""The settings in force, for admins to read: they are changed in veracity.toml and the environment."""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter
from pydantic import BaseModel, Field

from veracity.doctor import setup_warnings
from veracity.engine import Veracity
from veracity.server.auth import AdminCaller, AuthenticatedRoute, Engine, from_state
from veracity.server.errors import error_responses
from veracity.server.health import ReadinessChecks
from veracity.settings import Settings
from veracity.settings.states import RoleState, ServerState, SettingState, role_states, server_states, setting_states

router = APIRouter(prefix="/api", tags=["settings"], route_class=AuthenticatedRoute)

Checks = Annotated[ReadinessChecks, from_state("readiness")]
Options = Annotated[dict[str, str | int], from_state("options")]


class Setup(BaseModel):
    """Keys are named, never shown."""

    workspace: str
    settings: list[SettingState] = Field(description="changed ones first")
    roles: list[RoleState] = Field(description="the model of each role; empty: none, it runs on this machine")
    servers: list[ServerState]
    problems: list[str] = Field(description="a sentence for each problem that is known without calling a model")


@router.get("/settings", responses=error_responses(403))
async def read_settings(caller: AdminCaller, engine: Engine, checks: Checks, options: Options) -> Setup:
    """The settings in force with their source, the models, and what is wrong with them."""
    failed = filter(None, (await checks.problems()).values())
    setup = await run_sync(_describe, engine, options)
    return setup.model_copy(update={"problems": [*failed, *setup.problems]})


def _describe(engine: Veracity, options: dict[str, str | int]) -> Setup:
    """`options` are the settings of `server` that the command line sets."""
    settings = _with_options(engine.settings, options)
    metrics = engine.describe_metrics()
    judged: dict[str, list[str]] = {}
    for metric in metrics.metrics:
        if metric.model and metric.weight is not None:
            judged.setdefault(metric.model, []).append(metric.name)
    roles = role_states(settings, judged)
    states = setting_states(settings, {f"server.{name}" for name in options})
    return Setup(
        workspace=str(engine.root),
        settings=sorted(states, key=lambda state: not state.is_changed),
        roles=roles,
        servers=list(server_states(settings)),
        problems=[*setup_warnings(settings, roles), *metrics.warnings, *_calibration_problem(engine)],
    )


def _with_options(settings: Settings, options: dict[str, str | int]) -> Settings:
    return settings.model_copy(update={"server": settings.server.model_copy(update=options)})


def _calibration_problem(engine: Veracity) -> list[str]:
    statement = engine.calibrator.statement() if engine.settings.approval.calibrated else None
    return [statement.problem] if statement and statement.problem else []
