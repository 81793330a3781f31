"""Errors as HTTP responses: a status, a kind and one sentence, in OpenAI's format below /v1/."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from veracity import errors
from veracity.secrets import presentable
from veracity.server.permissions import redact_paths_in_text

log = logging.getLogger("veracity.server")

RUN_HEADER = "X-Veracity-Run"
MAX_VALIDATION_MESSAGE = 200  # characters of a message from Pydantic
RETRY_SOON = "5"  # seconds, for conflicts with another writer
INTERNAL_ERROR = "Internal error. See the server's log for details."
INTERNAL_STATUSES = (409, 500, 502, 503, 507)  # their messages may name files of this machine

# The first match counts: subclasses come before their base classes.
STATUSES: tuple[tuple[type[errors.VeracityError], int], ...] = (
    (errors.NotFoundError, 404),
    (errors.InputError, 400),
    (errors.DecisionError, 409),
    (errors.BusyError, 409),
    (errors.OutdatedIndexError, 409),
    (errors.FullDiskError, 507),
    (errors.BusyLedgerError, 503),
    (errors.ModelError, 502),
    (errors.WebSearchError, 502),
    (errors.EvaluationError, 502),
)
STATUS_DESCRIPTIONS: dict[int, str] = {
    400: "The request is valid but cannot be carried out as sent.",
    401: "The token is missing or invalid.",
    403: "The user's role does not allow this, or the request comes from another origin.",
    404: "It does not exist, or it belongs to another user.",
    408: "The rest of the request did not arrive in time.",
    409: "Conflict. `kind` says why: already decided, another draft is pending, documents are being changed (see "
    "Retry-After), or the documents must be reindexed.",
    413: "The request is too large.",
    422: "The request does not match this schema.",
    429: "Too many requests: see Retry-After.",
    500: "The workspace or Veracity itself is broken.",
    502: "A model or a metric failed.",
    503: "The server is stopping, or its ledger is busy: see Retry-After.",
    507: "There is no room on the server's disk.",
}
COMMON_STATUSES = (401, 403, 408, 413, 422, 429, 500, 503)  # every route may return these
OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
JSON_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}
RETRY_HEADER = {
    "Retry-After": {"description": "Seconds to wait before the next attempt.", "schema": {"type": "integer"}}
}


class ErrorDetail(BaseModel):
    kind: str = Field(description="the error's class, for programs")
    message: str = Field(description="what is wrong and how to fix it")
    code: str | None = Field(default=None, description="of what a person can correct: see docs/errors.md")
    values: dict[str, str | int] | None = Field(default=None, description="of the sentence for the code")
    run_id: str | None = Field(default=None, description="the run that was started before the error, if any")


class ErrorResponse(BaseModel):
    """The body of every error."""

    error: ErrorDetail


class RefusedError(errors.VeracityError):
    """An error that only the server raises, with its HTTP status."""

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.cause: errors.VeracityError | None = None
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})


def stopping_error(message: str = "The server is stopping: try again after its restart.") -> RefusedError:
    return RefusedError(503, "Stopping", message, {"Retry-After": RETRY_SOON})


def add_run(error: errors.VeracityError, run_id: str) -> RefusedError:
    """Adds the run's id, and tells OpenAI's clients not to retry, because that would start another run."""
    headers = {**_headers(error), RUN_HEADER: run_id, "X-Should-Retry": "false"}
    refused = RefusedError(_status(error), _kind(error), str(error), headers)
    refused.cause = error
    return refused


def error_responses(*statuses: int, is_text: bool = False) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of a route's errors. `is_text`: the route itself does not return JSON, which FastAPI
    would otherwise assume of its errors too."""
    body = {"content": JSON_ERROR} if is_text else {"model": ErrorResponse}
    return {
        status: {"description": text, **body, "headers": RETRY_HEADER if "Retry-After" in text else {}}
        for status, text in STATUS_DESCRIPTIONS.items()
        if status in (*statuses, *COMMON_STATUSES)
    }


