"""Embedders turn texts into vectors: similar meanings get similar vectors.

`make_embedder` turns the setting `models.embedder` into an `Embedder`, which loads the libraries it needs.
"""

from __future__ import annotations

from veracity.embedding.base import BUNDLED_NAME, Embedder, NoEmbedder
from veracity.errors import ConfigurationError
from veracity.local_models import ModelsFolder
from veracity.local_models.libraries import require_installed
from veracity.models.llm import checked_model_name
from veracity.providers.keys import NO_SERVERS, ServersByName
from veracity.secrets import presentable
from veracity.settings import LLMSettings
from veracity.settings.sections import is_local_model

__all__ = ["BUNDLED_NAME", "Embedder", "NoEmbedder", "make_embedder"]


def make_embedder(
    setting: str, settings: LLMSettings | None = None, servers: ServersByName = NO_SERVERS, models_folder: str = ""
) -> Embedder:
    """For "bundled", "none" or a model; `settings` holds the time limits and retries of calls to it."""
    if setting == "none":
        return NoEmbedder()
    if setting == "bundled":
        from veracity.embedding.bundled import BundledEmbedder  # noqa: PLC0415 - loads onnxruntime

        return BundledEmbedder()
    if is_local_model(setting):
        return _make_local(setting, models_folder)
    from veracity.embedding.remote import ProviderEmbedder  # noqa: PLC0415 - loads numpy

    return ProviderEmbedder(_checked_name(setting), settings, servers)


def _make_local(setting: str, models_folder: str) -> Embedder:
    """From a folder, or from what was pulled. Raises `ConfigurationError` if it is not there."""
    kind, _, name = setting.partition(":")
    folder = ModelsFolder(models_folder)
    if kind == "onnx":
        from veracity.embedding.onnx_folder import FolderEmbedder  # noqa: PLC0415 - loads onnxruntime

        return FolderEmbedder(folder.find("onnx", name))
    require_installed(kind)
    from veracity.embedding import library_embedders  # noqa: PLC0415 - loads NumPy

    if kind == "fastembed":
        return library_embedders.FastEmbedEmbedder(folder.find("fastembed", name))
    return library_embedders.SentenceTransformersEmbedder(folder.find("sentence-transformers", name))


def _checked_name(setting: str) -> str:
    try:
        return checked_model_name(setting)
    except ValueError as problem:
        raise ConfigurationError(
            f'The embedder "{presentable(setting)}" cannot be used: write "bundled", "none" or a model ({problem}).'
        ) from None
