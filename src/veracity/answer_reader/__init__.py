"""Answer readers tell which sentence of a passage answers a question, if any does.

`make_answer_reader` turns the setting `models.reader` into an `AnswerReader`.
"""

from __future__ import annotations

from veracity.answer_reader.base import UNREAD, AnswerReader, Passage

__all__ = ["UNREAD", "AnswerReader", "Passage", "make_answer_reader"]


def make_answer_reader(setting: str) -> AnswerReader | None:
    """For "bundled", or None for "none"."""
    if setting == "none":
        return None
    from veracity.answer_reader.bundled import BundledReader  # noqa: PLC0415 - loads onnxruntime

    return BundledReader()