def render_error(
    request: Request,
    status: int,
    kind: str,
    message: str,
    headers: Mapping[str, str],
    param: str | None = None,
    code: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """`code` has the fields that an `InputError` adds."""
    error: dict[str, Any] = {"kind": kind, "message": message, **(code or {})}
    if _is_openai(request):
        default = "invalid_request_error" if status in (400, 409, 413, 422) else "api_error"
        error = {"message": message, "type": OPENAI_TYPES.get(status, default), "param": param, "code": kind}
    if RUN_HEADER in headers:
        error["run_id"] = headers[RUN_HEADER]
    return JSONResponse({"error": error}, status, headers=dict(headers))


def install_handlers(app: FastAPI) -> None:
    """Unexpected exceptions are handled in `middleware`."""
    app.add_exception_handler(errors.VeracityError, _handle_veracity_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_exception)


def _handle_veracity_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, errors.VeracityError)
    status, message = _status(error), str(error)
    if status >= 500 and status != 503:
        log.warning("%s %s: %s", request.method, request.url.path, error)
    if status in INTERNAL_STATUSES:
        message = redact_paths_in_text(message, getattr(request.state, "user", None))
    param = getattr(error, "param", None)
    return render_error(request, status, _kind(error), message, _headers(error), param, _code(error))


def _handle_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    message = _describe_invalid(error.errors()[0], request.headers.get("content-type", ""))
    status = 400 if _is_openai(request) else 422  # OpenAI's clients do not expect 422
    return render_error(request, status, "InputError", message, {})


def _handle_http_exception(request: Request, error: Exception) -> JSONResponse:
    """Errors that the framework raises."""
    assert isinstance(error, HTTPException)
    status, path = error.status_code, presentable(request.url.path)
    name = HTTPStatus(status).phrase
    hint = ": use /v1/chat/completions or /v1/responses" if _is_openai(request) else ""
    messages = {404: f'There is no route "{path}"{hint}.', 405: f'"{path}" does not support {request.method}.'}
    message = messages.get(status, f"{name}: {presentable(str(error.detail))}")
    kind = {404: "NotFoundError", 413: "TooLarge", 400: "InputError"}.get(status, name.replace(" ", ""))
    return render_error(request, status, kind, message, error.headers or {})


def _describe_invalid(error: Mapping[str, Any], content_type: str) -> str:
    location = [str(part) for part in error["loc"] if part != "body"]
    if error["type"] == "json_invalid":
        return f"The body is not valid JSON: see character {location[0]}."
    if not location and "json" not in content_type.lower():
        return "Send the body as JSON, with the header Content-Type: application/json."
    reason = presentable(str(error["msg"]), MAX_VALIDATION_MESSAGE)
    return f"The request is invalid: {presentable('.'.join(location) or 'the body')}: {reason}."


def _status(error: errors.VeracityError) -> int:
    if isinstance(error, RefusedError):
        return error.status
    if isinstance(error, errors.EvaluationError) and isinstance(error.cause, errors.InputError):
        return 400
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def _kind(error: errors.VeracityError) -> str:
    return error.kind if isinstance(error, RefusedError) else type(error).__name__


def _code(error: errors.VeracityError) -> Mapping[str, Any]:
    if isinstance(error, RefusedError | errors.EvaluationError) and isinstance(error.cause, errors.VeracityError):
        return _code(error.cause)
    if isinstance(error, errors.InputError) and error.code:
        return {"code": error.code, "values": dict(error.values)}
    return {}


def _headers(error: errors.VeracityError) -> Mapping[str, str]:
    if isinstance(error, errors.BusyError | errors.BusyLedgerError):
        return {"Retry-After": RETRY_SOON}
    return error.headers if isinstance(error, RefusedError) else {}


def _is_openai(request: Request) -> bool:
    return request.url.path.startswith("/v1/")
