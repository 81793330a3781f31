"""Prometheus metrics: counts and durations, never contents."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from veracity.server.auth import Caller, Live
from veracity.server.errors import error_responses

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)  # seconds

router = APIRouter(tags=["health"])


class Metrics:
    """One registry per app, so that one process can hold several apps."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self.requests = Counter("veracity_requests", "Requests by route and status.", labels, registry=registry)
        self.runs = Histogram(
            "veracity_run_seconds", "Active seconds of runs by status.", ["status"], buckets=BUCKETS, registry=registry
        )
        self.running = Gauge("veracity_runs_working", "Running runs.", registry=registry)
        self.waiting = Gauge("veracity_runs_waiting", "Queued questions.", registry=registry)
        self.streams = Gauge("veracity_streams", "Open event streams.", registry=registry)

    def record_run(self, status: str, seconds: float) -> None:
        self.runs.labels(status).observe(seconds)


class MetricsMiddleware:
    """Counts requests by declared route, so that no ids get into the metrics."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._requests = metrics.requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = "500"

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_status)
        finally:
            route = getattr(scope.get("route"), "path", "")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests.labels(method, route, status).inc()


@router.get("/metrics", response_class=PlainTextResponse, responses=error_responses(is_text=True))
async def metrics(caller: Caller, live: Live, request: Request) -> PlainTextResponse:
    """Metrics in Prometheus's text format."""
    metrics: Metrics = request.app.state.metrics
    metrics.running.set(live.running)
    metrics.waiting.set(await live.count_waiting())
    metrics.streams.set(request.app.state.limits.streams)
    return PlainTextResponse(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)
