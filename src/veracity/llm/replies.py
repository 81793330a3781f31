"""From what a model wrote to a value that fits the schema, or the reason why not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from veracity.errors import ModelAnswerError
from veracity.models import Usage
from veracity.printable import encodable

T = TypeVar("T", bound=BaseModel)

Written = str | dict[str, Any]
"""One answer as the model wrote it: arguments of a tool call, parsed or not, or plain text."""

MOST_TRIES = 20
LONGEST_ANSWER = 1_000_000
LONGEST_COMPLAINT = 500
OPENS_OBJECT = re.compile(r'\{\s{0,20}"')
CUT_OFF = "it was cut off at the limit of its length; be briefer"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, not yet checked."""

    written: list[Written]
    finish_reason: str | None
    usage: Usage


def read_answer(model: str, written: list[Written], output: type[T], finish_reason: str | None) -> T:
    """The one value that fits. Two that differ are none: a judge may quote a verdict that stands in what it judges."""
    fitting: list[T] = []
    complaint = told = _nothing_found(written, finish_reason)
    for candidate in _objects_in(written):
        try:
            value = output.model_validate(candidate)
        except ValidationError as problem:
            complaint, told = _complaint(problem), _complaint(problem, quoting=False)
        else:
            fitting += [value] if value not in fitting else []
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        complaint = told = f"it holds {len(fitting)} different answers; give one"
    if complaint == CUT_OFF:
        told = "it was cut off at the limit of its length, so raise max_tokens"
    raise ModelAnswerError(f'The answer of "{model}" could not be used: {told}.', complaint=complaint)


def _objects_in(written: Iterable[Written]) -> Iterator[dict[str, Any]]:
    for one in written:
        if isinstance(one, dict):
            yield one
        elif len(one) <= LONGEST_ANSWER:
            yield from _objects_in_text(one)


def _objects_in_text(text: str) -> list[dict[str, Any]]:
    """The JSON objects in a text that ends with one; a fence may follow.

    A text that goes on after its last object has not answered with it: a judge may quote one from what it judges. Nor
    is an object looked for inside one that was cut off. A real parser reads them, so braces in strings are no trouble,
    and only the first few openings are tried, so a hostile text costs little.
    """
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    end, position = 0, text.find("{")
    for _ in range(MOST_TRIES):
        if position < 0:
            break
        try:
            value, end = decoder.raw_decode(text, position)
            found.append(value)
            position = text.find("{", end)
        except (ValueError, RecursionError):
            if OPENS_OBJECT.match(text, position):
                return []
            position = text.find("{", position + 1)
    return found if not text[end:].strip("` \n\r\t") else []


def _nothing_found(written: list[Written], finish_reason: str | None) -> str:
    if finish_reason == "length":
        return CUT_OFF
    length = sum(len(one) for one in written if isinstance(one, str))
    if length > LONGEST_ANSWER:
        return f"it is {length:,} characters long; be briefer"
    empty = not any(str(one).strip() for one in written)
    return "it was empty" if empty else "it holds no JSON object of the required form"


def _complaint(problem: ValidationError, quoting: bool = True) -> str:
    """The model is quoted to itself. To others only numbers are: a text may hold what stands in a document."""
    lines = []
    for error in problem.errors(include_url=False):
        field = ".".join(str(part) for part in error["loc"]) or "the answer"
        value = error["input"]
        shown = isinstance(value, str | int | float | None) and (quoting or _is_number(value))
        got = f" (got {json.dumps(value, ensure_ascii=False)})" if shown else ""
        lines.append(f"{field}: {error['msg']}{got}")
    return "; ".join(lines)[:LONGEST_COMPLAINT]


def _is_number(value: Any) -> bool:
    try:
        float(value or 0)
    except ValueError:
        return False
    return True


OPENS, CLOSES = "<think>", "</think>"
# At the end of what has come so far: a tag, or half a character, whose rest is to come.
_UNCERTAIN = re.compile(r"(?:<(?:t(?:h(?:i(?:nk?)?)?)?)?|[\ud800-\udbff])\Z")


def read_text(model: str, written: Iterable[Written], finish_reason: str | None) -> str:
    """The text alone. Half a text is none: nobody would see that its end is missing."""
    text = encodable(without_thoughts("".join(str(one) for one in written))).strip()
    complaint = _complaint_texts(text, finish_reason)
    if not complaint:
        return text
    told = complaint.replace("; be briefer", ": ask for less, or use a model that may write more")
    raise ModelAnswerError(f'The text of "{model}" could not be used: {told}.', complaint=complaint)


def without_thoughts(text: str) -> str:
    """What follows the thinking aloud that some local servers leave in front of the answer.

    Their templates may open it in the prompt, so that only its end is written, on a line of its own. Thinking that
    never ends was not followed by an answer.
    """
    begun = text.lstrip()
    if begun.startswith(OPENS):
        return begun.partition(CLOSES)[2]
    thoughts, end, answer = text.partition(f"\n{CLOSES}\n")
    return answer if end and OPENS not in thoughts else text


def aloud(text: str, *, so_far: bool = False) -> str:
    """What a model said of what it wrote, for servers that leave its thoughts in what they stream; `so_far`: there may
    be more to come. Thoughts may stand anywhere. One that never ends was none, unless it is all there is."""
    parts, position = [], 0
    while (opened := text.find(OPENS, position)) >= 0:
        parts.append(text[position:opened])
        closed = text.find(CLOSES, opened)
        if closed < 0:
            is_one = so_far or not any(part.strip() for part in parts)
            parts.append("" if is_one else text[opened + len(OPENS) :])
            position = len(text)
            break
        position = closed + len(CLOSES)
    said = without_thoughts("".join([*parts, text[position:]]))
    return _UNCERTAIN.sub("", said.lstrip()) if so_far else said


def _complaint_texts(text: str, finish_reason: str | None) -> str:
    if finish_reason == "length":
        return CUT_OFF
    if len(text) > LONGEST_ANSWER:
        return f"it is {len(text):,} characters long; be briefer"
    return "" if text else "it was empty"
