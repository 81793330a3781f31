"""Puts passages that were found into a better order, by reading question and passage together.

`make_reranker` turns the setting `retrieval.reranker` into a `Reranker`. Knows nothing about where the passages come
from or how many of them are kept. Libraries are loaded by the reranker that needs them, not by this import.
"""

from __future__ import annotations

import difflib

from veracity.errors import ConfigurationError
from veracity.models.llm import checked_model_name
from veracity.reranking.base import Reranker
from veracity.reranking.remote import SERVICES
from veracity.secrets import presentable
from veracity.settings import LLMSettings

__all__ = ["Reranker", "make_reranker"]

SETTING = "retrieval.reranker"
LOCAL = "cross-encoder"
FORMS = ["none", f"{LOCAL}:FOLDER", *(f"{name}:MODEL" for name in SERVICES)]
LONGEST_SHOWN = 120


def make_reranker(setting: str, settings: LLMSettings | None = None) -> Reranker | None:
    """`none` is None; `settings` say how a service is called (time limits, retries) and mean nothing to the others."""
    if setting == "none":
        return None
    kind, _, what = setting.partition(":")
    if kind == LOCAL and what.strip():
        from veracity.reranking.cross_encoder import CrossEncoder  # noqa: PLC0415 - loads onnxruntime

        return CrossEncoder(what)
    if kind in SERVICES and what:
        from veracity.reranking.remote import ProviderReranker  # noqa: PLC0415 - not needed by the others

        return ProviderReranker(_model_name(setting), settings)
    raise ConfigurationError(f'{SETTING}: there is no reranker "{presentable(setting)}"; {_hint(kind, what)}')


def _model_name(setting: str) -> str:
    try:
        return checked_model_name(setting)
    except ValueError as problem:
        told = f'{SETTING}: the reranker "{presentable(setting)}" cannot be used: {problem}.'
    raise ConfigurationError(told)


def _hint(kind: str, what: str) -> str:
    kinds = {form.partition(":")[0]: form for form in FORMS}
    if close := difflib.get_close_matches(kind.strip().lower(), kinds, n=1, cutoff=0.7):
        meant = kinds[close[0]]
        if what.strip() and ":" in meant:
            meant = f"{close[0]}:{presentable(what.strip(), LONGEST_SHOWN)}"
        return f'did you mean "{meant}"?'
    return f"write one of {', '.join(FORMS)}."
