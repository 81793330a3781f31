"""The ASGI application: routes, middleware and shared state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter, run_sync
from fastapi import FastAPI

from veracity.engine import Veracity
from veracity.server import errors, health, metrics, openai, routes, static_files
from veracity.server.auth import Authenticator
from veracity.server.limits import ConcurrencyLimit, Limits, exchange_periodically
from veracity.server.live.document_jobs import DocumentJobs
from veracity.server.live.feed import Feed
from veracity.server.live.runs import LiveRuns
from veracity.server.live.upkeep import ExampleFinder, notify_periodically, prune_periodically, purge_periodically
from veracity.server.live.wakeups import Wakeups
from veracity.server.mcp import endpoint as mcp
from veracity.server.mcp.tools import Tools
from veracity.server.metrics import Metrics, MetricsMiddleware
from veracity.server.middleware import SecurityMiddleware
from veracity.version import __version__

ROUTERS = (*routes.ROUTERS, *openai.ROUTERS, health.router, metrics.router, static_files.router)
DEFAULT_THREADS = 8  # for short reads; more threads would only wait for each other
RESERVED_THREADS = 4  # for decisions, which may have to wait for other writers
AUTH_THREADS = 2
MAX_WAITING_QUESTIONS = 100  # of one user, before they are queued
# FastAPI's own spans would contain URLs: search terms, names of conversations and documents.
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def make_app(
    engine: Veracity,
    own_token: str = "",
    host: str = "",
    *,
    works: bool = True,
    options: Mapping[str, str | int] | None = None,
) -> FastAPI:
    """The caller closes the engine. `own_token` is for the user "local", an admin; `host` overrides the settings.
    Unless it `works`, questions, uploads and evaluations are left to workers. `options` are the settings of [server]
    that the command line sets, for admins to see."""
    settings = engine.settings.server
    app = FastAPI(
        title="Veracity",
        version=__version__,
        summary="Answers that are reviewed before they are released.",
        lifespan=_lifespan,
        telemetry=NO_TELEMETRY,
        redirect_slashes=False,  # behind a TLS proxy it would redirect to http:
        docs_url=None,  # these pages load scripts from a CDN
        redoc_url=None,
    )
    app.state.engine = engine
    app.state.works = works
    app.state.options = dict(options or {})
    app.state.authenticator = Authenticator(engine, own_token)
    app.state.limits = Limits(settings)
    app.state.metrics = Metrics()
    errors.install_handlers(app)
    app.router.routes.append(mcp.route)
    for router in ROUTERS:  # not `include_router`, which would build every route a second time
        app.router.routes.extend(router.routes)
    app.add_middleware(SecurityMiddleware, settings=settings, host=host or settings.host)
    app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state, engine = app.state, app.state.engine
    current_default_thread_limiter().total_tokens = DEFAULT_THREADS
    state.auth_threads = CapacityLimiter(AUTH_THREADS)
    state.reserved_threads = CapacityLimiter(RESERVED_THREADS)
    for name in ("searches", "evaluations", "comparisons", "pages"):
        setattr(state, name, ConcurrencyLimit(name))
    checks = {**engine.maintenance.readiness_checks(), **health.cluster_checks(engine, works=state.works)}
    state.readiness = health.ReadinessChecks(checks)
    state.questions = ConcurrencyLimit("questions", MAX_WAITING_QUESTIONS)
    state.wakeups = Wakeups(engine)
    state.feed = Feed(engine, state.wakeups)
    if engine.settings.store.ledger:
        await run_sync(lambda: engine.membership.join("server", engine.configuration))
    else:
        await run_sync(lambda: engine.membership.register())  # noqa: PLW0108 - opens the ledger
    state.live = LiveRuns(
        engine, state.limits, state.wakeups, state.feed.refresh, state.metrics.record_run, works=state.works
    )
    state.mcp = mcp.McpRequests(
        lambda: Tools(engine, state.live, state.searches, state.questions, state.reserved_threads)
    )
    state.document_jobs = DocumentJobs(lambda: state.feed.publish("documents"))
    purging = asyncio.create_task(purge_periodically(engine, state.document_jobs))
    pruning = asyncio.create_task(prune_periodically(engine))
    notifying = asyncio.create_task(notify_periodically(engine))
    exchanging = asyncio.create_task(exchange_periodically(state.limits, engine))
    examples = (
        ExampleFinder(engine, lambda: state.feed.publish("examples")) if engine.settings.server.examples else None
    )
    unfinished = asyncio.create_task(routes.documents.finish_uploads(engine, state.document_jobs))
    try:
        yield
    finally:
        purging.cancel()
        pruning.cancel()
        notifying.cancel()
        exchanging.cancel()
        state.document_jobs.stop()
        state.live.stop(grace=0)
        if examples:
            await examples.close()
        state.feed.stop()
        await state.mcp.stop()
        await unfinished
        await state.wakeups.close()
        await run_sync(state.document_jobs.close)
