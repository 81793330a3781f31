"""What is handed to the engine, checked: each refusal is one sentence. Knows nothing about what is done with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from veracity.errors import InputError
from veracity.providers.texts import encodable

MOST_RESULTS = 1000
MOST_RUNS = 100_000
MOST_TURNS = 1_000_000
LONGEST_QUERY = 10_000  # characters; what comes after them is not read
LONGEST_EDIT = 20_000

T = TypeVar("T")


def listed(given: Iterable[T], what: str) -> list[T]:
    try:
        return list(given)
    except TypeError:
        raise InputError(f"The {what} are given as text or as a list of it, not as {type(given).__name__}.") from None


def listed_texts(given: str | Iterable[str], what: str) -> list[str]:
    """One text is a list of one, and not of its letters."""
    texts = [given] if isinstance(given, str) else listed(given, what)
    for text in texts:
        require_text(text, f"Each of the {what}")
    return texts


def require_text(name: str, what: str) -> None:
    if not isinstance(name, str):
        raise InputError(f"{what} is named by text, not by {type(name).__name__}.")


def checked_edit(edit: str) -> str:
    require_text(edit, "An edited answer")
    if len(edit) > LONGEST_EDIT:
        raise InputError(f"The edited answer has {len(edit):,} characters: at most {LONGEST_EDIT:,} are taken.")
    return encodable(edit.strip())


def checked_question(question: str) -> str:
    if not isinstance(question, str) or not question.strip():
        raise InputError("The question is empty: ask it in words.")
    if not any(map(str.isalnum, question)):
        raise InputError("The question holds no word: ask it in words.")
    if len(question) > LONGEST_QUERY:
        raise InputError(f"The question has {len(question):,} characters: ask it in at most {LONGEST_QUERY:,}.")
    return encodable(question.strip())


def require_number(number: int, most: int, what: str) -> None:
    if not isinstance(number, int) or not 1 <= number <= most:
        raise InputError(f"Between 1 and {most:,} {what} are listed, not {number}.")
