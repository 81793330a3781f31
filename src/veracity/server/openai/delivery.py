"""What chat completions and responses share: starting a question's run once, and sending its answer whole or streamed.

Only released answers are sent, never drafts. A client that disconnects stops its run, unless it may come back for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Protocol
from urllib.parse import unquote

from fastapi import Request, Response
from pydantic import BaseModel, Field

from veracity.engine import Veracity
from veracity.inputs import check_question
from veracity.models import Answer, User
from veracity.server.auth import unauthorized
from veracity.server.errors import RUN_HEADER, STATUS_DESCRIPTIONS
from veracity.server.idempotency import find_retried_run, generate_conversation_name, start_once
from veracity.server.live.events import LiveEvent
from veracity.server.live.runs import STOPPING_RUN, LiveRuns
from veracity.server.openai.conversations import find_conversation
from veracity.server.openai.schemas import Exchange
from veracity.server.sse import KEEP_ALIVE, EventStream, is_authorized, stream_run, unless_disconnected

CLIENT_GONE = 499  # never received


class OpenAIErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIErrorResponse(BaseModel):
    """The body of every error below /v1."""

    error: OpenAIErrorDetail


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of a route's errors."""
    descriptions: dict[int | str, str] = {status: STATUS_DESCRIPTIONS[status] for status in (401, 429, *statuses)}
    descriptions["default"] = "Any other error."
    return {
        status: {"model": OpenAIErrorResponse, "description": description}
        for status, description in descriptions.items()
    }


class QuestionHeaders(BaseModel):
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


class StreamRenderer(Protocol):
    """Encodes one streamed answer in a format of OpenAI's."""

    def start(self) -> Iterable[bytes]: ...

    def answer(self, answer: Answer) -> Iterable[bytes]: ...

    def failure(self, problem: str) -> bytes:
        """The run failed."""
        ...

    def error(self, message: str, kind: str, code: str) -> bytes:
        """The stream ends, whatever becomes of the run."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """A question of a client. `name` returns the conversation that the request names, or ""; it may read the ledger.
    `earlier` are the turns that the client sent along, which identify an unnamed conversation. A run that `survives`
    goes on when its client disconnects."""

    request: Request
    user: User
    headers: QuestionHeaders
    question: str
    earlier: Sequence[Exchange]
    name: Callable[[], str]
    survives: bool = False

    async def start(self) -> str:
        """Starts a run and returns its id, or that of the existing run if the question is repeated."""
        run_id: str = await self.request.app.state.questions(self.user.name, self._start)
        return run_id

    async def send(self, response: Response, render: Callable[[Answer], Any]) -> Any:
        """The rendered answer."""
        run_id = await self.start()
        response.headers[RUN_HEADER] = run_id
        if answer := await unless_disconnected(self.request, self._live.wait_for_answer(run_id, self.user)):
            return render(answer)
        self._abandon(run_id)
        return Response(status_code=CLIENT_GONE)

    async def stream(self, make_renderer: Callable[[str], StreamRenderer]) -> EventStream:
        """The answer as events of the renderer for this run."""

        async def encode(events: AsyncGenerator[LiveEvent | None], run_id: str) -> AsyncGenerator[bytes]:
            try:
                async with aclosing(events), aclosing(self._encode(events, make_renderer(run_id), run_id)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except (asyncio.CancelledError, GeneratorExit):
                self._abandon(run_id)
                raise

        return await stream_run(
            self.request, self.user, self.start, lambda run_id: self._live.follow(run_id, self.user), encode
        )

    @property
    def _live(self) -> LiveRuns:
        live: LiveRuns = self.request.app.state.live
        return live

    def _start(self) -> str:
        engine: Veracity = self.request.app.state.engine
        question, key, name = check_question(self.question), self.headers.idempotency_key, self.name()
        is_retry, live, user = self.headers.is_retry, self._live, self.user

        def start() -> str:
            if not is_retry:
                live.require_can_ask(user)
            conversation = name or find_conversation(engine, user, self.earlier, question)
            if is_retry and (run_id := find_retried_run(engine, user, question, conversation)):
                return run_id
            return live.start(user, question, conversation=conversation or generate_conversation_name(), key=key)

        return start_once(engine, user, key, question, name, start)

    def _abandon(self, run_id: str) -> None:
        """With a key, too, the client may come back for the answer at any time."""
        if not (self.survives or self.headers.idempotency_key):
            self._live.abandon(self.user, run_id)

    async def _encode(
        self, events: AsyncGenerator[LiveEvent | None], renderer: StreamRenderer, run_id: str
    ) -> AsyncGenerator[bytes]:
        for chunk in renderer.start():
            yield chunk
        async for event in events:
            kind = event.data["kind"] if event else ""
            if event and kind == "answer":
                for chunk in renderer.answer(event.data["answer"]):
                    yield chunk
                return
            if event and kind == "failed":
                yield renderer.failure(event.data["problem"])
                return
            if event is None or kind == "started":
                yield KEEP_ALIVE
        if await is_authorized(self.request, self.user):
            yield renderer.error(STOPPING_RUN.format(run_id), "server_error", "run_failed")
        else:
            yield renderer.error(str(unauthorized()), "authentication_error", "Unauthorized")
