"""What the tests of the door ask."""

from typing import Any

from veracity.evaluator.judging import Verdict
from veracity.llm import Question

MODEL = "openai-chat:test-model"


def question(**changes: Any) -> Question[Verdict]:
    usual: dict[str, Any] = {
        "model": MODEL,
        "role": "judge",
        "instructions": "Judge.",
        "prompt": "{}",
        "output": Verdict,
    }
    return Question(**{**usual, **changes})
