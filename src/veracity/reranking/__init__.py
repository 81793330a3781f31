"""Rerankers put retrieved passages into a better order by reading each together with the question.

`make_reranker` turns the setting `models.reranker` into a `Reranker`, which loads the libraries it needs.
"""

from __future__ import annotations

import difflib

from veracity.errors import ConfigurationError
from veracity.local_models import ModelsFolder
from veracity.local_models.libraries import require_installed
from veracity.models.llm import checked_model_name
from veracity.providers.keys import NO_SERVERS, ServersByName
from veracity.reranking.base import Reranker
from veracity.reranking.remote import MAX_SHOWN_LENGTH, SERVICES, ProviderReranker
from veracity.secrets import presentable
from veracity.settings import LLMSettings
from veracity.settings.sections import is_local_model

__all__ = ["Reranker", "make_reranker"]

SETTING = "models.reranker"
FOLDER = "cross-encoder"  # the earlier name of "onnx"
LOCAL_FORMS = ("onnx:FOLDER", "fastembed:NAME", "sentence-transformers:NAME", f"{FOLDER}:FOLDER")
FORMS = ["bundled", "none", *LOCAL_FORMS, *(f"{name}:MODEL" for name in SERVICES)]


def make_reranker(
    setting: str, settings: LLMSettings | None = None, servers: ServersByName = NO_SERVERS, models_folder: str = ""
) -> Reranker | None:
    """None for "none". `settings` holds the time limits and retries of calls to a service or server."""
    if setting == "none":
        return None
    if setting == "bundled":
        from veracity.reranking.bundled import BundledReranker  # noqa: PLC0415 - loads onnxruntime

        return BundledReranker()
    kind, _, model = setting.partition(":")
    if is_local_model(setting) or (kind == FOLDER and model.strip()):
        return _make_local(kind, model, ModelsFolder(models_folder))
    if (kind in SERVICES or kind in servers) and model:
        return ProviderReranker(_checked_name(setting), settings, servers)
    raise ConfigurationError(f'{SETTING}: there is no reranker "{presentable(setting)}"; {_hint(kind, model, servers)}')


def _make_local(kind: str, model: str, folder: ModelsFolder) -> Reranker:
    """From a folder, or from what was pulled. Raises `ConfigurationError` if it is not there."""
    if kind in ("onnx", FOLDER):
        from veracity.reranking.cross_encoder import CrossEncoder  # noqa: PLC0415 - loads onnxruntime

        return CrossEncoder(model if kind == FOLDER else folder.find("onnx", model))
    require_installed(kind)
    from veracity.reranking import library_rerankers  # noqa: PLC0415 - only these models need it

    if kind == "fastembed":
        return library_rerankers.FastEmbedReranker(folder.find("fastembed", model))
    return library_rerankers.SentenceTransformersReranker(folder.find("sentence-transformers", model))


def _checked_name(setting: str) -> str:
    try:
        return checked_model_name(setting)
    except ValueError as problem:
        message = f'{SETTING}: the reranker "{presentable(setting)}" cannot be used: {problem}.'
    raise ConfigurationError(message)


def _hint(kind: str, model: str, servers: ServersByName) -> str:
    names = [*FORMS, *(f"{name}:MODEL" for name in servers)]
    forms = {form.partition(":")[0]: form for form in names}
    if close := difflib.get_close_matches(kind.strip().lower(), forms, n=1, cutoff=0.7):
        suggestion = forms[close[0]]
        if model.strip() and ":" in suggestion:
            suggestion = f"{close[0]}:{presentable(model.strip(), MAX_SHOWN_LENGTH)}"
        return f'did you mean "{suggestion}"?'
    return f"write one of {', '.join(names)}."
