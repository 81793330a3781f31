"""From the bytes of a document to its text: finds the format, hands over to its reader, checks what comes back.

Each reader is loaded when its format comes up for the first time. Run it in a capped subprocess (`isolation`): the
parsers see whatever people hand in. Knows nothing about files, stores and search.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from veracity.reading import office
from veracity.reading.base import Format, Reading, Unreadable, as_title, failed, skipped, tidy
from veracity.reading.detect import binary_format, damaged_as_named, text_format
from veracity.reading.encodings import decode
from veracity.reading.office import Limits

_READERS: dict[Format, tuple[str, str]] = {
    "text": ("text", "read_text"),
    "markdown": ("text", "read_markdown"),
    "html": ("html", "read"),
    "pdf": ("pdf", "read"),
    "docx": ("office", "read_docx"),
    "pptx": ("office", "read_pptx"),
    "xlsx": ("office", "read"),
    "csv": ("text", "read"),
    "json": ("text", "read_json"),
    "jsonl": ("text", "read_jsonl"),
}
_OFFICE: frozenset[Format] = frozenset(("docx", "pptx", "xlsx"))


def extract(content: bytes, name: str, limits: Limits | None = None) -> Reading:
    """The text of the document. Raises Unreadable, with the reason, when there is none, and nothing else."""
    if not content.strip():
        raise skipped("it is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reading = _read(content, name, limits or Limits())
    except (Unreadable, MemoryError, ImportError, SystemError):  # the latter say nothing about the document
        raise
    except RecursionError:
        raise failed("it nests its parts too deeply") from None
    except Exception as problem:
        raise failed(f"it is damaged: {_short(problem)}") from problem
    if not reading.text.strip():
        raise skipped("it holds no text")
    return replace(reading, title=as_title(reading.title))


def _read(content: bytes, name: str, limits: Limits) -> Reading:
    kind = binary_format(content, name)
    if kind is None:
        return _read_text(content, name)
    if kind in _OFFICE:
        office.check(content, limits)
    reading: Reading = _reader(kind)(content, name)
    return reading


def _read_text(content: bytes, name: str) -> Reading:
    try:
        text = decode(content)
    except Unreadable as problem:
        raise damaged_as_named(name) or problem from None
    kind = text_format(text, name)
    if kind == "html":
        text = import_module("veracity.reading.html").page_text(content)
    if not text.strip():
        raise skipped("it is empty")
    reading: Reading = _reader(kind)(text, name)
    return replace(reading, text=tidy(reading.text))


def _reader(kind: Format) -> Callable[[Any, str], Any]:
    module, function = _READERS[kind]
    reader: Callable[[Any, str], Any] = getattr(import_module(f"veracity.reading.{module}"), function)
    return reader


def _short(problem: Exception) -> str:
    text = " ".join(str(problem).split())[:150]
    return f"{type(problem).__name__} {text}".strip()
