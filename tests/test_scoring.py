"""`Veracity.evaluate`: arguments are strings or lists of strings."""

from pathlib import Path
from typing import Any

import pytest

from veracity.engine import Veracity
from veracity.errors import InputError

QUESTION, ANSWER = "How long is the warranty?", "The warranty lasts 24 months."


def test_a_string_is_a_list_of_one(workspace: Path) -> None:
    with Veracity(workspace) as engine:
        alone = engine.evaluate(QUESTION, ANSWER, ANSWER, metrics="Groundedness")
        listed = engine.evaluate(QUESTION, ANSWER, [ANSWER], metrics=["Groundedness"])
    assert [metric.metric_name for metric in alone.metrics] == ["Groundedness"]
    assert alone.metrics[0].score == listed.metrics[0].score == 100


@pytest.mark.parametrize(
    "arguments",
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
def test_non_strings_are_input_errors(workspace: Path, arguments: dict[str, Any]) -> None:
    with Veracity(workspace) as engine, pytest.raises(InputError, match="must be a string"):
        engine.evaluate(**{"question": QUESTION, "answer": ANSWER, **arguments})
