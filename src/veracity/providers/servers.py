"""Models on the user's own servers (`[servers.NAME]`), as pydantic-ai's models.

Loads pydantic-ai and the SDK of OpenAI: import it where a model is made. A thread cannot use another thread's model.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from openai import Omit
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from veracity.providers.keys import ServersByName, provider_of, server_key

# Their newer models refuse `max_tokens`. Most other servers know only that name, and ignore the new one.
NEW_LIMIT_HOSTS = (".openai.com", ".azure.com")
NO_KEY: Any = {"extra_headers": {"Authorization": Omit()}}


def make_server_model(model: str, servers: ServersByName) -> OpenAIChatModel:
    """Raises `MissingKeyError`."""
    key = server_key(model, servers)
    provider = _make_provider(model, servers, key)
    return OpenAIChatModel(model.partition(":")[2], provider=provider, settings=None if key else NO_KEY)


def make_server_embedder(model: str, servers: ServersByName) -> tuple[OpenAIEmbeddingModel, OpenAICompatibleProvider]:
    """The model, and the provider that closes its connections. Raises `MissingKeyError`."""
    key = server_key(model, servers)
    provider = _make_provider(model, servers, key)
    return OpenAIEmbeddingModel(model.partition(":")[2], provider=provider, settings=None if key else NO_KEY), provider


def _make_provider(model: str, servers: ServersByName, key: str) -> OpenAICompatibleProvider:
    """Sends nothing that the SDK takes from the variables of OpenAI: OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS, …"""
    name = provider_of(model)
    url = servers[name].url
    takes_new_limit = f".{urlsplit(url).hostname}".endswith(NEW_LIMIT_HOSTS)
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=takes_new_limit)
    provider = OpenAICompatibleProvider(name, base_url=url, api_key=key or None, profile=profile)
    client = provider.client
    client.organization = client.project = client.admin_api_key = None
    client._custom_headers = {}
    client.max_retries = 0
    return provider
