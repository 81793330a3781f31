"""What went wrong inside pydantic-ai, in our own errors and words."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable
from typing import TypeVar

from pydantic_ai import exceptions as theirs

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
from veracity.secrets import without_secrets

log = logging.getLogger("veracity.llm")

T = TypeVar("T")

KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN)\b")
TRANSIENT_STATUS = {408, 409, 425, 429}
LONGEST_DETAIL = 200
# The extra that installs a provider's SDK.
EXTRAS = {
    "bedrock": "bedrock",
    "bedrock-mantle": "bedrock",
    "cohere": "cohere",
    "google": "google",
    "google-cloud": "google",
    "groq": "groq",
    "huggingface": "huggingface",
    "mistral": "mistral",
    "xai": "xai",
}

Kind = type[theirs.ModelAPIError]
# What a provider refuses for good, and how to mend it. The first that fits counts.
REFUSALS: list[tuple[Kind, type[ModelError], str]] = [
    (
        theirs.ModelNotFoundError,
        UnknownModelError,
        'The provider does not know the model "{model}"{said}: check its name and the address of the server.',
    ),
    (
        theirs.ModelAuthenticationError,
        ModelAccessError,
        'The provider refused the key for "{model}"{said}: check it and its rights.',
    ),
    (
        theirs.ModelQuotaExceededError,
        ModelAccessError,
        'The account behind "{model}" has no quota or credit left{said}: top it up or use another model.',
    ),
    (
        theirs.ModelContextWindowExceededError,
        ModelRequestError,
        'The text is longer than "{model}" can read{said}: shorten it or use another model.',
    ),
    (
        theirs.ModelRequestRejectedError,
        ModelRequestError,
        'The provider of "{model}" rejected the request{said}: check the parameters of the model.',
    ),
]


def explained(model: str, action: Callable[[], T]) -> T:
    """What the action returns. An error of its becomes ours and is let go: it may hold keys, and megabytes."""
    try:
        return action()
    except VeracityError:
        raise
    except Exception as problem:  # noqa: BLE001 - SDKs raise anything
        if log.isEnabledFor(logging.DEBUG):  # the whole story, for who wants it
            log.debug("The call to %s failed: %s", model, without_secrets("".join(traceback.format_exception(problem))))
        ours = explain(model, problem.with_traceback(None))
    raise ours


def explain(model: str, problem: Exception) -> VeracityError:
    if isinstance(problem, ImportError):
        return _without_sdk(model)
    if isinstance(problem, theirs.UserError):
        return _unusable(model, problem)
    if isinstance(problem, theirs.ModelAPIError):
        return _failed_call(model, problem)
    if isinstance(problem, theirs.ContentFilterError):
        return ModelRefusedError(f'The model "{model}" refused to answer: its content filter stopped it.')
    if isinstance(problem, theirs.UnexpectedModelBehavior):
        return _not_in_form(model)
    return ModelAnswerError(
        f'The call to "{model}" failed in an unforeseen way ({type(problem).__name__}): '
        "the log veracity.llm tells more at level DEBUG."
    )


def _without_sdk(model: str) -> ConfigurationError:
    extra = EXTRAS.get(provider_of(model))
    mend = (
        f'pip install "veracity[{extra}]" (in a checkout ".[{extra}]")'
        if extra
        else "see the documentation of pydantic-ai for its name"
    )
    return ConfigurationError(f'The model "{model}" needs the SDK of its provider, which is not installed: {mend}.')


def _unusable(model: str, problem: theirs.UserError) -> VeracityError:
    variables = tuple(dict.fromkeys(KEY_VARIABLE.findall(str(problem))))
    if variables:
        return MissingKeyError(provider_of(model), variables, model)
    if "Unknown model" in str(problem):
        return UnknownModelError(
            f'No provider is called "{provider_of(model)}" (model "{model}"): '
            "name it as pydantic-ai does, such as openai, openai-chat, anthropic, google or ollama."
        )
    return ConfigurationError(f'The model "{model}" cannot be used: {_one_line(str(problem)).rstrip(".")}.')


def _failed_call(model: str, problem: theirs.ModelAPIError) -> ModelError:
    if isinstance(problem, theirs.ModelRequestTimeout | theirs.ModelTimeoutError):
        return ModelTimeoutError(f'The model "{model}" did not answer in time.')
    if isinstance(problem, theirs.ModelConnectionError):
        return _broken_connection(model, problem)
    status = _status(problem)
    if not status and type(problem) is theirs.ModelAPIError:
        return _not_in_form(model)
    return _told_by_provider(model, problem, status)


def _told_by_provider(model: str, problem: theirs.ModelAPIError, status: int | None) -> ModelError:
    said = _said(problem, status)
    for kind, error, words in REFUSALS:
        if isinstance(problem, kind):
            return error(words.format(model=model, said=said))
    if status and 300 <= status < 400:
        return ModelRequestError(f'The server of "{model}" is not at its address{said}: enter the one it redirects to.')
    if status and 400 <= status < 500 and status not in TRANSIENT_STATUS:
        return ModelRequestError(f'The provider of "{model}" rejected the request{said}.')
    return ModelUnreachableError(
        f'The server of "{model}" failed or is busy{said}: try again later.', retry_after=problem.retry_after
    )


def _broken_connection(model: str, problem: theirs.ModelConnectionError) -> ModelUnreachableError:
    if problem.phase in ("read", "write"):
        return ModelUnreachableError(f'The server of "{model}" broke the connection off: look whether it is in order.')
    return ModelUnreachableError(f'The server of "{model}" cannot be reached: check the address and the network.')


def _not_in_form(model: str) -> ModelAnswerError:
    return ModelAnswerError(
        f'The server of "{model}" sent an answer that is not in its API\'s form: check the address and the server.'
    )


def _status(problem: theirs.ModelAPIError) -> int | None:
    """pydantic-ai keeps the status of errors; that of a redirect is known to the SDK's error alone."""
    status = getattr(problem, "status_code", None) or getattr(problem.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def _said(problem: theirs.ModelAPIError, status: int | None) -> str:
    """The provider's own words, short and free of keys, in brackets."""
    body = problem.body
    if isinstance(body, dict):  # the error itself, or the document around it
        body = body.get("error", body)
    message = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    told = isinstance(message, str) and not message.lstrip().startswith("<")  # a page says nothing in one line
    parts = [f"HTTP {status}" if status else "", _one_line(str(message)) if told else ""]
    shown = ": ".join(part for part in parts if part)
    return f" ({shown})" if shown else ""


def _one_line(text: str) -> str:
    line = " ".join(without_secrets(text).split())
    return line if len(line) <= LONGEST_DETAIL else line[:LONGEST_DETAIL] + "…"
