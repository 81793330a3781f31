"""/v1/responses: ask, read and cancel. Errors have OpenAI's format: see `server.errors`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Query, Request, Response

from veracity.engine import Veracity
from veracity.models import User
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, Live
from veracity.server.errors import RUN_HEADER
from veracity.server.openai.delivery import Delivery, QuestionHeaders, error_responses
from veracity.server.openai.response_schemas import ID, ResponsesRequest, find_previous_conversation, read_run_id
from veracity.server.openai.responses import EventRenderer, ResponseFormat, ResponseObject
from veracity.server.openai.schemas import UnsupportedError, read_earlier, read_question
from veracity.server.permissions import redact_paths, require_visible
from veracity.server.sse import RUN_HEADER_SCHEMA, STREAM_CONTENT

router = APIRouter(prefix="/v1/responses", tags=["OpenAI"], route_class=AuthenticatedRoute)

CREATE_RESPONSES: dict[int | str, dict[str, Any]] = {
    **error_responses(400, 404, 413, 422, 502, 503),
    200: {
        "description": "The response; with `stream`, its events as server-sent events.",
        "content": STREAM_CONTENT,
        "headers": RUN_HEADER_SCHEMA,
    },
}


@router.post("", response_model=ResponseObject, responses=CREATE_RESPONSES)
async def create_response(
    body: ResponsesRequest,
    headers: Annotated[QuestionHeaders, Header()],
    caller: Caller,
    engine: Engine,
    request: Request,
    response: Response,
) -> Any:
    """Ask the last user message of the input. Earlier messages only identify the conversation; instructions are
    ignored. The field `veracity` has the run, its status and the citations."""
    body.require_supported()

    def name_conversation() -> str:
        if body.previous_response_id:
            return find_previous_conversation(engine, caller, body.previous_response_id)
        return body.conversation_name or headers.conversation

    response_format = ResponseFormat.of(body)
    delivery = Delivery(
        request,
        caller,
        headers,
        read_question(body.input, "input"),
        read_earlier(body.input),
        name_conversation,
        survives=response_format.background,
    )
    if body.stream:
        return await delivery.stream(partial(EventRenderer, response_format))
    if not response_format.background:
        return await delivery.send(response, response_format.render_answer)
    run_id = await delivery.start()
    response.headers[RUN_HEADER] = run_id
    return await run_sync(_read, engine, caller, run_id, response_format)


@router.get("/{response_id}", responses=error_responses(400, 404))
def read_response(
    response_id: str,
    caller: Caller,
    engine: Engine,
    stream: Annotated[bool, Query(description="not supported")] = False,
) -> ResponseObject:
    """Read a response. It is `in_progress` until its run has ended or waits for approval."""
    if stream:
        raise UnsupportedError("stream", "follow the run's events at /api/runs/{run_id}/events instead")
    return _read(engine, caller, read_run_id(response_id), ResponseFormat())


@router.post("/{response_id}/cancel", responses=error_responses(404))
async def cancel_response(response_id: str, caller: Caller, engine: Engine, live: Live) -> ResponseObject:
    """Stop the run of a response in progress. A response that has ended is returned unchanged."""
    run_id = await live.require_visible(read_run_id(response_id), caller)
    await run_sync(live.stop_run, caller, run_id)
    return await run_sync(_read, engine, caller, run_id, ResponseFormat())


def _read(engine: Veracity, user: User, run_id: str, response_format: ResponseFormat) -> ResponseObject:
    progress = engine.progress(run_id)
    require_visible(user, progress.run.user, "response", ID.format(run_id))
    return response_format.render_progress(redact_paths(progress, user))
