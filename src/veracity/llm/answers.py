"""From what a model wrote to a value that fits the schema, or the reason why not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from veracity.errors import ModelAnswerError

T = TypeVar("T", bound=BaseModel)

Written = str | dict[str, Any]
"""One structured answer as the model wrote it: arguments of a tool call, parsed or not, or plain text."""

MOST_TRIES = 20
LONGEST_ANSWER = 1_000_000
LONGEST_COMPLAINT = 500
CUT_OFF = "it was cut off at the limit of its length; be briefer"


def read_answer(model: str, written: list[Written], output: type[T], finish_reason: str | None) -> T:
    """The one value that fits. Two that differ are none: a judge may quote a verdict that stands in what it judges."""
    fitting: list[T] = []
    complaint = _nothing_found(written, finish_reason)
    for candidate in _objects_in(written):
        try:
            value = output.model_validate(candidate)
        except ValidationError as problem:
            complaint = _complaint(problem)
        else:
            fitting += [value] if value not in fitting else []
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        complaint = f"it holds {len(fitting)} different answers; give one"
    told = "it was cut off at the limit of its length, so raise max_tokens" if complaint == CUT_OFF else complaint
    raise ModelAnswerError(f'The answer of "{model}" could not be used: {told}.', complaint=complaint)


def _objects_in(written: Iterable[Written]) -> Iterator[dict[str, Any]]:
    for one in written:
        if isinstance(one, dict):
            yield one
        elif len(one) <= LONGEST_ANSWER:
            yield from _objects_in_text(one)


def _objects_in_text(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand in the text, whatever surrounds them. A real parser reads them: braces in strings
    are no trouble. Only the first few openings are tried, so a hostile text costs little."""
    decoder = json.JSONDecoder()
    position = text.find("{")
    for _ in range(MOST_TRIES):
        if position < 0:
            return
        try:
            value, end = decoder.raw_decode(text, position)
            yield value
        except (ValueError, RecursionError):
            end = position + 1
        position = text.find("{", end)


def _nothing_found(written: list[Written], finish_reason: str | None) -> str:
    if finish_reason == "length":
        return CUT_OFF
    length = sum(len(one) for one in written if isinstance(one, str))
    if length > LONGEST_ANSWER:
        return f"it is {length:,} characters long; be briefer"
    empty = not any(str(one).strip() for one in written)
    return "it was empty" if empty else "it holds no JSON object of the required form"


def _complaint(problem: ValidationError) -> str:
    lines = []
    for error in problem.errors(include_url=False):
        field = ".".join(str(part) for part in error["loc"]) or "the answer"
        value = error["input"]
        got = f" (got {json.dumps(value, ensure_ascii=False)})" if isinstance(value, str | int | float | None) else ""
        lines.append(f"{field}: {error['msg']}{got}")
    return "; ".join(lines)[:LONGEST_COMPLAINT]
