"""Names that callers give: of runs, users and conversations. Knows nothing about what they name."""

from __future__ import annotations

from veracity.errors import InputError
from veracity.providers.texts import encodable

LONGEST_NAME = 500


def storable(name: str, whose: str, shortest: int) -> str:
    """Names are compared: one that could only be stored as another one is refused."""
    if not shortest <= len(name) <= LONGEST_NAME or "\0" in name or encodable(name) != name:
        raise InputError(
            f"{whose} has a name of {shortest} to {LONGEST_NAME} characters, none of them NUL or half one."
        )
    return name


def user_name(user: str) -> str:
    return storable(user, "A user", 0)


def conversation_name(conversation: str) -> str:
    return storable(conversation, "A conversation", 1)
