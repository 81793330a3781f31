"""Names of language models, and the usage of their calls."""

from __future__ import annotations

import re
from typing import Annotated

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
    """`cost_usd` is None as soon as the price of one call is unknown."""

    model_config = ConfigDict(frozen=True)

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


NOTHING_USED = Usage()
