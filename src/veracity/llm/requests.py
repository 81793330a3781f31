"""What can be asked of a model, a value of some form or a text, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from veracity.llm.replies import Reply, read_answer, read_text
from veracity.models import Usage


class Message(NamedTuple):
    role: Literal["system", "user", "assistant"]
    text: str


def instructions_in(messages: Iterable[Message]) -> str:
    """What the system says, wherever it stands."""
    return _joined(message.text for message in messages if message.role == "system")


def turns_in(messages: Iterable[Message]) -> tuple[Message, ...]:
    """What user and assistant say in turn: many servers refuse two messages of one role in a row, or an empty one."""
    said = [message for message in messages if message.role != "system" and message.text.strip()]
    turns = groupby(said, key=lambda message: message.role)
    return tuple(Message(role, _joined(message.text for message in group)) for role, group in turns)


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """`role` keeps model instances apart: a reviewer never shares the writer's."""

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
class Writing:
    """A conversation that the model goes on with: it begins and ends with the user, the system may stand anywhere."""

    model: str
    role: str
    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int | None = None
    max_retries: int = 3

    def __post_init__(self) -> None:
        turns = turns_in(self.messages)
        if not turns or (turns[0].role, turns[-1].role) != ("user", "user"):
            raise ValueError("a conversation begins and ends with something that the user says")


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Errand(Generic[V]):
    """Either of them in the form in which the door carries it out. `again` ends a re-ask."""

    asked: Question[Any] | Writing
    instructions: str
    turns: tuple[Message, ...]
    output: type[BaseModel] | None
    read: Callable[[Reply], V]
    again: str


def asking(question: Question[T]) -> Errand[T]:
    return Errand(
        asked=question,
        instructions=question.instructions,
        turns=(Message("user", question.prompt),),
        output=question.output,
        read=lambda reply: read_answer(question.model, reply.written, question.output, reply.finish_reason),
        again="Answer again in the required form.",
    )


def writing_on(writing: Writing) -> Errand[str]:
    return Errand(
        asked=writing,
        instructions=instructions_in(writing.messages),
        turns=turns_in(writing.messages),
        output=None,
        read=lambda reply: read_text(writing.model, reply.written, reply.finish_reason),
        again="Answer again.",
    )
