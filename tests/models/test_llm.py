"""Model names (SPEC B8) and usage (SPEC X3, X7)."""

import pytest

from veracity.models import Usage
from veracity.models.llm import MAX_MODEL_NAME, checked_model_name


def test_x3_usage_is_added_and_an_unknown_price_stays_unknown() -> None:
    one = Usage(calls=1, input_tokens=10, output_tokens=2, cost_usd=0.5)
    assert one + one == Usage(calls=2, input_tokens=20, output_tokens=4, cost_usd=1.0)
    assert (one + one).tokens == 24
    assert (one + Usage(calls=1, cost_usd=None)).cost_usd is None
    assert (Usage(calls=1, cost_usd=None) + one).cost_usd is None
    assert sum([one, one], Usage()) == one + one


@pytest.mark.parametrize(
    "name",
    [
        "anthropic:claude-sonnet-4-5-20250929",
        "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "openrouter:qwen/qwen3-235b-a22b-2507",
        "huggingface:Qwen/Qwen3-235B-A22B",
        "openai-chat:Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf",
        "gateway/openai:gpt-5",
        "ollama:通义千问",
        "openai:" + "x" * (MAX_MODEL_NAME - 7),
    ],
)
def test_b8_valid_model_names(name: str) -> None:
    assert checked_model_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ":", "gpt-5", "openai:", ":x", "openai: gpt-5", "open ai:x", "OpenAI:gpt-5", "openai:gpt 5", "a:b\n",
     "\u3000a:b", "-:x", "a:\x1b[31m", "a:x\u200b", "a:\udcff"],
)  # fmt: skip
def test_b8_invalid_model_names_show_the_form(name: str) -> None:
    with pytest.raises(ValueError, match='written "provider:model".* such as "openai:gpt-5"'):
        checked_model_name(name)


def test_b8_long_model_names() -> None:
    with pytest.raises(ValueError, match="at most 300 characters"):
        checked_model_name("openai:" + "x" * 10_000)
