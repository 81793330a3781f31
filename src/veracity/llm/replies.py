"""Reads a model's reply into a value that fits a schema, or into plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from veracity.errors import ModelAnswerError
from veracity.llm.repetition import has_loop
from veracity.models import Usage
from veracity.printable import encodable

T = TypeVar("T", bound=BaseModel)

Output = str | dict[str, Any]
"""One output of a model: the arguments of a tool call, parsed or not, or plain text."""

MAX_PARSE_ATTEMPTS = 20
MAX_OUTPUT_LENGTH = 1_000_000
MAX_COMPLAINT_LENGTH = 500
OBJECT_START = re.compile(r'\{\s{0,20}"')
CUT_OFF = "it was cut off at the limit of its length; be briefer"
LOOPS = "it repeats itself over and over; be brief, and do not repeat yourself"
EMPTY = "it was empty"
THINK_START, THINK_END = "<think>", "</think>"
# At the end of a partial text: the beginning of a tag or of a surrogate pair.
INCOMPLETE_END = re.compile(r"(?:<(?:t(?:h(?:i(?:nk?)?)?)?)?|[\ud800-\udbff])\Z")


class RunawayError(ModelAnswerError):
    """The output was cut off at its limit, or repeats itself. The client asks once more, with a hint."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The unchecked result of a call."""

    outputs: list[Output]
    finish_reason: str | None
    usage: Usage
    has_thoughts: bool = False

    @property
    def is_prose(self) -> bool:
        """Text without a trace of JSON, not even of an object that was cut off."""
        text = "".join(output if isinstance(output, str) else "{" for output in self.outputs)
        return bool(text.strip()) and "{" not in text


def read_answer(
    model: str, outputs: list[Output], schema: type[T], finish_reason: str | None, limit: str = "max_tokens"
) -> T:
    """The only value that fits the schema. Raises ModelAnswerError if none fits, or several different ones do.

    A judge may quote a verdict from the text it judges, so one of several cannot be trusted. `limit` is the setting
    that limits the length.
    """
    if any(has_loop(output if isinstance(output, str) else _dump(output)) for output in outputs):
        raise _runaway(f'The answer of "{model}"', LOOPS, limit)
    values: list[T] = []
    complaint = message = _why_no_object(outputs, finish_reason)
    for candidate in _find_objects(outputs):
        try:
            value = schema.model_validate(candidate)
        except ValidationError as problem:
            complaint, message = _complaint(problem), _complaint(problem, quote_texts=False)
        else:
            values += [value] if value not in values else []
    if len(values) == 1:
        return values[0]
    if values:
        complaint = message = f"it holds {len(values)} different answers; give one"
    if complaint == CUT_OFF:
        raise _runaway(f'The answer of "{model}"', CUT_OFF, limit)
    raise ModelAnswerError(f'The answer of "{model}" could not be used: {message}.', complaint=complaint)


def read_text(model: str, outputs: Iterable[Output], finish_reason: str | None, limit: str = "max_tokens") -> str:
    """The text without leading thoughts. Raises ModelAnswerError if it is empty, too long, cut off or a loop."""
    whole = "".join(map(str, outputs))
    text = encodable(strip_leading_thoughts(whole)).strip()
    is_cut_off = finish_reason == "length"
    if has_loop(whole if is_cut_off else text):
        raise _runaway(f'The text of "{model}"', LOOPS, limit)
    if is_cut_off:
        raise _runaway(f'The text of "{model}"', CUT_OFF, limit)
    if text and len(text) <= MAX_OUTPUT_LENGTH:
        return text
    complaint = _too_long(len(text)) if text else EMPTY
    message = complaint.replace("; be briefer", ": ask for less, or use a model with a higher output limit")
    raise ModelAnswerError(f'The text of "{model}" could not be used: {message}.', complaint=complaint)


def _runaway(subject: str, complaint: str, limit: str) -> RunawayError:
    fix = f"raise {limit}, or use another model" if complaint == CUT_OFF else "use another model"
    return RunawayError(f"{subject} could not be used: {complaint.partition(';')[0]}: {fix}.", complaint=complaint)


