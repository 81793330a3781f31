"""Spans for OpenTelemetry. Costs next to nothing, and loads nothing, until a program brings a provider of spans."""

from veracity.telemetry.sending import set_up
from veracity.telemetry.spans import ModelCall, Span, model_call, run, step, web_search
from veracity.telemetry.tracers import carried, here, stay

__all__ = ["ModelCall", "Span", "carried", "here", "model_call", "run", "set_up", "stay", "step", "web_search"]
