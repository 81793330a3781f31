"""Sends spans to a collector, where the environment names one and no program has set up its own."""

from __future__ import annotations

import os

from veracity.errors import ConfigurationError
from veracity.secrets import without_secrets
from veracity.telemetry.names import SCOPE
from veracity.telemetry.tracers import tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"


def set_up() -> bool:
    """Send spans to the collector that the environment names, if it names one. A program's own provider stays."""
    named = _given(ENDPOINTS)
    if not named or os.environ.get("OTEL_TRACES_EXPORTER") == "none" or tracer():
        return False
    protocol = _given(PROTOCOLS)
    if protocol and os.environ[protocol] != SPOKEN:
        raise ConfigurationError(f'{protocol} names a protocol that is not spoken here: set it to "{SPOKEN}".')
    try:
        from opentelemetry import trace  # noqa: PLC0415 - slow, and only for who wants it
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise ConfigurationError(
            f'{named} is set, and what sends spans there is not installed: pip install "veracity[otel]" '
            '(in a checkout ".[otel]"), or unset it.'
        ) from None
    try:
        resource = Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": SCOPE})
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except ValueError as problem:
        told = " ".join(without_secrets(str(problem)).split())[:200]
        raise ConfigurationError(f"An OTEL_… variable of the environment cannot be used ({told}).") from None
    trace.set_tracer_provider(provider)
    return True


def _given(names: tuple[str, ...]) -> str:
    """The first that is set: that for spans wins over that for everything."""
    return next((name for name in names if os.environ.get(name)), "")