def strip_leading_thoughts(text: str) -> str:
    """Drop the thinking that some local servers leave before the answer.

    Their templates may open it in the prompt, so that only its end is written, on a line of its own. Thinking that
    never ends is followed by no answer.
    """
    start = text.lstrip()
    if start.startswith(THINK_START):
        return start.partition(THINK_END)[2]
    thoughts, end, answer = text.partition(f"\n{THINK_END}\n")
    return answer if end and THINK_START not in thoughts else text


def strip_thoughts(text: str, *, is_partial: bool = False) -> str:
    """Drop all thinking from a streamed text; `is_partial`: more may follow.

    An unclosed tag in a whole text is ordinary text, unless nothing else was written.
    """
    parts, position = [], 0
    while (start := text.find(THINK_START, position)) >= 0:
        parts.append(text[position:start])
        end = text.find(THINK_END, start)
        if end < 0:
            is_thought = is_partial or not any(part.strip() for part in parts)
            parts.append("" if is_thought else text[start + len(THINK_START) :])
            position = len(text)
            break
        position = end + len(THINK_END)
    spoken = strip_leading_thoughts("".join([*parts, text[position:]]))
    return INCOMPLETE_END.sub("", spoken.lstrip()) if is_partial else spoken


def _find_objects(outputs: Iterable[Output]) -> Iterator[dict[str, Any]]:
    for output in outputs:
        if isinstance(output, dict):
            yield output
        elif len(output) <= MAX_OUTPUT_LENGTH:
            yield from _parse_objects(output)


def _parse_objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text that ends with one, or with a code fence after it.

    Text after the last object means that the object was quoted, not given as the answer. Objects inside one that was
    cut off do not count either. The number of attempts is limited, so that a hostile text costs little.
    """
    decoder = json.JSONDecoder()
    objects: list[dict[str, Any]] = []
    end, position = 0, text.find("{")
    for _ in range(MAX_PARSE_ATTEMPTS):
        if position < 0:
            break
        try:
            value, end = decoder.raw_decode(text, position)
            objects.append(value)
            position = text.find("{", end)
        except (ValueError, RecursionError):
            if OBJECT_START.match(text, position):
                return []
            position = text.find("{", position + 1)
    return objects if not text[end:].strip("` \n\r\t") else []


def _why_no_object(outputs: list[Output], finish_reason: str | None) -> str:
    if finish_reason == "length":
        return CUT_OFF
    length = sum(len(output) for output in outputs if isinstance(output, str))
    if length > MAX_OUTPUT_LENGTH:
        return _too_long(length)
    is_empty = not any(str(output).strip() for output in outputs)
    return EMPTY if is_empty else "it holds no JSON object of the required form"


def _too_long(length: int) -> str:
    return f"it is {length:,} characters long; be briefer"


def _complaint(problem: ValidationError, quote_texts: bool = True) -> str:
    """The errors by field. Texts are quoted only to the model itself: they may come from a document."""
    lines = []
    for error in problem.errors(include_url=False):
        field = ".".join(str(part) for part in error["loc"]) or "the answer"
        value = error["input"]
        is_too_long = error["type"] in ("string_too_long", "too_long")
        is_quoted = isinstance(value, str | int | float | None) and (quote_texts or _is_number(value))
        quoted = f" (got {json.dumps(value, ensure_ascii=False)})" if is_quoted and not is_too_long else ""
        lines.append(f"{field}: {error['msg']}{quoted}{', so be briefer' if is_too_long and quote_texts else ''}")
    return "; ".join(lines)[:MAX_COMPLAINT_LENGTH]


def _dump(output: dict[str, Any]) -> str:
    return json.dumps(output, ensure_ascii=False, default=str)


def _is_number(value: Any) -> bool:
    try:
        float(value or 0)
    except (ValueError, OverflowError):
        return False
    return True
