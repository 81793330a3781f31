"""How a language model is named: `provider:model`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

LONGEST = 300
# The model part is free text to us (Bedrock's has colons, OpenRouter's has slashes), but it has no white space.
MODEL_NAME = re.compile(r"[a-z0-9][a-z0-9_./-]*:\S+")


def checked_model_name(name: str) -> str:
    if not MODEL_NAME.fullmatch(name) or not name.isprintable():
        raise ValueError(
            'a model is written "provider:model", without spaces and with the provider in small letters, '
            'such as "openai:gpt-5" or "openai-chat:my-local-model"'
        )
    if len(name) > LONGEST:
        raise ValueError(f"the name of a model has at most {LONGEST} characters")
    return name


ModelName = Annotated[str, AfterValidator(checked_model_name)]
