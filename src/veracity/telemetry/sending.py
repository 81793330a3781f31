"""Sends spans to a collector, where the environment names one and no program has set up its own."""

from __future__ import annotations

import os

from veracity.errors import ConfigurationError
from veracity.telemetry.names import SCOPE
from veracity.telemetry.tracers import tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def set_up() -> bool:
    """Send spans to the collector that the environment names, if it names one. A program's own provider stays."""
    named = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if named is None or tracer():
        return False
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
    resource = Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": SCOPE})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True
