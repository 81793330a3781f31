"""OpenAI's way to ask: /v1/chat/completions and /v1/models, for programs that know nothing of Veracity.

What is streamed has been examined: drafts never leave here. Errors have OpenAI's form (see problems).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from veracity.models import Answer
from veracity.server.access import Caller, Engine, Live
from veracity.server.chat import (
    MODEL,
    ChatRequest,
    Metadata,
    exchanges_before,
    question_of,
    require_model,
    require_supported,
)
from veracity.server.problems import TELLS
from veracity.server.recognizing import conversation_of
from veracity.server.replies import Chunks, Completion, completion_of
from veracity.server.streaming import Event, EventStream, stream_place, while_welcome

RUN = "X-Veracity-Run"


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
    "content": {"text/event-stream": {}},
}
router = APIRouter(prefix="/v1", tags=["OpenAI"])


@router.get("/models", responses=_refusals())
def models(caller: Caller) -> Models:
    return Models(data=[Model()])


@router.get("/models/{model}", responses=_refusals(404))
def model(model: str, caller: Caller) -> Model:
    require_model(model)
    return Model()


@router.post(
    "/chat/completions", response_model=Completion, responses={**_refusals(400, 404, 413, 502, 503), 200: STREAMED}
)
async def complete(
    asked: ChatRequest, caller: Caller, engine: Engine, live: Live, request: Request, response: Response
) -> Any:
    """The last message of a user is the question; earlier ones only tell which conversation it belongs to. Messages of
    the system are not read. See the field `veracity` for the run, its status and the citations."""
    require_supported(asked)
    question, chosen = question_of(asked), asked.metadata or Metadata()
    conversation = chosen.conversation or await run_sync(
        lambda: conversation_of(engine, caller, exchanges_before(asked.messages), question)
    )
    start = partial(live.start, caller, question, conversation=conversation)
    if not asked.stream:
        run_id = await run_sync(start)
        response.headers[RUN] = run_id
        return completion_of(await live.outcome(run_id, caller), chosen.content)
    with stream_place(request, caller) as closed:
        run_id = await run_sync(start)
        events = while_welcome(request, caller, live.follow(run_id, caller))
        has_usage = bool(asked.stream_options and asked.stream_options.include_usage)
        return EventStream(_lines(events, run_id, chosen, has_usage), closed, {RUN: run_id})


async def _lines(
    events: AsyncIterator[Event | None], run_id: str, chosen: Metadata, has_usage: bool
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
    yield _failed(f'The server is stopping: the run "{run_id}" goes on later.')


def _failed(problem: str) -> bytes:
    """As OpenAI tells of it when the answer has begun: its clients raise an error."""
    return _data({"error": {"message": problem, "type": "server_error", "param": None, "code": "run_failed"}})


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
