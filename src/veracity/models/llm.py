"""Names of language models, the usage of their calls, and calls that are kept with their texts."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict

MAX_MODEL_NAME = 300
# The model part is free text (Bedrock's has colons, OpenRouter's has slashes) without white space.
MODEL_NAME = re.compile(r"[a-z0-9][a-z0-9_./-]*:\S+")


def checked_model_name(name: str) -> str:
    if not MODEL_NAME.fullmatch(name) or not name.isprintable():
        raise ValueError(
            'a model is written "provider:model", without spaces and with the provider in small letters, '
            'such as "openai:gpt-5" or "openai-chat:my-local-model"'
        )
    if len(name) > MAX_MODEL_NAME:
        raise ValueError(f"a model name has at most {MAX_MODEL_NAME} characters")
    return name


ModelName = Annotated[str, AfterValidator(checked_model_name)]


class Usage(BaseModel):
    """`cached_tokens` are the input tokens that the provider read from its cache; `input_tokens` include them.
    `cost_usd` is None as soon as the price of one call is unknown."""

    model_config = ConfigDict(frozen=True)

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        if self is NOTHING_USED:
            return other
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


NOTHING_USED = Usage()


class CallMessage(BaseModel):
    """A message of a call. `cut` is the number of characters that are missing at its end."""

    model_config = ConfigDict(frozen=True)

    role: Literal["system", "user", "assistant"]
    text: str
    cut: int = 0


class Exchange(BaseModel):
    """What was sent to a model, and its reply; `problem` says why there is none."""

    model_config = ConfigDict(frozen=True)

    prompt: list[CallMessage]
    reply: CallMessage | None = None
    problem: str = ""


class ModelCall(BaseModel):
    """One call to a model, kept with `receipts.prompts`. `texts` is None after forgetting."""

    model_config = ConfigDict(frozen=True)

    role: str
    model: str
    started: datetime
    seconds: float
    usage: Usage = NOTHING_USED
    texts: Exchange | None

    def erase(self) -> Self:
        """A copy as it may be kept after forgetting."""
        return self.model_copy(update={"texts": None})
