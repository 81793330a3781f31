"""What went wrong in a call to a service, in our own errors and words. Shows no key, whatever the service says."""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Mapping
from typing import Any

import httpx

from veracity.errors import (
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
)
from veracity.secrets import HIDDEN, without_secrets

TRANSIENT_STATUS = {408, 409, 425, 429}
LONGEST_DETAIL = 200

# What a service refuses for good, and how to mend it.
REFUSALS: dict[int, tuple[type[ModelError], str]] = {
    401: (ModelAccessError, "The service refused the key for {model}{said}: check it and its rights."),
    402: (ModelAccessError, "The account behind {model} has no credit left{said}: top it up or use another model."),
    403: (ModelAccessError, "The service refused the key for {model}{said}: check it and its rights."),
    404: (
        UnknownModelError,
        "The service does not know the model {model}{said}: check its name and the address of the server.",
    ),
}


def refused(model: str, status: int, headers: Mapping[str, str], content: bytes, key: str) -> ModelError:
    """For an answer that is no success. `model` is shown as it stands."""
    said = _said(status, content, key)
    if status in REFUSALS:
        kind, words = REFUSALS[status]
        return kind(words.format(model=model, said=said))
    if status < 400:
        return ModelRequestError(f"The server of {model} is not at its address{said}: enter the one it redirects to.")
    if status < 500 and status not in TRANSIENT_STATUS:
        return ModelRequestError(f"The service of {model} rejected the request{said}.")
    return ModelUnreachableError(
        f"The server of {model} failed or is busy{said}: try again later.",
        retry_after=_seconds(headers.get("retry-after", "")),
    )


def broken(model: str, problem: Exception) -> ModelError:
    """For a call without an answer."""
    if isinstance(problem, TimeoutError | httpx.TimeoutException):
        return ModelTimeoutError(f"The model {model} did not answer in time.")
    if "CERTIFICATE_VERIFY_FAILED" in str(problem):
        return ModelUnreachableError(
            f"The certificate of the server of {model} cannot be verified: check its address, or name the certificates "
            "to trust in the environment variable SSL_CERT_FILE."
        )
    if isinstance(problem, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol):
        return ModelUnreachableError(f"The server of {model} cannot be reached: check the address and the network.")
    return ModelUnreachableError(f"The server of {model} broke the connection off: look whether it is in order.")


def unusable(model: str, why: str) -> ModelAnswerError:
    return ModelAnswerError(f"The server of {model} {why}: check the address, and that it is a reranking model.")


def _seconds(value: str) -> float | None:
    """`Retry-After` is a number of seconds or a date."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _said(status: int, content: bytes, key: str) -> str:
    """The service's own words, short and free of keys, in brackets."""
    words = _words(content)
    if words and key:
        words = words.replace(key, HIDDEN)
    line = " ".join(without_secrets(words).split())
    if len(line) > LONGEST_DETAIL:
        line = line[:LONGEST_DETAIL] + "…"
    return f" (HTTP {status}: {line.rstrip('.')})" if line else f" (HTTP {status})"


def _words(content: bytes) -> str:
    """Services put them in `message`, `detail` or `error`, here or one step further in."""
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    for _ in range(3):
        if isinstance(found, list) and found:  # FastAPI's list of complaints
            found = found[0]
        if isinstance(found, dict):
            found = next((found[name] for name in ("error", "message", "detail", "msg") if found.get(name)), None)
    return found if isinstance(found, str) else ""
