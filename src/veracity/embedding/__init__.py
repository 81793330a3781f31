"""Embedders turn texts into vectors: similar meanings get similar vectors.

`make_embedder` turns the setting `models.embedder` into an `Embedder`, which loads the libraries it needs.
"""

from __future__ import annotations

from veracity.embedding.base import Embedder, NoEmbedder
from veracity.errors import ConfigurationError
from veracity.models.llm import checked_model_name
from veracity.providers.keys import NO_SERVERS, ServersByName
from veracity.secrets import presentable
from veracity.settings import LLMSettings

__all__ = ["Embedder", "make_embedder"]


def make_embedder(setting: str, settings: LLMSettings | None = None, servers: ServersByName = NO_SERVERS) -> Embedder:
    """For "bundled", "none" or a model; `settings` holds the time limits and retries of calls to it."""
    if setting == "none":
        return NoEmbedder()
    if setting == "bundled":
        from veracity.embedding.bundled import BundledEmbedder  # noqa: PLC0415 - loads onnxruntime

        return BundledEmbedder()
    from veracity.embedding.remote import ProviderEmbedder  # noqa: PLC0415 - loads numpy

    return ProviderEmbedder(_checked_name(setting), settings, servers)


def _checked_name(setting: str) -> str:
    try:
        return checked_model_name(setting)
    except ValueError as problem:
        raise ConfigurationError(
            f'The embedder "{presentable(setting)}" cannot be used: write "bundled", "none" or a model ({problem}).'
        ) from None
