"""/v1/chat/completions and /v1/models. Errors have OpenAI's format: see `server.errors`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel

from veracity.server.auth import AuthenticatedRoute, Caller
from veracity.server.openai.completions import ChunkRenderer, Completion, render_completion
from veracity.server.openai.delivery import Delivery, QuestionHeaders, error_responses
from veracity.server.openai.schemas import (
    MODEL,
    ChatRequest,
    Metadata,
    read_earlier,
    read_question,
    require_model,
    require_supported,
)
from veracity.server.sse import RUN_HEADER_SCHEMA, STREAM_CONTENT

router = APIRouter(prefix="/v1", tags=["OpenAI"], route_class=AuthenticatedRoute)

CHAT_RESPONSES: dict[int | str, dict[str, Any]] = {
    **error_responses(400, 404, 413, 422, 502, 503),
    200: {
        "description": "The answer; with `stream`, chunks of it as server-sent events.",
        "content": STREAM_CONTENT,
        "headers": RUN_HEADER_SCHEMA,
    },
}


class Model(BaseModel):
    id: str = MODEL
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = MODEL


class Models(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


@router.get("/models", responses=error_responses())
def list_models(caller: Caller) -> Models:
    """List the only model, `veracity`."""
    return Models(data=[Model()])


@router.get("/models/{model}", responses=error_responses(404))
def read_model(model: str, caller: Caller) -> Model:
    """Describe the model `veracity`."""
    require_model(model)
    return Model()


@router.post("/chat/completions", response_model=Completion, responses=CHAT_RESPONSES)
async def create_completion(
    body: ChatRequest,
    headers: Annotated[QuestionHeaders, Header()],
    caller: Caller,
    request: Request,
    response: Response,
) -> Any:
    """Ask the last user message. Earlier messages only identify the conversation; system messages are ignored. The
    response's field `veracity` has the run, its status and the citations."""
    require_supported(body)
    metadata = body.metadata or Metadata()
    delivery = Delivery(
        request,
        caller,
        headers,
        read_question(body.messages),
        read_earlier(body.messages),
        lambda: metadata.conversation or headers.conversation,
    )
    if body.stream:
        include_usage = bool(body.stream_options and body.stream_options.include_usage)
        return await delivery.stream(partial(ChunkRenderer, metadata.content, include_usage))
    return await delivery.send(response, lambda answer: render_completion(answer, metadata.content))
