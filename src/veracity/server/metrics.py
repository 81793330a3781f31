"""How the server is: for whoever keeps it running. Counts and seconds, and no word of what was asked."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from veracity.server.auth import Caller
from veracity.server.errors import refusals
from veracity.server.live.runs import LiveRuns

router = APIRouter(tags=["health"])

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Health(BaseModel):
    status: str


class Measures:
    """One set for each app, so that several can be in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "veracity_requests", "Requests, by route and status.", ["method", "route", "status"], registry=self.registry
        )
        self.runs = Histogram(
            "veracity_run_seconds",
            "Active seconds of runs, by how they ended.",
            ["status"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.working = Gauge("veracity_runs_working", "Runs that are worked on.", registry=self.registry)
        self.waiting = Gauge("veracity_runs_waiting", "Questions that wait for their turn.", registry=self.registry)
        self.streams = Gauge("veracity_streams", "Open event streams.", registry=self.registry)

    def run_ended(self, status: str, seconds: float) -> None:
        self.runs.labels(status).observe(seconds)


class Measuring:
    """Counts requests. The route is told as it was declared, so that nobody's ids are in it."""

    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self._app = app
        self._requests = measures.requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = "500"

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests.labels(method, route, status).inc()


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> Health:
    """The server answers. Needs no token, and tells nothing else."""
    return Health(status="ok")


@router.get("/metrics", response_class=PlainTextResponse, responses=refusals(of_text=True))
async def metrics(caller: Caller, request: Request) -> PlainTextResponse:
    """In the text format of Prometheus."""
    measures: Measures = request.app.state.measures
    live: LiveRuns = request.app.state.live
    measures.working.set(live.working)
    measures.waiting.set(live.waiting)
    measures.streams.set(request.app.state.limits.streams)
    return PlainTextResponse(generate_latest(measures.registry), media_type=CONTENT_TYPE_LATEST)
