"""Whether there is somebody who takes spans, and where on its thread a program is. Loads OpenTelemetry for nobody."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from veracity.telemetry.names import SCOPE
from veracity.version import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer

T = TypeVar("T")
P = ParamSpec("P")


def tracer() -> Tracer | None:
    """None where nobody set one up, for which OpenTelemetry need not be loaded."""
    trace = sys.modules.get("opentelemetry.trace")
    provider_of = getattr(trace, "get_tracer_provider", None)  # missing while another thread is loading it
    if trace is None or provider_of is None:
        return None
    provider = provider_of()
    if type(provider) in (trace.ProxyTracerProvider, trace.NoOpTracerProvider):  # an isinstance() takes 1 µs here
        return None
    return provider.get_tracer(SCOPE, __version__)  # type: ignore[no-any-return]


def context() -> Any:
    from opentelemetry import context  # noqa: PLC0415 - it is loaded, or we were not here

    return context


def here() -> Context | None:
    """For another thread: what is current on this one."""
    return context().get_current() if tracer() else None


def carried(job: Callable[P, T]) -> Callable[P, T]:
    """The job, to be done on another thread: what begins there belongs to what is current here."""
    where = here()
    if where is None:
        return job

    @wraps(job)
    def there(*args: P.args, **kwargs: P.kwargs) -> T:
        token = context().attach(where)
        try:
            return job(*args, **kwargs)
        finally:
            context().detach(token)

    return there


def stay(where: Context | None) -> None:
    """What begins from now on in this context of Python's belongs there. For one that nobody else uses."""
    if where is not None:
        context().attach(where)
