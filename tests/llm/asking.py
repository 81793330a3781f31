"""What the tests of the door ask."""

from typing import Any

from veracity.evaluator.judge import Verdict
from veracity.llm import Message, Question, Writing

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


def writing(*messages: Message, **changes: Any) -> Writing:
    usual: dict[str, Any] = {"model": MODEL, "role": "writer", "messages": messages or (Message("user", "Why?"),)}
    return Writing(**{**usual, **changes})
