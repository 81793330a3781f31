"""/v1/chat/completions and /v1/models.

Only released answers are streamed, never drafts. Errors have OpenAI's format: see `server.errors`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, Field

from veracity.engine import check_question
from veracity.models import User
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, Live, unauthorized
from veracity.server.errors import RUN_HEADER, STATUS_DESCRIPTIONS
from veracity.server.idempotency import find_retried_run, generate_conversation_name, start_once
from veracity.server.live.events import LiveEvent
from veracity.server.live.runs import STOPPING_RUN
from veracity.server.openai.completions import ChunkRenderer, Completion, render_completion
from veracity.server.openai.conversations import find_conversation
from veracity.server.openai.schemas import (
    MODEL,
    ChatRequest,
    Metadata,
    read_earlier,
    read_question,
    require_model,
    require_supported,
)
from veracity.server.sse import (
    KEEP_ALIVE,
    RUN_HEADER_SCHEMA,
    STREAM_CONTENT,
    encode_json,
    is_authorized,
    stream_run,
    unless_disconnected,
)

CLIENT_GONE = 499  # never received

router = APIRouter(prefix="/v1", tags=["OpenAI"], route_class=AuthenticatedRoute)


class OpenAIErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIErrorResponse(BaseModel):
    """The body of every error below /v1."""

    error: OpenAIErrorDetail


class Model(BaseModel):
    id: str = MODEL
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = MODEL


class Models(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


class ChatHeaders(BaseModel):
    """Headers that name the conversation (ours or Open WebUI's, percent-encoded) and mark repeated questions."""

    x_veracity_conversation: Annotated[str, Field(max_length=1500)] = ""
    x_openwebui_chat_id: Annotated[str, Field(max_length=1500)] = ""
    idempotency_key: Annotated[str, Field(max_length=200)] = ""
    x_stainless_retry_count: str = "0"

    @property
    def conversation(self) -> str:
        return unquote(self.x_veracity_conversation or self.x_openwebui_chat_id)

    @property
    def is_retry(self) -> bool:
        return self.x_stainless_retry_count.isdecimal() and self.x_stainless_retry_count.strip("0") != ""


def _error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    descriptions: dict[int | str, str] = {status: STATUS_DESCRIPTIONS[status] for status in (401, 429, *statuses)}
    descriptions["default"] = "Any other error."
    return {
        status: {"model": OpenAIErrorResponse, "description": description}
        for status, description in descriptions.items()
    }


CHAT_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_error_responses(400, 404, 413, 422, 502, 503),
    200: {
        "description": "The answer; with `stream`, chunks of it as server-sent events.",
        "content": STREAM_CONTENT,
        "headers": RUN_HEADER_SCHEMA,
    },
}


@router.get("/models", responses=_error_responses())
def list_models(caller: Caller) -> Models:
    """List the only model, `veracity`."""
    return Models(data=[Model()])


@router.get("/models/{model}", responses=_error_responses(404))
def read_model(model: str, caller: Caller) -> Model:
    """Describe the model `veracity`."""
    require_model(model)
    return Model()


@router.post("/chat/completions", response_model=Completion, responses=CHAT_RESPONSES)
async def create_completion(
    body: ChatRequest,
    headers: Annotated[ChatHeaders, Header()],
    caller: Caller,
    engine: Engine,
    live: Live,
    request: Request,
    response: Response,
) -> Any:
    """Ask the last user message. Earlier messages only identify the conversation; system messages are ignored. The
    response's field `veracity` has the run, its status and the citations."""
    require_supported(body)
    metadata = body.metadata or Metadata()
    start = partial(
        request.app.state.questions, caller.name, partial(_start_run, body, metadata, headers, caller, engine, live)
    )
    # With a key the client may come back for the answer at any time.
    abandon = partial(live.abandon, caller) if not headers.idempotency_key else _keep
    if body.stream:
        include_usage = bool(body.stream_options and body.stream_options.include_usage)
        encode = partial(_encode_chunks, request, caller, abandon, metadata, include_usage)
        return await stream_run(request, caller, start, lambda run_id: live.follow(run_id, caller), encode)
    run_id = await start()
    response.headers[RUN_HEADER] = run_id
    if answer := await unless_disconnected(request, live.wait_for_answer(run_id, caller)):
        return render_completion(answer, metadata.content)
    abandon(run_id)
    return Response(status_code=CLIENT_GONE)


def _keep(run_id: str) -> None:
    """The run goes on."""


def _start_run(
    body: ChatRequest, metadata: Metadata, headers: ChatHeaders, user: User, engine: Engine, live: Live
) -> str:
    """Starts a run, or returns the existing one if the question is repeated."""
    question, key = check_question(read_question(body)), headers.idempotency_key
    name = metadata.conversation or headers.conversation

    def start() -> str:
        if not headers.is_retry:
            live.require_can_ask(user)
        conversation = name or find_conversation(engine, user, read_earlier(body.messages), question)
        if headers.is_retry and (run_id := find_retried_run(engine, user, question, conversation)):
            return run_id
        return live.start(user, question, conversation=conversation or generate_conversation_name(), key=key)

    return start_once(engine, user, key, question, name, start)


async def _encode_chunks(
    request: Request,
    user: User,
    abandon: Callable[[str], None],
    metadata: Metadata,
    include_usage: bool,
    events: AsyncIterator[LiveEvent | None],
    run_id: str,
) -> AsyncIterator[bytes]:
    """Abandons the run if the client disconnects."""
    try:
        async for chunk in _chunks(request, user, metadata, include_usage, events, run_id):
            yield chunk
    except (asyncio.CancelledError, GeneratorExit):
        abandon(run_id)
        raise


async def _chunks(
    request: Request,
    user: User,
    metadata: Metadata,
    include_usage: bool,
    events: AsyncIterator[LiveEvent | None],
    run_id: str,
) -> AsyncIterator[bytes]:
    renderer = ChunkRenderer(run_id)
    yield _encode(renderer.first())
    async for event in events:
        kind = event.data["kind"] if event else ""
        if event and kind == "answer":
            for chunk in renderer.rest(event.data["answer"], metadata.content, include_usage):
                yield _encode(chunk)
            yield b"data: [DONE]\n\n"
            return
        if event and kind == "failed":
            yield _encode_error(event.data["problem"])
            return
        if event is None or kind == "started":
            yield KEEP_ALIVE
    if await is_authorized(request, user):
        yield _encode_error(STOPPING_RUN.format(run_id))
    else:
        yield _encode_error(str(unauthorized()), "authentication_error", "Unauthorized")


def _encode_error(message: str, kind: str = "server_error", code: str = "run_failed") -> bytes:
    """An error after the response has started, which OpenAI's clients raise."""
    return _encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


def _encode(value: dict[str, Any]) -> bytes:
    return b"data: " + encode_json(value) + b"\n\n"
