"""The names and keys of providers and of the user's own servers.

Holds only what can be decided without loading a provider's SDK; pydantic-ai has the last word on a name. A model whose
provider is the name of a server is on that server, and gets no key but that server's.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from urllib.parse import SplitResult

from veracity.errors import ConfigurationError, MissingKeyError, UnknownModelError
from veracity.secrets import presentable
from veracity.settings import ModelServer
from veracity.settings.servers import PROVIDERS, split_base_url

ServersByName = Mapping[str, ModelServer]
NO_SERVERS: ServersByName = MappingProxyType({})


def provider_of(model: str) -> str:
    return model.partition(":")[0]


def has_key(model: str) -> bool:
    """False if the provider is known to need a variable and none is set."""
    variables = PROVIDERS.get(provider_of(model), ())
    return not variables or any(os.environ.get(name, "").strip() for name in variables)


def server_key(model: str, servers: ServersByName) -> str:
    """The key of the model's server, empty if it needs none. Raises if its variable is not set."""
    name = provider_of(model)
    variable = servers[name].key_env
    if variable is None:
        return ""
    key = os.environ.get(variable, "")
    if not key.strip():
        raise MissingKeyError(name, (variable,), model, "server")
    check_key(variable, key)
    return key


def require_key(model: str, servers: ServersByName = NO_SERVERS) -> None:
    """Raise unless the variables of the provider or server are set and usable. Never shows a value."""
    provider = provider_of(model)
    if provider in servers:
        server_key(model, servers)
        return
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


def check_provider_names(models: Iterable[tuple[str, str]], servers: ServersByName = NO_SERVERS) -> None:
    """Raise for a misspelt provider or server; each model comes with the place that names it.

    An unlisted provider that resembles none of ours passes: it may be newer than our list.
    """
    for model, place in models:
        provider = provider_of(model)
        if provider not in PROVIDERS and provider not in servers and _close_name(provider, servers):
            kinds = "provider or server" if servers else "provider"
            raise ConfigurationError(f'{place}: there is no {kinds} "{presentable(provider)}"; {_hint(model, servers)}')


def unknown_provider(model: str, servers: ServersByName) -> UnknownModelError:
    """The error for a model whose provider is neither one of pydantic-ai nor a server."""
    return UnknownModelError(
        f'No provider or server is called "{presentable(provider_of(model))}" (model "{presentable(model)}"): '
        f"{_hint(model, servers)}"
    )


def _hint(model: str, servers: ServersByName) -> str:
    """What the model could be, and the servers there are."""
    listed = f" Configured servers: {', '.join(servers)}." if servers else ""
    if close := _close_name(provider_of(model), servers):
        return f'did you mean "{close}:{presentable(model.partition(":")[2])}"?{listed}'
    return (
        "name a provider as pydantic-ai does, such as openai, openai-chat, anthropic, google or ollama, or a server of "
        f"the section [servers].{listed}"
    )


def _close_name(provider: str, servers: ServersByName) -> str:
    close = difflib.get_close_matches(provider, [*servers, *PROVIDERS], n=1, cutoff=0.8)
    return close[0] if close else ""
