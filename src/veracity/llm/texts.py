"""From what a model wrote to a text for a reader, or the reason why not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from veracity.errors import ModelAnswerError
from veracity.llm.answers import CUT_OFF, LONGEST_ANSWER, Written
from veracity.providers.texts import encodable

OPENS, CLOSES = "<think>", "</think>"
# At the end of what has come so far: a tag, or half a character, whose rest is to come.
_UNCERTAIN = re.compile(r"(?:<(?:t(?:h(?:i(?:nk?)?)?)?)?|[\ud800-\udbff])\Z")


def read_text(model: str, written: Iterable[Written], finish_reason: str | None) -> str:
    """The text alone. Half a text is none: nobody would see that its end is missing."""
    text = encodable(without_thoughts("".join(str(one) for one in written))).strip()
    complaint = _complaint(text, finish_reason)
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


def _complaint(text: str, finish_reason: str | None) -> str:
    if finish_reason == "length":
        return CUT_OFF
    if len(text) > LONGEST_ANSWER:
        return f"it is {len(text):,} characters long; be briefer"
    return "" if text else "it was empty"
