"""The names of models (SPEC B8)."""

import pytest

from veracity.models.llm import LONGEST, checked_model_name


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
        "openai:" + "x" * (LONGEST - 7),
    ],
)
def test_b8_good_names(name: str) -> None:
    assert checked_model_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ":", "gpt-5", "openai:", ":x", "openai: gpt-5", "open ai:x", "OpenAI:gpt-5", "openai:gpt 5", "a:b\n",
     "\u3000a:b", "-:x", "a:\x1b[31m", "a:x\u200b", "a:\udcff"],
)  # fmt: skip
def test_b8_bad_names_are_told_the_form(name: str) -> None:
    with pytest.raises(ValueError, match='written "provider:model".* such as "openai:gpt-5"'):
        checked_model_name(name)


def test_b8_endless_names() -> None:
    with pytest.raises(ValueError, match="at most 300 characters"):
        checked_model_name("openai:" + "x" * 10_000)
