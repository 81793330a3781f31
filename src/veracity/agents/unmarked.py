"""An earlier answer as it is quoted elsewhere: without the marks of its own evidence, which mean nothing there."""

from __future__ import annotations

import re

from veracity.citations import without_marks

_SPACE_BEFORE_STOP = re.compile(r" (?=[.,;:!?。，、；：！？])")  # where a mark stood


def unmarked(text: str) -> str:
    """On one line. Marks that appear when others are taken out go as well."""
    while (less := without_marks(text)) != text:
        text = less
    return _SPACE_BEFORE_STOP.sub("", " ".join(text.split()))
