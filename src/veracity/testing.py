"""For your own tests: a judge that answers from a script, and a guard that lets no call leave this machine.

llm = ScriptedLLM({"reason": "Clear.", "score": 90})
result = Evaluator(workspace, llm=llm).evaluate(request)
assert result.overall_score == 90 and len(llm.calls) == 3
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings

from veracity.llm import LLM
from veracity.llm.calling import TOOL
from veracity.settings import LLMSettings

__all__ = ["ScriptedCall", "ScriptedLLM", "offline"]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One call as the model saw it."""

    model: str
    instructions: str
    prompt: str
    settings: ModelSettings


Reply = dict[str, Any] | str | Exception | Callable[[ScriptedCall], Any]
"""A structured answer, plain text, an error to raise, or a function that is given the call and returns one of these."""

QUICK = LLMSettings(backoff=0)


class ScriptedLLM(LLM):
    """Gives the replies one after another, the last one for ever; `calls` records what was asked. Needs no key."""

    def __init__(self, *replies: Reply, settings: LLMSettings = QUICK) -> None:
        script = _Script(replies)
        super().__init__(settings, make_model=script.model)
        self.calls = script.calls


class _Script:
    """Knows nothing of the LLM: the workers hold its models, and would keep alive what these know."""

    def __init__(self, replies: tuple[Reply, ...]) -> None:
        if not replies:
            raise ValueError("a script needs at least one reply")
        self.calls: list[ScriptedCall] = []
        self._replies = replies
        self._turn = threading.Lock()

    def model(self, name: str) -> FunctionModel:
        def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            call = ScriptedCall(
                name, info.instructions or "", _prompt(messages), info.model_settings or ModelSettings()
            )
            with self._turn:
                reply = self._replies[min(len(self.calls), len(self._replies) - 1)]
                self.calls.append(call)
            return _response(reply(call) if callable(reply) else reply)

        return FunctionModel(respond, model_name=name)


def _prompt(messages: list[ModelMessage]) -> str:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return "\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))


def _response(reply: Any) -> ModelResponse:
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
