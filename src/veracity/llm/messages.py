"""What is said to a model and by it."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Message(NamedTuple):
    role: Literal["system", "user", "assistant"]
    text: str
