"""What is said to a model and by it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Literal, NamedTuple


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
