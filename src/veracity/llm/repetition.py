"""Recognizes output that repeats itself: a model that no longer finds the end of its text.

The end of the text is compared with the text one period before it. So any unit is found, from a character to a
paragraph or a cycle of sentences, in any language and inside a JSON string. Ordinary text repeats itself too (tables,
lists, refrains, laughter), so a unit must be repeated often, and the repetition must be long.
"""

from __future__ import annotations

import re

STRIDE = 64  # characters between two checks
VARIED_STRIDE = 8 * STRIDE  # for loops that vary, which cost more to find
WINDOW = 8192  # characters before the end in which a loop is searched
MAX_CHECKED = 100_000  # characters of a whole text
KEY = 16  # characters; where they occurred before is a possible period

MIN_BYTES = 600  # of the whole repetition, in UTF-8: 600 Latin letters, 200 Chinese characters
MIN_BYTES_WITHOUT_LETTERS = 3000  # rules of dashes, rows of zeros
MIN_REPEATS = ((300, 4), (100, 6), (0, 8))  # by the length of the unit in UTF-8
FEWEST_REPEATS = 4
MIN_COUNTED_REPEATS = 24  # if numbers in the unit change: numbered lists look the same
MIN_COUNTED_LETTERS = 24  # in UTF-8; a row of a table has few

VARIED_LENGTH = 3000  # characters
SHINGLE = 12  # characters
MIN_DIFFERENT = 0.16  # of the shingles; ordinary texts have 0.28 or more, the most monotonous source code 0.23

NUMBER = re.compile(r"\d+")


class RepetitionGuard:
    """Watches a text as it is streamed."""

    def __init__(self) -> None:
        self._tail = ""
        self._length = 0

    def is_looping(self, piece: str) -> bool:
        """Whether the text loops now that this piece has come."""
        tail, start = self._tail + piece, self._length - len(self._tail)
        self._length += len(piece)
        self._tail = tail[-WINDOW:]
        first = self._length - len(piece) - (self._length - len(piece)) % STRIDE + STRIDE
        return any(
            _ends_in_loop(tail[max(0, end - start - WINDOW) : end - start], end)
            for end in range(first, self._length + 1, STRIDE)
        )


def has_loop(text: str) -> bool:
    """Whether any part of a text is a loop."""
    is_short = 3 * len(text) < MIN_BYTES
    return not is_short and RepetitionGuard().is_looping(text[:MAX_CHECKED])


def _ends_in_loop(text: str, position: int) -> bool:
    return _repeats(text) or _counts(text) or (position % VARIED_STRIDE == 0 and _varies_little(text))


def _repeats(text: str) -> bool:
    """The same unit over and over."""
    period = _shortest_period(text)
    if not period:
        return False
    unit = text[-period:]
    size = len(unit.encode("utf-8", "replace"))
    least_bytes = MIN_BYTES if _letters(unit) else MIN_BYTES_WITHOUT_LETTERS
    repeats = next(count for length, count in MIN_REPEATS if size >= length)
    return _is_periodic(text, period, max(repeats, -(-least_bytes // size)) * period)


def _counts(text: str) -> bool:
    """The same unit with other numbers. Numbers alone may change in earnest, so more is needed."""
    if not any(map(str.isdigit, text[-KEY * 8 :])):
        return False
    masked = NUMBER.sub("0", text[-WINDOW // 2 :])
    period = _shortest_period(masked)
    is_long_enough = bool(period) and _is_periodic(masked, period, MIN_COUNTED_REPEATS * period)
    return is_long_enough and _letters(masked[-period:]) >= MIN_COUNTED_LETTERS


def _varies_little(text: str) -> bool:
    """Much text with little in it: a loop whose parts change places or words."""
    end = text[-VARIED_LENGTH:]
    if len(end) < VARIED_LENGTH or _letters(end) < VARIED_LENGTH // 2:
        return False
    shingles = {end[start : start + SHINGLE] for start in range(VARIED_LENGTH - SHINGLE)}
    return len(shingles) < MIN_DIFFERENT * VARIED_LENGTH


def _shortest_period(text: str) -> int:
    """The length of the unit that the end of the text repeats a few times; 0 if there is none."""
    start = found = len(text) - KEY
    key = text[start:]
    while found > 0:
        found = text.rfind(key, 0, found + KEY - 1)
        period = start - found
        if found < 0 or period * FEWEST_REPEATS > len(text):
            return 0
        if _is_periodic(text, period, period * FEWEST_REPEATS):
            return period
    return 0


def _is_periodic(text: str, period: int, length: int) -> bool:
    """Whether the last `length` characters repeat every `period`."""
    return length <= len(text) and text[-length:-period] == text[-length + period :]


def _letters(text: str) -> int:
    """Bytes of letters in UTF-8."""
    return sum(len(character.encode("utf-8", "replace")) for character in text if character.isalpha())
