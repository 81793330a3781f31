"""For your own tests: models that reply from a script, and a guard that blocks connections to other machines.

llm = ScriptedLLM({"reason": "Clear.", "score": 90})
result = Evaluator(workspace, llm=llm).evaluate(request)
assert result.overall_score == 90 and len(llm.calls) == 3
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.settings import ModelSettings

from veracity.deadlines import Deadline
from veracity.llm import LLM, Message
from veracity.llm.pydantic_ai import OUTPUT_TOOL
from veracity.settings import LLMSettings

__all__ = ["Pieces", "ScriptedCall", "ScriptedLLM", "offline"]

SCRIPTED_PIECES = 4  # that a plain reply is streamed in


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call as the model sees it. `messages` start with the system's; `prompt` is the last message of the user."""

    model: str
    role: str
    instructions: str
    prompt: str
    messages: list[Message]
    settings: ModelSettings


class Pieces:
    """A streamed reply, with a `pause` in seconds between two pieces. An exception among them ends the stream."""

    def __init__(self, *pieces: str | Exception, pause: float = 0.0) -> None:
        self.pieces = pieces
        self.pause = pause


Reply = dict[str, Any] | str | Pieces | Exception | Callable[[ScriptedCall], Any]
"""A structured reply, a text (streamed in a few pieces, or in the given ones), an error to raise, or a function that
takes the call and returns one of these."""

Replies = Reply | list[Any] | tuple[Reply, ...]
"""One reply or several in order."""

NO_BACKOFF = LLMSettings(backoff=0)


class ScriptedLLM(LLM):
    """Returns the replies in order and then repeats the last one; `calls` records the calls. Needs no key.

    `roles` has a script for each role, such as "writer". The replies are for all other roles.
    """

    def __init__(
        self, *replies: Reply, settings: LLMSettings = NO_BACKOFF, roles: Mapping[str, Replies] | None = None
    ) -> None:
        self._script = _Script(replies, roles or {})
        super().__init__(settings, make_model=self._script.model)
        self.calls = self._script.calls

    @classmethod
    def by_role(cls, settings: LLMSettings = NO_BACKOFF, /, **roles: Replies) -> ScriptedLLM:
        """`by_role(writer=["Draft.", "Better."], reviewer={"passed": True})`: no other role may be called."""
        return cls(settings=settings, roles=roles)

    def require(self, model: str, role: str, deadline: Deadline | None = None) -> None:
        if not self._script.of(role):
            raise AssertionError(f'The role "{role}" (model "{model}") was called and has no script.')
        super().require(model, role, deadline)


class _Script:
    """Holds no reference to the LLM: the worker threads keep the models alive, and so all that they reference."""

    def __init__(self, replies: tuple[Reply, ...], roles: Mapping[str, Replies]) -> None:
        self.calls: list[ScriptedCall] = []
        self._replies = replies
        self._roles = {
            role: tuple(script) if isinstance(script, list | tuple) else (script,) for role, script in roles.items()
        }
        if not all(self._roles.values()) or not (replies or roles):
            raise ValueError("a script needs at least one reply")
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def of(self, role: str) -> tuple[Reply, ...]:
        return self._roles.get(role, self._replies)

    def model(self, name: str, role: str) -> FunctionModel:
        async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return _response(await self._reply(_call(name, role, messages, info)))

        async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
            async for piece in _stream(await self._reply(_call(name, role, messages, info))):
                yield piece

        return FunctionModel(respond, stream_function=stream, model_name=name)

    async def _reply(self, call: ScriptedCall) -> Any:
        reply = self._next(call)
        return await _in_thread(lambda: reply(call)) if callable(reply) else reply

    def _next(self, call: ScriptedCall) -> Reply:
        script, name = self.of(call.role), call.role if call.role in self._roles else ""
        with self._lock:
            reply = script[min(self._counts[name], len(script) - 1)]
            self._counts[name] += 1
            self.calls.append(call)
        return reply


def _call(name: str, role: str, messages: list[ModelMessage], info: AgentInfo) -> ScriptedCall:
    instructions = info.instructions or ""
    spoken = [Message("system", instructions)] if instructions else []
    for message in messages:
        role_name: Any = "assistant" if isinstance(message, ModelResponse) else "user"
        texts = [str(part.content) for part in message.parts if isinstance(part, TextPart | UserPromptPart)]
        spoken.append(Message(role_name, "\n".join(texts)))
    return ScriptedCall(name, role, instructions, spoken[-1].text, spoken, info.model_settings or ModelSettings())


def _in_thread(action: Callable[[], Any]) -> Awaitable[Any]:
    """Run on another thread, so that a reply that sleeps can time out like a call over the network."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def act() -> None:
        try:
            future.set_result(action())
        except BaseException as error:  # noqa: BLE001 - raised again by the call
            future.set_exception(error)

    threading.Thread(target=act, daemon=True).start()
    return asyncio.wrap_future(future)


async def _stream(reply: Any) -> AsyncIterator[str | DeltaToolCalls]:
    if isinstance(reply, dict):
        yield {0: DeltaToolCall(OUTPUT_TOOL, json.dumps(reply))}
        return
    pieces = reply if isinstance(reply, Pieces) else _cut(reply)
    for number, piece in enumerate(pieces.pieces):
        if number:
            await asyncio.sleep(pieces.pause)
        if isinstance(piece, Exception):
            raise piece
        yield piece


def _cut(reply: str | Exception) -> Pieces:
    if isinstance(reply, Exception) or not reply:
        return Pieces(reply)
    size = -(-len(reply) // SCRIPTED_PIECES)
    return Pieces(*(reply[start : start + size] for start in range(0, len(reply), size)))


def _response(reply: Any) -> ModelResponse:
    if isinstance(reply, Pieces):
        error = next((piece for piece in reply.pieces if isinstance(piece, Exception)), None)
        reply = error or "".join(map(str, reply.pieces))
    if isinstance(reply, Exception):
        raise reply
    part = TextPart(reply) if isinstance(reply, str) else ToolCallPart(OUTPUT_TOOL, reply)
    return ModelResponse(parts=[part])


@contextmanager
def offline() -> Iterator[None]:
    """Refuse every connection to another machine. Loopback stays open."""
    connect, connect_ex = _guarded(socket.socket.connect), _guarded(socket.socket.connect_ex)
    with patch("socket.socket.connect", connect), patch("socket.socket.connect_ex", connect_ex):
        yield


def _guarded(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise ConnectionRefusedError("offline(): no connection leaves this machine")
        return connect(self, address)

    return guarded


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
