"""Loads models with fastembed and sentence-transformers from a folder on this disk, without a connection."""

from __future__ import annotations

import importlib.util
import logging
from typing import Any

from veracity.errors import ConfigurationError
from veracity.local_models.models_folder import LocalModel

log = logging.getLogger("veracity.local_models")


def require_installed(kind: str) -> None:
    """Raise `ConfigurationError` with the command that installs the library. Does not load it."""
    if importlib.util.find_spec(kind.replace("-", "_")) is None:
        raise missing_extra(kind)


def load_fastembed(library: Any, model: LocalModel, threads: int) -> Any:
    """`library` is TextEmbedding or TextCrossEncoder."""
    try:
        return library(
            model.name,
            specific_model_path=str(model.path),
            local_files_only=True,
            threads=threads,
            providers=["CPUExecutionProvider"],
        )
    except Exception as problem:  # noqa: BLE001 - the library raises anything
        log.debug("Loading %s failed: %s", model.path, problem)
    known = any(entry["model"].lower() == model.name.lower() for entry in library.list_supported_models())
    reason = (
        "its files are incomplete; pull it again" if known else f"fastembed does not know it; try onnx:{model.name}"
    )
    raise ConfigurationError(f'The model "fastembed:{model.name}" cannot be used: {reason}.')


def load_sentence_transformers(library: Any, model: LocalModel) -> Any:
    """`library` is SentenceTransformer or CrossEncoder. Code that comes with a model is not run."""
    try:
        from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415 - comes with the extra

        disable_progress_bar()
        return library(str(model.path), local_files_only=True, trust_remote_code=False)
    except Exception as problem:  # noqa: BLE001 - the library raises anything
        log.debug("Loading %s failed: %s", model.path, problem)
    raise ConfigurationError(
        f'The model "sentence-transformers:{model.name}" cannot be used: its files are incomplete, not a model of this '
        "kind, or need code of their own, which is not run; pull it again or choose another one."
    )


def fastembed_models() -> list[dict[str, Any]]:
    """The embedders and rerankers of fastembed. Raises `ConfigurationError` if it is not installed."""
    require_installed("fastembed")
    from fastembed import TextEmbedding  # noqa: PLC0415 - an extra
    from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415 - an extra

    return [*TextEmbedding.list_supported_models(), *TextCrossEncoder.list_supported_models()]


def missing_extra(kind: str) -> ConfigurationError:
    return ConfigurationError(f'"{kind}:" needs a package that is not installed: pip install "veracity[{kind}]"')
