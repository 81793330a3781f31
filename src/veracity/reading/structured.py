"""JSON and JSON Lines as readable lines: `address.city: Berlin`, one paragraph for each object of a list.

Numbers stay as they were written. Knows nothing about encodings: the text comes decoded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from veracity.reading.cleaning import as_title
from veracity.reading.result import Reading, Unreadable, failed

# Objects become tuples of pairs, so that a name that comes twice is kept twice; numbers become text.
_decoder = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str, strict=False)


def read_json(text: str, name: str) -> Reading:
    try:
        value = _parsed(text)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data" and "\n" in text.strip():
            return _lines_called_json(text, name, problem)
        raise _invalid(problem) from None
    return Reading(_rendered(value), _title(value), "json")


def read_jsonl(text: str, name: str) -> Reading:
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [_parsed(line)] if line.strip() else []
        except json.JSONDecodeError as problem:
            raise failed(f"it is damaged: line {number} is not valid JSON ({problem.msg})") from None
    return Reading("\n\n".join(filter(None, map(_rendered, values))), "", "jsonl")


def _lines_called_json(text: str, name: str, problem: json.JSONDecodeError) -> Reading:
    try:
        return read_jsonl(text, name)
    except Unreadable:
        raise _invalid(problem) from None


def _invalid(problem: json.JSONDecodeError) -> Unreadable:
    return failed(f"it is damaged: not valid JSON at line {problem.lineno}, column {problem.colno} ({problem.msg})")


def _parsed(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise _too_deep() from None


def _rendered(value: Any) -> str:
    try:
        paragraphs = list(_paragraphs(value, ""))
    except RecursionError:
        raise _too_deep() from None
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)


def _too_deep() -> Unreadable:
    return failed("it nests its values too deeply")


def _paragraphs(value: Any, path: str) -> Iterator[list[str]]:
    """The plain fields of an object first, then each object of its lists."""
    plain: list[str] = []
    lists: list[tuple[Any, str]] = []
    _gather(value, path, plain, lists)
    yield plain
    for entries, place in lists:
        for number, entry in enumerate(entries, 1):
            yield from _paragraphs(entry, f"{place}[{number}]" if place else "")


def _gather(value: Any, path: str, plain: list[str], lists: list[tuple[Any, str]]) -> None:
    if isinstance(value, tuple):
        for name, part in value:
            _gather(part, f"{path}.{name}" if path else name, plain, lists)
    elif isinstance(value, list) and any(isinstance(entry, tuple | list) for entry in value):
        lists.append((value, path))
    elif shown := ", ".join(filter(None, map(_shown, value))) if isinstance(value, list) else _shown(value):
        plain.append(f"{path}: {shown}" if path else shown)


def _shown(value: Any) -> str:
    return value.strip() if isinstance(value, str) else {True: "true", False: "false"}.get(value, "")


def _title(value: Any) -> str:
    fields = dict(value) if isinstance(value, tuple) else {}
    return as_title(fields.get("title", ""))
