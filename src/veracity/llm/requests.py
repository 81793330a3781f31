"""Requests to a model: for a value that matches a schema, or for text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from veracity.llm.replies import Reply, read_answer, read_text
from veracity.models import Usage

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


class Message(NamedTuple):
    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A request for a value of type `output`. Each `role` has a separate model instance."""

    model: str
    role: str
    instructions: str
    prompt: str
    output: type[T]
    temperature: float = 0.0
    max_tokens: int | None = None
    max_retries: int = 3


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    value: T
    usage: Usage


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A conversation for the model to continue. Starts and ends with a user message, apart from system messages."""

    model: str
    role: str
    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int | None = None
    max_retries: int = 3

    def __post_init__(self) -> None:
        turns = merge_turns(self.messages)
        if not turns or (turns[0].role, turns[-1].role) != ("user", "user"):
            raise ValueError("a conversation must start and end with a non-empty user message")


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ModelRequest(Generic[V]):
    """A `Question` or `TextRequest` as the client sends it. A retry appends `retry_instruction` to the prompt."""

    params: Question[Any] | TextRequest
    instructions: str
    turns: tuple[Message, ...]
    output: type[BaseModel] | None  # None for plain text
    read: Callable[[Reply], V]
    retry_instruction: str


def question_request(question: Question[T]) -> ModelRequest[T]:
    return ModelRequest(
        params=question,
        instructions=question.instructions,
        turns=(Message("user", question.prompt),),
        output=question.output,
        read=lambda reply: read_answer(
            question.model, reply.outputs, question.output, reply.finish_reason, _limit_name(question)
        ),
        retry_instruction="Answer again in the required form.",
    )


def text_request(request: TextRequest) -> ModelRequest[str]:
    return ModelRequest(
        params=request,
        instructions=join_instructions(request.messages),
        turns=merge_turns(request.messages),
        output=None,
        read=lambda reply: read_text(request.model, reply.outputs, reply.finish_reason, _limit_name(request)),
        retry_instruction="Answer again.",
    )


def _limit_name(params: Question[Any] | TextRequest) -> str:
    """The setting that limits the reply: the request's own, such as a metric's, or that of its role."""
    return "max_tokens" if params.max_tokens else f"max_tokens.{params.role}"


def join_instructions(messages: Iterable[Message]) -> str:
    """Joins the system messages."""
    return _join(message.text for message in messages if message.role == "system")


def merge_turns(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Merges consecutive messages of a role and drops empty ones, because many servers reject both."""
    turns = [message for message in messages if message.role != "system" and message.text.strip()]
    return tuple(
        Message(role, _join(message.text for message in group))
        for role, group in groupby(turns, key=lambda message: message.role)
    )


def _join(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
