"""`/healthz`: the process is alive. `/readyz`: it can do its work now. Both need no token."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from veracity.engine import Veracity
from veracity.errors import ConfigurationError, VeracityError
from veracity.server.auth import Live, from_state

log = logging.getLogger("veracity.server")

CHECK_SECONDS = 5.0  # for each check; a longer one counts as failed
KEEP_SECONDS = 2.0  # anyone may ask as often as they like, so results are used again
# Strangers read these sentences: the log has the reasons, which may name files.
PROBLEMS = {
    "ledger": "The ledger cannot be written.",
    "knowledge": "The documents cannot be read.",
    "disk": "The disk is almost full.",
    "workers": "No worker with the configuration of this server is running.",
    "configuration": "The configuration of this server differs from that of the oldest server or worker.",
    "server": "The server is shutting down.",
}
FAILED = "The check of the {name} failed."
TOO_SLOW = "The check of the {name} took too long."
ADVISORY = ("configuration",)  # the server is ready nevertheless: during an update, others are replaced after it

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: str


class Readiness(BaseModel):
    ready: bool
    checks: dict[str, bool] = Field(description="by part of the server: whether it works")
    problems: list[str] = Field(default=[], description="a sentence for each part that does not work")
    warnings: list[str] = Field(default=[], description="problems in spite of which questions are answered")


class ReadinessChecks:
    """Runs named checks, each on a thread of its own. A check raises `VeracityError` if its part cannot be used.

    Concurrent requests share one run. Belongs to one event loop.
    """

    def __init__(self, checks: Mapping[str, Callable[[], None]]) -> None:
        self._checks = checks
        self._threads = CapacityLimiter(2 * len(checks))  # a check that hangs must not block the next one
        self._lock = asyncio.Lock()
        self._problems: dict[str, str] = {}
        self._checked = -math.inf

    async def problems(self) -> dict[str, str]:
        """By name: what is wrong, in a sentence; empty if nothing is."""
        async with self._lock:
            if time.monotonic() - self._checked >= KEEP_SECONDS:
                found = await asyncio.gather(*(self._run(name, check) for name, check in self._checks.items()))
                self._problems = dict(zip(self._checks, found, strict=True))
                self._checked = time.monotonic()
            return self._problems

    async def _run(self, name: str, check: Callable[[], None]) -> str:
        try:
            await asyncio.wait_for(run_sync(check, limiter=self._threads, abandon_on_cancel=True), CHECK_SECONDS)
        except TimeoutError:
            reason: object = f"no result within {CHECK_SECONDS:g} s"
            problem = TOO_SLOW.format(name=name)
        except VeracityError as error:
            reason, problem = error, PROBLEMS.get(name, FAILED.format(name=name))
        except Exception as error:  # noqa: BLE001 - whatever it is, the part is not usable
            reason, problem = type(error).__name__, FAILED.format(name=name)
        else:
            return ""
        if not self._problems.get(name):  # it worked before
            log.warning("Not ready: %s: %s", name, reason)
        return problem


def cluster_checks(engine: Veracity, *, works: bool) -> dict[str, Callable[[], None]]:
    """The checks of a server that shares its ledger. Unless it `works`, it needs workers."""
    if not engine.settings.store.ledger:
        return {}
    checks: dict[str, Callable[[], None]] = {"configuration": partial(_require_same_configuration, engine)}
    if not works:
        checks["workers"] = partial(_require_worker, engine)
    return checks


def _require_same_configuration(engine: Veracity) -> None:
    if leader := engine.membership.other_leader():
        raise ConfigurationError(
            f"The settings, metrics, prompts or version differ from those of the {leader.kind} on {leader.host}: make "
            "them equal, or stop the other one."
        )


def _require_worker(engine: Veracity) -> None:
    own = engine.configuration
    if not any(member.kind == "worker" and member.configuration == own for member in engine.membership.list_alive()):
        raise ConfigurationError("No worker has the settings, metrics, prompts and version of this server: start one.")


Checks = Annotated[ReadinessChecks, from_state("readiness")]


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> Health:
    """Report that the process answers. Checks nothing else: see /readyz."""
    return Health(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: {"model": Readiness, "description": "Some part does not work now."}})
async def readyz(live: Live, checks: Checks, response: Response) -> Readiness:
    """Report whether questions can be answered now: the ledger, the documents, the disk, with `--no-work` the workers,
    and that the server is not shutting down. For load balancers."""
    problems = {**await checks.problems(), "server": PROBLEMS["server"] if live.is_stopping else ""}
    warnings = [problem for name, problem in problems.items() if problem and name in ADVISORY]
    fatal = [problem for name, problem in problems.items() if problem and name not in ADVISORY]
    if fatal:
        response.status_code = 503
    working = {name: not problem for name, problem in problems.items()}
    return Readiness(ready=not fatal, checks=working, problems=fatal, warnings=warnings)
