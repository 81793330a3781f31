"""What went wrong, as HTTP tells it: a status, and one sentence. Knows nothing about routes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from veracity import errors
from veracity.secrets import presentable
from veracity.server.permissions import shown_sentence

log = logging.getLogger("veracity.server")

RUN_HEADER = "X-Veracity-Run"
LONGEST_SAID = 200  # characters of what the framework says of a request
SOON = "5"  # seconds after which whoever met another writer may try again
FROM_INSIDE = (409, 500, 502, 503)  # what these tell may name files of this machine
INSIDE = "Something went wrong inside Veracity; the log of the server tells what."

# The first that fits: what is more special stands above what is more general.
STATUSES: tuple[tuple[type[errors.VeracityError], int], ...] = (
    (errors.NotFoundError, 404),
    (errors.InputError, 400),
    (errors.DecisionError, 409),
    (errors.BusyError, 409),
    (errors.OutdatedIndexError, 409),
    (errors.BusyLedgerError, 503),
    (errors.ModelError, 502),
    (errors.WebSearchError, 502),
    (errors.EvaluationError, 502),
)
TELLS: dict[int, str] = {
    400: "What was asked for cannot be done as it was asked for.",
    401: "There is no token, or it is not valid.",
    403: "The role of this user does not allow it, or the request comes from elsewhere.",
    404: "There is no such thing, or it is somebody else's.",
    408: "The rest of the request did not come.",
    409: "It does not fit what is there. `kind` says why: somebody decided faster, the draft is not the one that "
    "waits, documents are being changed (Retry-After says when to come again), or they have to be indexed anew.",
    413: "The request is too large.",
    422: "The request does not have the form that is described here.",
    429: "Too many requests: Retry-After says when to come again.",
    500: "Something in the workspace or in Veracity itself does not work.",
    502: "A model or a metric failed.",
    503: "The server is stopping, or its ledger is busy: Retry-After says when to come again.",
}


ANYWHERE = (401, 403, 408, 413, 422, 429, 500, 503)  # statuses that any route may answer with
IN_JSON = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
COME_AGAIN = {"Retry-After": {"description": "After how many seconds to come again.", "schema": {"type": "integer"}}}


class Told(BaseModel):
    """`run_id` is there where a run was begun before this was met."""

    kind: str
    message: str
    run_id: str | None = None


class Problem(BaseModel):
    """What every refusal looks like."""

    error: Told


class RefusedError(errors.VeracityError):
    """For what only a server refuses."""

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})


def stopping(message: str) -> RefusedError:
    return RefusedError(503, "Stopping", message, {"Retry-After": SOON})


def of_run(problem: errors.VeracityError, run_id: str) -> RefusedError:
    """What is met once a run was begun tells which one. Who asked again would begin another: OpenAI's clients heed that
    header."""
    headers = {**headers_of(problem), RUN_HEADER: run_id, "X-Should-Retry": "false"}
    return RefusedError(status_of(problem), kind_of(problem), str(problem), headers)


def refusals(*statuses: int, of_text: bool = False) -> dict[int | str, dict[str, Any]]:
    """For the description of a route: what else it may answer with. `of_text`: what it gives is no JSON, and FastAPI
    would say the same of what it refuses."""
    form = {"content": IN_JSON} if of_text else {"model": Problem}
    return {
        status: {"description": tell, **form, "headers": COME_AGAIN if "Retry-After" in tell else {}}
        for status, tell in TELLS.items()
        if status in (*statuses, *ANYWHERE)
    }


def status_of(problem: errors.VeracityError) -> int:
    if isinstance(problem, RefusedError):
        return problem.status
    if isinstance(problem, errors.EvaluationError) and isinstance(problem.cause, errors.InputError):
        return 400
    return next((status for kind, status in STATUSES if isinstance(problem, kind)), 500)


def kind_of(problem: errors.VeracityError) -> str:
    return problem.kind if isinstance(problem, RefusedError) else type(problem).__name__


def headers_of(problem: errors.VeracityError) -> Mapping[str, str]:
    if isinstance(problem, errors.BusyError | errors.BusyLedgerError):
        return {"Retry-After": SOON}
    return problem.headers if isinstance(problem, RefusedError) else {}


def answer_with(
    request: Request, status: int, kind: str, message: str, headers: Mapping[str, str], param: str | None = None
) -> JSONResponse:
    """The form is that of the tree which was asked."""
    told: dict[str, Any] = {"kind": kind, "message": message}
    if _is_openai(request):
        told = {"message": message, "type": OPENAI_TYPES.get(status, "api_error"), "param": param, "code": kind}
    if RUN_HEADER in headers:
        told["run_id"] = headers[RUN_HEADER]
    return JSONResponse({"error": told}, status, headers=dict(headers))


OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}


def _is_openai(request: Request) -> bool:
    return request.url.path.startswith("/v1/")


def install(app: FastAPI) -> None:
    """What a route raises becomes a sentence. (What nobody foresaw: see `guarding`.)"""
    app.add_exception_handler(errors.VeracityError, _ours)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _by_status)


def _ours(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, errors.VeracityError)
    status = status_of(problem)
    if status >= 500 and status != 503:
        log.warning("%s %s: %s", request.method, request.url.path, problem)
    user = getattr(request.state, "user", None)
    told = shown_sentence(str(problem), user) if status in FROM_INSIDE else str(problem)
    return answer_with(request, status, kind_of(problem), told, headers_of(problem), getattr(problem, "param", None))


def _malformed(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    told = _unreadable(problem.errors()[0], request.headers.get("content-type", ""))
    return answer_with(request, 400 if _is_openai(request) else 422, "InputError", told, {})  # its clients know no 422


def _unreadable(first: Mapping[str, Any], content_type: str) -> str:
    place = [str(one) for one in first["loc"] if one != "body"]
    if first["type"] == "json_invalid":
        return f"The body is no JSON: see character {place[0]}."
    if not place and "json" not in content_type.lower():
        return "Send the body as JSON, with the header Content-Type: application/json."
    said = presentable(str(first["msg"]), LONGEST_SAID)
    return f"The request cannot be read: {presentable('.'.join(place) or 'the body')}: {said}."


def _by_status(request: Request, problem: Exception) -> JSONResponse:
    """What the framework itself refuses."""
    assert isinstance(problem, HTTPException)
    status = problem.status_code
    name = HTTPStatus(status).phrase
    elsewhere = ": ask at /v1/chat/completions" if _is_openai(request) else ""
    told = {
        404: f'There is nothing at "{presentable(request.url.path)}"{elsewhere}.',
        405: f'"{presentable(request.url.path)}" does not take {request.method}.',
    }.get(status, f"{name}: {presentable(str(problem.detail))}")
    kind = {404: "NotFoundError", 413: "TooLarge", 400: "InputError"}.get(status, name.replace(" ", ""))
    return answer_with(request, status, kind, told, problem.headers or {})
