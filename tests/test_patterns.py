"""Regular expressions that are compiled on first use."""

import gc
import re

import pytest

import veracity.engine
import veracity.runs.runner  # noqa: F401 - and with both, most modules that define patterns
from veracity.patterns import LazyPattern, lazy_pattern


def test_a_lazy_pattern_works_like_a_compiled_one() -> None:
    word = lazy_pattern("[a-z]+", re.IGNORECASE)
    assert word.pattern == "[a-z]+"
    assert word.findall("One two") == ["One", "two"]
    assert word.sub("-", "One two") == "- -"
    assert word.fullmatch("One")


def test_a_mistake_is_found_on_first_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("text")


def test_every_pattern_can_be_compiled() -> None:
    gc.unfreeze()  # else those of modules are not listed
    patterns = [found for found in gc.get_objects() if isinstance(found, LazyPattern) and found.pattern != "("]
    gc.freeze()
    assert len(patterns) > 100
    for pattern in patterns:
        assert pattern.flags is not None
