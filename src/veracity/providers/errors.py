"""The one table from provider failures (HTTP status codes and exceptions) to our errors and sentences.

Exceptions are looked up by name, so that classifying one loads no library.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from veracity.deadlines import SLOW_HINT
from veracity.errors import (
    ConfigurationError,
    MissingKeyError,
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
    VeracityError,
)
from veracity.providers.keys import provider_of
from veracity.secrets import HIDDEN, without_secrets

log = logging.getLogger("veracity.llm")

T = TypeVar("T")

MAX_DETAIL_LENGTH = 200
MAX_SHOWN_WAIT_SECONDS = 999_999
KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN)\b")
# The extra that installs a provider's SDK.
EXTRAS = {name: name for name in ("bedrock", "cohere", "google", "groq", "huggingface", "mistral", "xai")}
EXTRAS |= {"bedrock-mantle": "bedrock", "google-cloud": "google"}


@dataclass(frozen=True, slots=True)
class Cause:
    """`problem` is a predicate: it follows the name of the server in a sentence."""

    error: type[ModelError]
    problem: str
    fix: str = ""


UNKNOWN_MODEL = Cause(UnknownModelError, "does not know the model", "check its name and the address of the server")
ACCESS_DENIED = Cause(ModelAccessError, "refused the key", "check the key and its permissions")
NO_QUOTA = Cause(ModelAccessError, "reports no quota or credit left", "top up the account or use another model")
TEXT_TOO_LONG = Cause(ModelRequestError, "cannot read a text this long", "shorten it or use another model")
REJECTED = Cause(ModelRequestError, "rejected the request", "check the model's parameters")
REDIRECTED = Cause(ModelRequestError, "redirects to another address", "set that address instead")
RATE_LIMITED = Cause(ModelUnreachableError, "is busy or rate-limits requests", "try again later")
SERVER_ERROR = Cause(ModelUnreachableError, "failed", "try again later")
TIMED_OUT = Cause(ModelTimeoutError, "did not answer in time", SLOW_HINT)
UNREACHABLE = Cause(ModelUnreachableError, "cannot be reached", "check the address and the network")
DISCONNECTED = Cause(ModelUnreachableError, "closed the connection early", "check the server")
BAD_CERTIFICATE = Cause(
    ModelUnreachableError,
    "has a certificate that cannot be verified",
    "check the address, or name the certificates to trust in the environment variable SSL_CERT_FILE",
)
MALFORMED = Cause(
    ModelAnswerError, "sent a response that is not in its API's format", "check the address and the server"
)
TOO_LARGE = Cause(ModelAnswerError, "sent a response that is too large", "check the address and the server")
CONTENT_FILTERED = Cause(ModelRefusedError, "refused to answer", "reword the text or use another model")
UNEXPECTED = Cause(ModelAnswerError, "failed unexpectedly", "see the DEBUG log of veracity.llm")

# What only a model's provider can mean by its status. Other services have rejected the request.
MODEL_REFUSALS = (UNKNOWN_MODEL, ACCESS_DENIED, NO_QUOTA)
STATUS_CAUSES = {
    401: ACCESS_DENIED,
    402: NO_QUOTA,
    403: ACCESS_DENIED,
    404: UNKNOWN_MODEL,
    408: SERVER_ERROR,
    409: SERVER_ERROR,
    425: SERVER_ERROR,
    429: RATE_LIMITED,
}
# By package and class; subclasses inherit the cause of their nearest listed base.
EXCEPTION_CAUSES = {
    "pydantic_ai.ModelNotFoundError": UNKNOWN_MODEL,
    "pydantic_ai.ModelAuthenticationError": ACCESS_DENIED,
    "pydantic_ai.ModelQuotaExceededError": NO_QUOTA,
    "pydantic_ai.ModelContextWindowExceededError": TEXT_TOO_LONG,
    "pydantic_ai.ModelRequestRejectedError": REJECTED,
    "pydantic_ai.ModelRateLimitError": RATE_LIMITED,
    "pydantic_ai.ModelUnavailableError": SERVER_ERROR,
    "pydantic_ai.ModelServerError": SERVER_ERROR,
    "pydantic_ai.ModelRequestTimeout": TIMED_OUT,
    "pydantic_ai.ModelTimeoutError": TIMED_OUT,
    "pydantic_ai.ModelConnectionError": UNREACHABLE,
    "pydantic_ai.ContentFilterError": CONTENT_FILTERED,
    "pydantic_ai.UnexpectedModelBehavior": MALFORMED,
    "httpx.TimeoutException": TIMED_OUT,
    "httpx.ConnectError": UNREACHABLE,
    "httpx.ProxyError": UNREACHABLE,
    "httpx.UnsupportedProtocol": UNREACHABLE,
    "httpx.InvalidURL": UNREACHABLE,
    "httpx.HTTPError": DISCONNECTED,
    "httpx.StreamError": DISCONNECTED,
    "httpcore.TimeoutException": TIMED_OUT,
    "httpcore.NetworkError": UNREACHABLE,
    "httpcore.ProtocolError": UNREACHABLE,
    "httpcore.UnsupportedProtocol": UNREACHABLE,
    "builtins.TimeoutError": TIMED_OUT,
    "builtins.OSError": UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call. Keeps nothing of the request: `detail` is short and free of credentials."""

    cause: Cause
    detail: str = ""
    retry_after: float | None = None

    @classmethod
    def from_status(cls, status: int, body: Any = None, retry_after: float | None = None, secret: str = "") -> Failure:
        """For a response that is not a success; `secret` is a credential the server may have quoted in its body."""
        return cls(_status_cause(status), _detail(status, body, secret), retry_after)

    @classmethod
    def from_exception(cls, problem: Exception) -> Failure:
        """For an HTTP call without a response."""
        if "CERTIFICATE_VERIFY_FAILED" in str(problem):
            return cls(BAD_CERTIFICATE)
        return cls(_exception_cause(problem) or UNEXPECTED)

    def sentence(self, subject: str, fix: str | None = None) -> str:
        """`fix` is the advice of a service that is not a model; it replaces the table's, except "try again"."""
        cause = REJECTED if fix is not None and self.cause in MODEL_REFUSALS else self.cause
        advice = cause.fix
        if cause in (RATE_LIMITED, SERVER_ERROR):
            advice = self._when_to_retry()
        elif fix is not None:
            advice = fix if cause is not TIMED_OUT else ""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{subject} {cause.problem}{detail}{f': {advice}' if advice else ''}."

    def model_error(self, model: str) -> ModelError:
        return self.cause.error(self.sentence(f'The provider of "{model}"'), retry_after=self.retry_after)

    def _when_to_retry(self) -> str:
        if self.retry_after and self.retry_after <= MAX_SHOWN_WAIT_SECONDS:
            return f"try again in {self.retry_after:.0f} seconds"
        return "try again later"


