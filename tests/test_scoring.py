"""Metrics that are tried from Python: what is handed in is text, or is told in one sentence."""

from pathlib import Path
from typing import Any

import pytest

from veracity.engine import Veracity
from veracity.errors import InputError

QUESTION, ANSWER = "How long is the warranty?", "The warranty lasts 24 months."


def test_one_text_is_a_list_of_one(workspace: Path) -> None:
    with Veracity(workspace) as engine:
        alone = engine.evaluate(QUESTION, ANSWER, ANSWER, metrics="Groundedness")
        listed = engine.evaluate(QUESTION, ANSWER, [ANSWER], metrics=["Groundedness"])
    assert [one.metric_name for one in alone.metrics] == ["Groundedness"]
    assert alone.metrics[0].score == listed.metrics[0].score == 100


@pytest.mark.parametrize(
    "given",
    [
        {"question": 1},
        {"answer": None},
        {"context": 3},
        {"context": ["text", 3]},
        {"metrics": [b"Groundedness"]},
        {"metrics": 5},
        {"user": 7},
    ],
    ids=str,
)
def test_what_is_no_text_is_told(workspace: Path, given: dict[str, Any]) -> None:
    with Veracity(workspace) as engine, pytest.raises(InputError, match=r"by text, not by|as text or as a list of it"):
        engine.evaluate(**{"question": QUESTION, "answer": ANSWER, **given})
