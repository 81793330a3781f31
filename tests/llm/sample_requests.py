"""Sample requests for the tests of the client."""

from typing import Any

from veracity.evaluator.judge import Verdict
from veracity.llm import Message, Question, TextRequest

MODEL = "openai-chat:test-model"


def question(**changes: Any) -> Question[Verdict]:
    defaults: dict[str, Any] = {
        "model": MODEL,
        "role": "judge",
        "instructions": "Judge.",
        "prompt": "{}",
        "output": Verdict,
    }
    return Question(**{**defaults, **changes})


def text_request(*messages: Message, **changes: Any) -> TextRequest:
    defaults: dict[str, Any] = {"model": MODEL, "role": "writer", "messages": messages or (Message("user", "Why?"),)}
    return TextRequest(**{**defaults, **changes})
