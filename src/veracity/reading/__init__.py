"""Turns bytes of any format into plain text, in subprocesses that are capped in time and memory.

Names are loaded on first use, so that a worker process starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veracity.reading.base import Reading, Unreadable
    from veracity.reading.extract import extract
    from veracity.reading.office import Limits
    from veracity.reading.sandbox.pool import CappedWorkers
    from veracity.reading.sandbox.process import WorkerFailure

_HOMES = {
    "CappedWorkers": "sandbox.pool",
    "Limits": "office",
    "Reading": "base",
    "Unreadable": "base",
    "WorkerFailure": "sandbox.process",
    "extract": "extract",
}

__all__ = ["CappedWorkers", "Limits", "Reading", "Unreadable", "WorkerFailure", "extract"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'veracity.reading' has no attribute {name!r}")
    value = getattr(import_module(f"veracity.reading.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
