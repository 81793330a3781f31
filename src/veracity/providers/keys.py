"""The providers pydantic-ai knows, and the environment variables that open them.

Only what can be told without loading a provider's SDK; the last word on a name is pydantic-ai's own.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from urllib.parse import urlsplit

from veracity.errors import ConfigurationError, MissingKeyError
from veracity.secrets import presentable

# One of the variables is enough. None: the provider has credentials of another kind, which its SDK looks for.
PROVIDERS: dict[str, tuple[str, ...]] = {
    "alibaba": ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "azure-responses": ("AZURE_OPENAI_API_KEY",),
    "bedrock": (),
    "bedrock-mantle": (),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "crusoe": ("CRUSOE_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "github-copilot": (),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "google-cloud": (),
    "groq": ("GROQ_API_KEY",),
    "heroku": ("HEROKU_INFERENCE_KEY",),
    "huggingface": ("HF_TOKEN",),
    "litellm": (),
    "meta": ("META_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOTAI_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "ollama": ("OLLAMA_BASE_URL",),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai-chat": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai-chatgpt": (),
    "openai-codex": (),
    "openai-responses": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "ovhcloud": ("OVHCLOUD_API_KEY",),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "snowflake": ("SNOWFLAKE_TOKEN",),
    "together": ("TOGETHER_API_KEY",),
    "vercel": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "vllm": ("VLLM_BASE_URL",),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
}


def provider_of(model: str) -> str:
    return model.partition(":")[0]


def has_key(model: str) -> bool:
    """True unless the provider is known to need a variable that is not set."""
    variables = PROVIDERS.get(provider_of(model), ())
    return not variables or any(os.environ.get(name, "").strip() for name in variables)


def require_key(model: str) -> None:
    """Raise unless the provider's variables are there and can be used. No value is ever shown."""
    provider = provider_of(model)
    if not has_key(model):
        raise MissingKeyError(provider, PROVIDERS[provider], model)
    for name in PROVIDERS.get(provider, ()):
        value = os.environ.get(name, "")
        if name.endswith("_URL"):
            _check_address(name, value)
        else:
            check_key(name, value)


def check_key(name: str, value: str) -> None:
    if value != value.strip() or not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"The value of the environment variable {name} cannot be a key: it holds a line break, a space at its "
            "end or a character beyond ASCII; set it anew."
        )


def _check_address(name: str, value: str) -> None:
    try:
        parts = urlsplit(value)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port has that number
        good = False
    if value and not good:
        raise ConfigurationError(
            f"The value of the environment variable {name} is not the address of a server: "
            "write it like http://localhost:8000/v1."
        )


def refuse_typing_errors(models: Iterable[tuple[str, str]]) -> None:
    """Each model comes with the place it was named in. A provider we do not list may be newer than our list."""
    for model, place in models:
        provider = provider_of(model)
        if provider in PROVIDERS:
            continue
        if close := difflib.get_close_matches(provider, PROVIDERS, n=1, cutoff=0.8):
            raise ConfigurationError(
                f'{place}: there is no provider "{presentable(provider)}"; '
                f'did you mean "{close[0]}:{presentable(model.partition(":")[2])}"?'
            )
