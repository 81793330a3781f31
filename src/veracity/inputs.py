"""Checks of what callers pass to the engine: types, lengths and limits. Each raises `InputError`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from veracity.errors import InputError
from veracity.models import Document
from veracity.printable import encodable

MAX_QUERY_LENGTH = 10_000  # characters; a longer search query is cut
MAX_EDIT_LENGTH = 20_000  # characters
MAX_REWRITES = 20
MAX_DEADLINE_SECONDS = 86_400
MAX_RESULTS = 1000
MAX_LISTED = 100_000
MAX_TURNS = 1_000_000

T = TypeVar("T")


def require_text(value: str, what: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{what} must be a string, not {type(value).__name__}.")


def check_text(value: str, what: str) -> str:
    """The text as it can be stored: without lone surrogates."""
    require_text(value, what)
    return encodable(value)


def check_texts(values: str | Iterable[str], what: str) -> list[str]:
    """One string, or several, as a list."""
    texts = [values] if isinstance(values, str) else _as_list(values, what)
    for text in texts:
        require_text(text, f"Each of the {what}")
    return texts


def check_paths(paths: Path | str | Sequence[Path | str]) -> list[Path | str]:
    """One path, or several, as a list."""
    listed = [paths] if isinstance(paths, str | Path) else _as_list(paths, "paths")
    for path in listed:
        if not isinstance(path, str | Path):
            raise InputError(f"A path must be a string or a pathlib.Path, not {type(path).__name__}.")
    return listed


def check_documents(documents: Document | Iterable[Document]) -> Iterable[Document]:
    """One document, or several, to iterate over."""
    listed = [documents] if isinstance(documents, Document) else documents
    if isinstance(listed, str | Mapping) or not isinstance(listed, Iterable):
        raise InputError(f"Documents are added as Document(id=…, text=…), not as {type(listed).__name__}.")
    return listed


def check_question(question: str) -> str:
    """The question as it is stored: not empty, with a word, and not too long."""
    if not isinstance(question, str) or not question.strip():
        raise InputError("The question is empty: ask it in words.", "empty")
    if not any(map(str.isalnum, question)):
        raise InputError("The question contains no word: ask it in words.", "no_words")
    if len(question) > MAX_QUERY_LENGTH:
        message = f"The question has {len(question):,} characters: use at most {MAX_QUERY_LENGTH:,}."
        raise InputError(message, "too_long", n=MAX_QUERY_LENGTH)
    return encodable(question.strip())


def check_search(query: str, top_k: int) -> str:
    """The query as it is searched for."""
    if not isinstance(query, str) or not query.strip():
        raise InputError("The query is empty: enter words to search for.", "empty")
    if not isinstance(top_k, int) or not 1 <= top_k <= MAX_RESULTS:
        raise InputError(f"A search returns between 1 and {MAX_RESULTS} passages, not {top_k}.")
    return query[:MAX_QUERY_LENGTH]


def check_edit(edit: str) -> str:
    """The edited answer as it is stored."""
    require_text(edit, "The edited answer")
    if len(edit) > MAX_EDIT_LENGTH:
        message = f"The edited answer has {len(edit):,} characters: use at most {MAX_EDIT_LENGTH:,}."
        raise InputError(message, "too_long", n=MAX_EDIT_LENGTH)
    return encodable(edit.strip())


def require_limit(limit: int, what: str, maximum: int = MAX_LISTED) -> None:
    if not isinstance(limit, int) or not 1 <= limit <= maximum:
        raise InputError(f"The limit must be between 1 and {maximum:,} {what}, not {limit}.")


def _as_list(values: Iterable[T], what: str) -> list[T]:
    try:
        return list(values)
    except TypeError:
        raise InputError(f"The {what} must be a string or a list of strings, not {type(values).__name__}.") from None
