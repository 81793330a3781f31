"""Texts as vectors: what lies near in meaning lies near in space.

`make_embedder` turns a setting into an `Embedder`. Knows nothing about documents, stores or search. Libraries are
loaded by the embedder that needs them, not by this import.
"""

from __future__ import annotations

from veracity.embedding.base import Embedder
from veracity.errors import ConfigurationError
from veracity.models.llm import checked_model_name
from veracity.secrets import presentable
from veracity.settings import LLMSettings

__all__ = ["Embedder", "make_embedder"]


def make_embedder(setting: str, settings: LLMSettings | None = None) -> Embedder:
    """`bundled`, `none`, or `provider:model` as pydantic-ai names it; `settings` say how a provider is called."""
    if setting == "none":
        from veracity.embedding.base import NoEmbedder  # noqa: PLC0415 - loads numpy

        return NoEmbedder()
    if setting == "bundled":
        from veracity.embedding.bundled import BundledEmbedder  # noqa: PLC0415 - loads onnxruntime

        return BundledEmbedder()
    from veracity.embedding.remote import ProviderEmbedder  # noqa: PLC0415 - loads numpy

    return ProviderEmbedder(_model_name(setting), settings)


def _model_name(setting: str) -> str:
    try:
        return checked_model_name(setting)
    except ValueError as problem:
        raise ConfigurationError(
            f'The embedder "{presentable(setting)}" cannot be used: write "bundled", "none" or a model ({problem}).'
        ) from None
