"""The providers pydantic-ai knows, and the environment variables that configure them.

Holds only what can be decided without loading a provider's SDK; pydantic-ai has the last word on a name.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from veracity.errors import ConfigurationError, MissingKeyError
from veracity.secrets import presentable

# Any one of a provider's variables is enough. Empty: the SDK looks for credentials of another kind.
PROVIDERS: dict[str, tuple[str, ...]] = {
    name: tuple(variables)
    for name, variables in json.loads((Path(__file__).parent / "variables.json").read_text(encoding="utf-8")).items()
}


def provider_of(model: str) -> str:
    return model.partition(":")[0]


def has_key(model: str) -> bool:
    """False if the provider is known to need a variable and none is set."""
    variables = PROVIDERS.get(provider_of(model), ())
    return not variables or any(os.environ.get(name, "").strip() for name in variables)


def require_key(model: str) -> None:
    """Raise unless the provider's variables are set and usable. Never shows a value."""
    provider = provider_of(model)
    if not has_key(model):
        raise MissingKeyError(provider, PROVIDERS[provider], model)
    for name in PROVIDERS.get(provider, ()):
        value = os.environ.get(name, "")
        if not name.endswith("_URL"):
            check_key(name, value)
        elif value:
            check_base_url(name, value)


def check_key(name: str, value: str) -> None:
    if value != value.strip() or not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"The value of the environment variable {name} cannot be a key: it has a line break, a space at either end "
            "or a character outside ASCII; set it again."
        )


def check_base_url(name: str, value: str) -> SplitResult:
    """The parts of a server's address."""
    if (parts := split_base_url(value)) is None:
        raise ConfigurationError(
            f"The value of the environment variable {name} is not the address of a server: "
            "write it like http://localhost:8000/v1."
        )
    return parts


def split_base_url(url: str) -> SplitResult | None:
    """None unless it is an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, or unbalanced brackets
        return None
    return parts if is_server else None


def check_provider_names(models: Iterable[tuple[str, str]]) -> None:
    """Raise for a misspelt provider; each model comes with the place that names it.

    An unlisted provider that resembles none of ours passes: it may be newer than our list.
    """
    for model, place in models:
        provider = provider_of(model)
        if provider in PROVIDERS:
            continue
        if close := difflib.get_close_matches(provider, PROVIDERS, n=1, cutoff=0.8):
            raise ConfigurationError(
                f'{place}: there is no provider "{presentable(provider)}"; '
                f'did you mean "{close[0]}:{presentable(model.partition(":")[2])}"?'
            )
