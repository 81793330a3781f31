"""Citation marks: `[1]`, `[1][2]`, `[1, 3-5]`, and the same in full-width brackets. `[n]` names the n-th evidence.

Knows nothing about whether the evidence supports anything.
"""

from __future__ import annotations

import re

# Bounded everywhere, so that hostile text costs linear time.
_NUMBER = r"\d{1,3}"  # four digits in brackets are more often a year
_RANGE = rf"{_NUMBER}(?:[ ]?[-–~〜][ ]?{_NUMBER})?"
MARK_PATTERN = rf"[\[［【]\s{{0,2}}{_RANGE}(?:\s{{0,2}}[,，、;；]\s{{0,2}}{_RANGE}){{0,20}}\s{{0,2}}[\]］】]"
MARK = re.compile(MARK_PATTERN)
LONGEST_RANGE = 50


def cited_numbers(sentence: str) -> list[int]:
    """The evidence numbers a sentence names, each once, in order."""
    found: dict[int, None] = {}
    for mark in MARK.finditer(sentence):
        for item in re.split(r"[,，、;；]", mark.group()):
            first, last = _ends(item)
            found.update(dict.fromkeys(range(first, min(last, first + LONGEST_RANGE) + 1)))
    return list(found)


def without_marks(text: str) -> str:
    return MARK.sub("", text)


def _ends(item: str) -> tuple[int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", item)]
    return numbers[0], max(numbers[0], numbers[-1])