def translate_errors(model: str, action: Callable[[], T]) -> T:
    """Run the action; raise what pydantic-ai and the SDKs raise as our errors.

    The original is dropped, since it may hold keys and megabytes; the log at level DEBUG shows it without secrets.
    """
    try:
        return action()
    except VeracityError:
        raise
    except Exception as problem:  # noqa: BLE001 - SDKs raise anything
        if log.isEnabledFor(logging.DEBUG):
            log.debug("The call to %s failed: %s", model, without_secrets("".join(traceback.format_exception(problem))))
        ours = translate(model, problem.with_traceback(None))
    raise ours  # outside the handler, so that it has no context


def translate(model: str, problem: Exception) -> VeracityError:
    """The error of ours for an exception of pydantic-ai or an SDK."""
    names = _class_names(problem)
    if "builtins.ImportError" in names:
        return _missing_sdk(model)
    if "pydantic_ai.UserError" in names:
        return _unusable_model(model, str(problem))
    return _model_failure(problem, names).model_error(model)


def _model_failure(problem: Exception, names: list[str]) -> Failure:
    status = _status(problem)
    if "builtins.IndexError" in names:  # pydantic-ai reads the first choice of a response that has none
        return Failure(MALFORMED)
    if not status and not any(name.startswith("pydantic_ai.") for name in names):
        return Failure(UNEXPECTED, type(problem).__name__)
    cause = _exception_cause(problem) or (_status_cause(status) if status else MALFORMED)
    if cause in (TIMED_OUT, MALFORMED, CONTENT_FILTERED):
        return Failure(cause)
    if cause is UNREACHABLE:
        return Failure(DISCONNECTED if getattr(problem, "phase", None) in ("read", "write") else UNREACHABLE)
    return Failure(cause, _detail(status, getattr(problem, "body", None)), getattr(problem, "retry_after", None))


def _missing_sdk(model: str) -> ConfigurationError:
    extra = EXTRAS.get(provider_of(model))
    fix = (
        f'pip install "veracity[{extra}]" (in a checkout ".[{extra}]")'
        if extra
        else "see the documentation of pydantic-ai for its name"
    )
    return ConfigurationError(f'The model "{model}" needs the SDK of its provider, which is not installed: {fix}.')


def _unusable_model(model: str, message: str) -> VeracityError:
    variables = tuple(dict.fromkeys(KEY_VARIABLE.findall(message)))
    if variables:
        return MissingKeyError(provider_of(model), variables, model)
    return ConfigurationError(f'The model "{model}" cannot be used: {_one_line(message)}.')


def _exception_cause(problem: Exception) -> Cause | None:
    return next((EXCEPTION_CAUSES[name] for name in _class_names(problem) if name in EXCEPTION_CAUSES), None)


def _class_names(problem: Exception) -> list[str]:
    return [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(problem).__mro__]


def _status_cause(status: int) -> Cause:
    if status < 400:
        return REDIRECTED
    return STATUS_CAUSES.get(status, REJECTED if status < 500 else SERVER_ERROR)


def _status(problem: Exception) -> int | None:
    """pydantic-ai keeps the status of errors; only the SDK's own error knows that of a redirect."""
    status = getattr(problem, "status_code", None) or getattr(problem.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def _detail(status: int | None, body: Any, secret: str = "") -> str:
    """The status and the server's own words, on one line and without credentials."""
    words = _one_line(_server_message(body), secret)
    return ": ".join(part for part in (f"HTTP {status}" if status else "", words) if part)


def _server_message(body: Any) -> str:
    """Servers put it in `error`, `message`, `detail` or `msg`, at the top or nested. An HTML page has none."""
    for _ in range(3):
        if isinstance(body, list) and body:  # FastAPI's list of validation errors
            body = body[0]
        if isinstance(body, dict):
            body = next((body[name] for name in ("error", "message", "detail", "msg") if body.get(name)), None)
    return body if isinstance(body, str) and not body.lstrip().startswith("<") else ""


def _one_line(text: str, secret: str = "") -> str:
    if secret:
        text = text.replace(secret, HIDDEN)
    line = " ".join(without_secrets(text).split()).rstrip(".")
    return line if len(line) <= MAX_DETAIL_LENGTH else line[:MAX_DETAIL_LENGTH] + "…"
