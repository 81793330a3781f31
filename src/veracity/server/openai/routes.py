"""OpenAI's way to ask: /v1/chat/completions and /v1/models, for programs that know nothing of Veracity.

What is streamed has been examined: drafts never leave here. Errors have OpenAI's form (see problems).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, Field

from veracity.engine import checked_question
from veracity.models import Answer, User
from veracity.server.auth import Caller, Engine, KnownFirst, Live, unauthorized
from veracity.server.errors import RUN_HEADER, TELLS
from veracity.server.idempotency import begun_once, new_conversation, tried_before
from veracity.server.limits import Computing
from veracity.server.openai.conversations import conversation_of
from veracity.server.openai.render import Chunks, Completion, completion_of
from veracity.server.openai.schemas import (
    MODEL,
    ChatRequest,
    Metadata,
    exchanges_before,
    question_of,
    require_model,
    require_supported,
)
from veracity.server.sse import RUN_TOLD, Event, is_welcome, run_response


class OpenAIError(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIProblem(BaseModel):
    """What every refusal of this tree looks like."""

    error: OpenAIError


class Model(BaseModel):
    id: str = MODEL
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = MODEL


class Models(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    told: dict[int | str, dict[str, Any]] = {
        status: {"model": OpenAIProblem, "description": TELLS[status]} for status in (401, 429, *statuses)
    }
    return {**told, "default": {"model": OpenAIProblem, "description": "Any other refusal."}}


STREAMED = {
    "description": "The answer; with `stream`, chunks of it as server-sent events.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
    "headers": RUN_TOLD,
}


router = APIRouter(prefix="/v1", tags=["OpenAI"], route_class=KnownFirst)


@router.get("/models", responses=_refusals())
def models(caller: Caller) -> Models:
    return Models(data=[Model()])


@router.get("/models/{model}", responses=_refusals(404))
def model(model: str, caller: Caller) -> Model:
    require_model(model)
    return Model()


class Sent(BaseModel):
    """What the headers say: which conversation (percent-encoded where it is not ASCII), in our words or in those of
    Open WebUI; by which key the question is known when it is sent again; and whether OpenAI's client does so now."""

    x_veracity_conversation: Annotated[str, Field(max_length=1500)] = ""
    x_openwebui_chat_id: Annotated[str, Field(max_length=1500)] = ""
    idempotency_key: Annotated[str, Field(max_length=200)] = ""
    x_stainless_retry_count: str = "0"

    @property
    def conversation(self) -> str:
        return unquote(self.x_veracity_conversation or self.x_openwebui_chat_id)

    @property
    def is_another_try(self) -> bool:
        return self.x_stainless_retry_count.isdecimal() and self.x_stainless_retry_count.strip("0") != ""


@router.post(
    "/chat/completions", response_model=Completion, responses={**_refusals(400, 404, 413, 422, 502, 503), 200: STREAMED}
)
async def complete(
    asked: ChatRequest,
    sent: Annotated[Sent, Header()],
    caller: Caller,
    engine: Engine,
    live: Live,
    request: Request,
    response: Response,
) -> Any:
    """The last message of a user is the question; earlier ones only tell which conversation it belongs to. Messages of
    the system are not read. See the field `veracity` for the run, its status and the citations."""
    require_supported(asked)
    chosen = asked.metadata or Metadata()
    questions: Computing = request.app.state.questions
    start = partial(questions, caller.name, partial(_start, asked, sent, caller, engine, live))
    if asked.stream:
        has_usage = bool(asked.stream_options and asked.stream_options.include_usage)
        lines = partial(_lines, request, caller, chosen, has_usage)
        return await run_response(request, caller, start, lambda run_id: live.follow(run_id, caller), lines)
    run_id = await start()
    response.headers[RUN_HEADER] = run_id
    return completion_of(await live.outcome(run_id, caller), chosen.content)


def _start(asked: ChatRequest, sent: Sent, caller: User, engine: Engine, live: Live) -> str:
    """The run of this question: one that is there, if it is sent again."""
    question = checked_question(question_of(asked))
    named = (asked.metadata or Metadata()).conversation or sent.conversation

    def begin() -> str:
        if not sent.is_another_try:  # which asks nothing new
            live.require_may_ask(caller)
        known = named or conversation_of(engine, caller, exchanges_before(asked.messages), question)
        tried = tried_before(engine, caller, question, known) if sent.is_another_try else ""
        conversation = known or new_conversation()
        return tried or live.start(caller, question, conversation=conversation, key=sent.idempotency_key)

    return begun_once(engine, caller, sent.idempotency_key, question, named, begin)


async def _lines(
    request: Request,
    caller: User,
    chosen: Metadata,
    has_usage: bool,
    events: AsyncIterator[Event | None],
    run_id: str,
) -> AsyncIterator[bytes]:
    chunks = Chunks(run_id)
    yield _data(chunks.opening())
    async for event in events:
        kind = event.data["kind"] if event else ""
        if event and kind == "answer":
            answer = Answer.model_validate(event.data["answer"])
            for chunk in chunks.of(answer, chosen.content, has_usage):
                yield _data(chunk)
            yield b"data: [DONE]\n\n"
            return
        if event and kind == "failed":
            yield _failed(event.data["problem"])
            return
        if event is None or kind == "started":  # a step, or the time in which nothing began
            yield b": \n\n"
    if await is_welcome(request, caller):
        yield _failed(f'The server is stopping: the run "{run_id}" goes on later.')
    else:
        yield _failed(str(unauthorized()), "authentication_error", "Unauthorized")


def _failed(problem: str, kind: str = "server_error", code: str = "run_failed") -> bytes:
    """As OpenAI tells of it when the answer has begun: its clients raise an error."""
    return _data({"error": {"message": problem, "type": kind, "param": None, "code": code}})


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
