"""The application: every route of the server, and what they share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter, run_sync
from fastapi import FastAPI

from veracity.engine import Veracity
from veracity.server import errors, metrics, static_files
from veracity.server.auth import Access
from veracity.server.limits import Computing, Limits
from veracity.server.live.document_jobs import Changes
from veracity.server.live.feed import Feed
from veracity.server.live.runs import LiveRuns
from veracity.server.metrics import Measures, Measuring
from veracity.server.middleware import Guard
from veracity.server.openai import routes
from veracity.server.routes import approvals, ask, conversations, documents, evaluate, runs, search, session
from veracity.server.routes import feed as feed_module
from veracity.server.routes.documents import finish_uploads
from veracity.version import __version__

ROUTERS = (
    session.router,
    ask.router,
    runs.router,
    approvals.router,
    conversations.router,
    documents.router,
    search.router,
    evaluate.router,
    feed_module.router,
    routes.router,
    metrics.router,
    static_files.router,
)


THREADS = 8  # for what reads or computes a little; more of them would only wait for each other
RESERVED = 4  # for decisions, which may have to wait for others who write
KNOWING = 2  # for knowing who asks, which waits for nobody
MOST_QUESTIONS = 100  # of one user, that are about to be queued
# FastAPI would send spans of its own, with the addresses: what people look for, names of conversations and documents.
NO_SPANS: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def make_app(engine: Veracity, own_token: str = "", host: str = "") -> FastAPI:
    """Over an engine that whoever calls this closes. `own_token` is that of the user "local", an admin; `host` is
    what it listens on, where that is not the settings'."""
    settings = engine.settings.server

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.knowing, app.state.reserved = CapacityLimiter(KNOWING), CapacityLimiter(RESERVED)
        app.state.searches, app.state.evaluations = Computing("searches"), Computing("evaluations")
        app.state.questions = Computing("questions", MOST_QUESTIONS)
        current_default_thread_limiter().total_tokens = THREADS
        feed = Feed(engine)
        live = LiveRuns(engine, settings, app.state.limits, feed.poke, app.state.measures.run_ended)
        changes = Changes(lambda: feed.tell("documents"))
        app.state.feed, app.state.live, app.state.changes = feed, live, changes
        finishing = asyncio.create_task(finish_uploads(engine, changes))
        try:
            yield
        finally:
            changes.stop()
            live.stop(grace=0)
            feed.stop()
            await finishing
            await run_sync(changes.close)

    app = FastAPI(
        title="Veracity",
        version=__version__,
        summary="Answers that have been examined.",
        lifespan=lifespan,
        telemetry=NO_SPANS,
        redirect_slashes=False,  # behind a proxy that speaks TLS, it would lead away from that
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
    )
    app.state.engine = engine
    app.state.access = Access(engine, own_token)
    app.state.limits = Limits(settings)
    app.state.measures = Measures()
    errors.install(app)
    for router in ROUTERS:  # as they are: `include_router` would make every route anew, at the first request
        app.router.routes.extend(router.routes)
    app.add_middleware(Guard, settings=settings, host=host or settings.host)
    app.add_middleware(Measuring, measures=app.state.measures)
    return app
