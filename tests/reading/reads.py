"""Helpers: the text of a document, the refusal of a document, and what holds for every reading."""

from __future__ import annotations

import pytest

from veracity.reading.base import Reading, Unreadable
from veracity.reading.extract import extract


def text_of(content: bytes, name: str) -> str:
    return extract(content, name).text


def refusal(content: bytes, name: str) -> Unreadable:
    with pytest.raises(Unreadable) as refused:
        extract(content, name)
    return refused.value


def assert_clean(reading: Reading) -> None:
    """Assert the invariants of every reading."""
    for text in (reading.text, reading.title):
        assert not set(text) & set("\0\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\ufeff")
        text.encode("utf-8")  # no lone surrogates
    assert reading.text.strip()
    assert "\n" not in reading.title
    assert list(reading.pages) == sorted(reading.pages)
    assert all(0 <= page <= len(reading.text) for page in reading.pages)
    assert not reading.pages or reading.pages[0] == 0
