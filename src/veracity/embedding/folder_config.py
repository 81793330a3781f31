"""Reads how to use an embedding model from the files in its folder, as Hugging Face lays them out."""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veracity.embedding.traits import Traits, read_json, traits_of_folder
from veracity.local_models.known import KnownModel, Pooling
from veracity.local_models.onnx_files import find_model_file, find_tokenizer

DEFAULT_MAX_TOKENS = 512
NO_LIMIT = 1_000_000  # transformers writes 10**30 where a tokenizer has no limit
# Keys of 1_Pooling/config.json, as older versions of sentence-transformers write them.
POOLING_KEYS: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}
POOLING_NAMES: dict[str, Pooling] = {"cls": "cls", "mean": "mean", "lasttoken": "last"}
OTHER_POOLING_KEYS = (
    "pooling_mode_max_tokens",
    "pooling_mode_mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens",
)
# Modules after the transformer that this program applies itself. ONNX exports contain none of the others.
APPLIED_MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True)
class FolderConfig:
    """`pooling` is None if the files do not say it: then only a model that pools itself can be used."""

    model_file: Path
    tokenizer_file: Path
    max_tokens: int
    pooling: Pooling | None
    traits: Traits


def read_folder_config(folder: Path, known: KnownModel | None) -> FolderConfig:
    """Raises `ValueError` with the reason if the folder cannot be used."""
    model_file = find_model_file(folder)
    config = read_json(folder / "config.json")
    return FolderConfig(
        model_file,
        find_tokenizer(folder, model_file),
        _max_tokens(folder, config),
        _pooling(folder, known),
        traits_of_folder(folder, known),
    )


def _pooling(folder: Path, known: KnownModel | None) -> Pooling | None:
    _require_applied_modules(folder)
    config = read_json(folder / "1_Pooling" / "config.json")
    if isinstance(name := config.get("pooling_mode"), str):
        if name not in POOLING_NAMES:
            raise ValueError(f'its pooling is "{name[:40]}", and only mean, cls and lasttoken are supported')
        return POOLING_NAMES[name]
    modes = [pooling for key, pooling in POOLING_KEYS.items() if config.get(key)]
    if len(modes) > 1 or any(config.get(key) for key in OTHER_POOLING_KEYS) or isinstance(name, list):
        raise ValueError("it combines several poolings, and only one of mean, cls and lasttoken is supported")
    return modes[0] if modes else known.pooling if known else None


def _require_applied_modules(folder: Path) -> None:
    try:
        modules = json.loads((folder / "modules.json").read_bytes())
    except OSError:
        return
    except ValueError:
        raise ValueError("modules.json is damaged") from None
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules if isinstance(module, dict)]
    if others := [kind for kind in kinds if kind not in APPLIED_MODULES]:
        raise ValueError(f"it has a module of the kind {others[0][:40]}, which its ONNX file does not contain")


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    """The smallest limit that the files set: more tokens than positions make a model fail."""
    tokenizer_config = read_json(folder / "tokenizer_config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type", "")):
        positions -= 2  # its first two positions are for padding
    limits = (
        read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        tokenizer_config.get("model_max_length"),
        positions,
    )
    usable = [int(limit) for limit in limits if isinstance(limit, int | float) and 2 < limit < NO_LIMIT]
    return min(usable) if usable else DEFAULT_MAX_TOKENS


def is_dynamically_quantized(model_file: Path) -> bool:
    """Whether activations are scaled per batch, so that a text's vector depends on its neighbours."""
    with model_file.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"DynamicQuantize") >= 0 or content.find(b"MatMulIntegerToFloat") >= 0
