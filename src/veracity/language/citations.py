"""Parses citation marks: `[1]`, `[1][2]`, `[1, 3-5]`, also in full-width brackets. `[n]` cites the n-th evidence.

Whether the evidence supports the sentence is checked in `grounding/citation_check.py`.
"""

from __future__ import annotations

import re

# Every repetition is bounded, so that hostile text takes linear time.
_NUMBER = r"\d{1,3}"  # four digits in brackets are usually a year
_RANGE = rf"{_NUMBER}(?:[ ]?[-–~〜][ ]?{_NUMBER})?"
MARK_PATTERN = rf"[\[［【]\s{{0,2}}{_RANGE}(?:\s{{0,2}}[,，、;；]\s{{0,2}}{_RANGE}){{0,20}}\s{{0,2}}[\]］】]"
MARK = re.compile(MARK_PATTERN)
MAX_RANGE = 50


def cited_numbers(sentence: str) -> list[int]:
    """The evidence numbers a sentence cites, each once, in order."""
    numbers: dict[int, None] = {}
    for mark in MARK.finditer(sentence):
        for item in re.split(r"[,，、;；]", mark.group()):
            first, last = _bounds(item)
            numbers.update(dict.fromkeys(range(first, min(last, first + MAX_RANGE) + 1)))
    return list(numbers)


def without_marks(text: str) -> str:
    return MARK.sub("", text)


def _bounds(item: str) -> tuple[int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", item)]
    return numbers[0], max(numbers[0], numbers[-1])
