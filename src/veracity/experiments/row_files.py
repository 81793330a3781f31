"""Reads files with one row a line, such as cases and labels. Every fault is one sentence with its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from veracity.errors import InputError, reason_of
from veracity.secrets import presentable
from veracity.settings.toml import alternatives, assigned, complaint, dotted

MAX_LINE_BYTES = 2_000_000

Row = TypeVar("Row", bound=BaseModel)
OnLine = Callable[[bytes], None]


def read_jsonl(path: Path, on_line: OnLine = lambda line: None) -> Iterator[tuple[str, Any]]:
    """The place and the value of each line that is not blank. `on_line` gets every line as it is."""
    for number, line in read_lines(path, on_line):
        place = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            yield place, json.loads(line)
        except (ValueError, RecursionError) as problem:
            reason = problem.msg if isinstance(problem, json.JSONDecodeError) else "too deep or too large a number"
            raise InputError(f"{place} is not a JSON object ({reason}): write one object a line.") from None


def read_lines(path: Path, on_line: OnLine) -> Iterator[tuple[int, str]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 1):
                if len(line) > MAX_LINE_BYTES:
                    raise InputError(f"{path}, line {number} has more than {MAX_LINE_BYTES:,} bytes: make it shorter.")
                on_line(line)
                yield number, _decode(line, path, number)
    except OSError as problem:
        raise InputError(f"{path} cannot be read ({reason_of(problem)}).") from None


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}, line {number} is not UTF-8 text: save it as UTF-8.") from None


def validate_row(model: type[Row], place: str, row: Any) -> Row:
    if not isinstance(row, Mapping):
        raise InputError(f"{place} is not a JSON object: write one object a line.")
    try:
        return model.model_validate(row)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
    if first["type"] == "extra_forbidden":
        unknown = str(first["loc"][-1])
        raise InputError(
            f'{place}: there is no key "{presentable(unknown)}"{alternatives(unknown, model.model_fields)}.'
        )
    where = f", {dotted(first['loc'])}{assigned(first['input'])}" if first["loc"] else ""
    raise InputError(f"{place}{where}: {complaint(first)}.")
