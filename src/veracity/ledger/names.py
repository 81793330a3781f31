"""Names that callers give: of runs, users and conversations. Knows nothing about what they name."""

from __future__ import annotations

import unicodedata

from veracity.errors import InputError

LONGEST_NAME = 500
BREAKING = ("Cc", "Zl", "Zp", "Cs")  # control characters, line breaks, halves of characters


def storable(name: str, whose: str, shortest: int) -> str:
    """In one spelling (NFC), however it was typed: names are compared. They also stand in lines of text: one that could
    only be stored as another one is refused, and so is one that would break the line."""
    if not isinstance(name, str):
        raise InputError(f"{whose} is named by text, not by {type(name).__name__}.")
    spelled = unicodedata.normalize("NFC", name)
    if not shortest <= len(spelled) <= LONGEST_NAME or any(unicodedata.category(one) in BREAKING for one in spelled):
        raise InputError(
            f"{whose} has a name of {shortest} to {LONGEST_NAME} characters, "
            "none of them a line break, a control character or half a character."
        )
    return spelled


def user_name(user: str) -> str:
    return storable(user, "A user", 0)


def decider_name(by: str) -> str:
    return storable(by, "Whoever decides", 0)


def rater_name(by: str) -> str:
    return storable(by, "Whoever rates", 0)


def conversation_name(conversation: str) -> str:
    return storable(conversation, "A conversation", 1)
