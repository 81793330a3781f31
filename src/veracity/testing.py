"""For your own tests: models that answer from a script, and a guard that lets no call leave this machine.

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
from veracity.llm.pydantic_ai import TOOL
from veracity.settings import LLMSettings

__all__ = ["Pieces", "ScriptedCall", "ScriptedLLM", "offline"]

FEW = 4


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One call as the model saw it. `messages` are all of them, the system's first; `prompt` is the user's last."""

    model: str
    role: str
    instructions: str
    prompt: str
    messages: list[Message]
    settings: ModelSettings


class Pieces:
    """A text as it comes to who listens, `pause` seconds between two pieces. An error in it breaks it off."""

    def __init__(self, *pieces: str | Exception, pause: float = 0.0) -> None:
        self.pieces = pieces
        self.pause = pause


Reply = dict[str, Any] | str | Pieces | Exception | Callable[[ScriptedCall], Any]
"""A structured answer, plain text (for who listens in a few pieces, or in those that are given), an error to raise, or
a function that is given the call and returns one of these."""

Replies = Reply | list[Any] | tuple[Reply, ...]
"""One reply or several."""

QUICK = LLMSettings(backoff=0)


class ScriptedLLM(LLM):
    """Gives the replies one after another, the last one for ever; `calls` records what was asked. Needs no key.

    `roles` has a script for each role, such as "writer"; the replies are for all others.
    """

    def __init__(
        self, *replies: Reply, settings: LLMSettings = QUICK, roles: Mapping[str, Replies] | None = None
    ) -> None:
        self._script = _Script(replies, roles or {})
        super().__init__(settings, make_model=self._script.model)
        self.calls = self._script.calls

    @classmethod
    def by_role(cls, settings: LLMSettings = QUICK, /, **roles: Replies) -> ScriptedLLM:
        """`by_role(writer=["Draft.", "Better."], reviewer={"passed": True})`: no other role may be asked."""
        return cls(settings=settings, roles=roles)

    def require(self, model: str, role: str, deadline: Deadline | None = None) -> None:
        if not self._script.of(role):
            raise AssertionError(f'The role "{role}" (model "{model}") was asked and has no script.')
        super().require(model, role, deadline)


class _Script:
    """Knows nothing of the LLM: the workers hold its models, and would keep alive what these know."""

    def __init__(self, replies: tuple[Reply, ...], roles: Mapping[str, Replies]) -> None:
        self.calls: list[ScriptedCall] = []
        self._replies = replies
        self._roles = {role: tuple(one) if isinstance(one, list | tuple) else (one,) for role, one in roles.items()}
        if not all(self._roles.values()) or not (replies or roles):
            raise ValueError("a script needs at least one reply")
        self._given: Counter[str] = Counter()
        self._turn = threading.Lock()

    def of(self, role: str) -> tuple[Reply, ...]:
        return self._roles.get(role, self._replies)

    def model(self, name: str, role: str) -> FunctionModel:
        async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return _response(await self._reply(_call(name, role, messages, info)))

        async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
            async for piece in _spoken(await self._reply(_call(name, role, messages, info))):
                yield piece

        return FunctionModel(respond, stream_function=speak, model_name=name)

    async def _reply(self, call: ScriptedCall) -> Any:
        reply = self._next(call)
        return await _apart(lambda: reply(call)) if callable(reply) else reply

    def _next(self, call: ScriptedCall) -> Reply:
        script, name = self.of(call.role), call.role if call.role in self._roles else ""
        with self._turn:
            reply = script[min(self._given[name], len(script) - 1)]
            self._given[name] += 1
            self.calls.append(call)
        return reply


def _call(name: str, role: str, messages: list[ModelMessage], info: AgentInfo) -> ScriptedCall:
    instructions = info.instructions or ""
    said = [Message("system", instructions)] if instructions else []
    for message in messages:
        speaker: Any = "assistant" if isinstance(message, ModelResponse) else "user"
        texts = [str(part.content) for part in message.parts if isinstance(part, TextPart | UserPromptPart)]
        said.append(Message(speaker, "\n".join(texts)))
    return ScriptedCall(name, role, instructions, said[-1].text, said, info.model_settings or ModelSettings())


def _apart(action: Callable[[], Any]) -> Awaitable[Any]:
    """On a thread of its own: a call whose reply sleeps is left in time, as one over the network is."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def act() -> None:
        try:
            future.set_result(action())
        except BaseException as problem:  # noqa: BLE001 - it is raised again by the call
            future.set_exception(problem)

    threading.Thread(target=act, daemon=True).start()
    return asyncio.wrap_future(future)


async def _spoken(reply: Any) -> AsyncIterator[str | DeltaToolCalls]:
    if isinstance(reply, dict):
        yield {0: DeltaToolCall(TOOL, json.dumps(reply))}
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
    size = -(-len(reply) // FEW)
    return Pieces(*(reply[start : start + size] for start in range(0, len(reply), size)))


def _response(reply: Any) -> ModelResponse:
    if isinstance(reply, Pieces):
        broken = next((piece for piece in reply.pieces if isinstance(piece, Exception)), None)
        reply = broken or "".join(map(str, reply.pieces))
    if isinstance(reply, Exception):
        raise reply
    part = TextPart(reply) if isinstance(reply, str) else ToolCallPart(TOOL, reply)
    return ModelResponse(parts=[part])


@contextmanager
def offline() -> Iterator[None]:
    """Connections to other machines are refused, whoever asks for one. Loopback stays open."""
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
