"""From a folder to a cross-encoder that can be run: its files found, loaded, and checked for what we can feed.

Wanted are `model.onnx` (there or in `onnx/`) and `tokenizer.json`, as Hugging Face's exports of sequence classifiers
have them. Loads nothing from the network. Knows nothing about what is ranked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import onnxruntime  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from veracity.errors import ConfigurationError
from veracity.secrets import without_secrets

log = logging.getLogger("veracity.reranking")

T = TypeVar("T")

LONGEST = 512  # pieces of question and passage together, which is what BERT, MiniLM and XLM-R read
NEEDED = {"input_ids", "attention_mask"}
FED = NEEDED | {"token_type_ids"}
PADDING = ("[PAD]", "<pad>")
LONGEST_SHOWN = 200
ERRORS_ONLY = 3


@dataclass(frozen=True, slots=True)
class ModelFiles:
    model: Path
    tokenizer: Path


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """Both parts may be used by many threads at once."""

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    inputs: dict[str, str]  # what the model takes, and of which type
    output: str
    padding: int


def shown(folder: Path) -> str:
    """As it can be repeated in a message. Folders of Hugging Face's cache look like keys, and are none."""
    text = without_secrets(str(folder))
    line = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
    return f'"{line}"' if len(line) <= LONGEST_SHOWN else f'"…{line[-LONGEST_SHOWN:]}"'


def find(folder: Path) -> ModelFiles:
    model = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if _is_file(path)), None)
    tokenizer = folder / "tokenizer.json"
    if model is None:
        raise _unusable(folder, "it has no model.onnx, nor onnx/model.onnx")
    if not _is_file(tokenizer):
        raise _unusable(folder, "it has no tokenizer.json")
    return ModelFiles(model, tokenizer)


def load(folder: Path) -> LoadedModel:
    files = find(folder)
    tokenizer = _loaded(folder, "tokenizer.json is damaged or not a tokenizer", lambda: _tokenizer(files.tokenizer))
    session = _loaded(folder, "model.onnx is damaged or not a model", lambda: _session(files.model))
    inputs = {one.name: one.type for one in session.get_inputs()}
    outputs = [one.name for one in session.get_outputs()]
    if not NEEDED <= inputs.keys() <= FED or set(inputs.values()) - {"tensor(int64)", "tensor(int32)"}:
        raise _unusable(folder, f"its model takes {', '.join(inputs) or 'nothing'} and not {', '.join(sorted(FED))}")
    output = "logits" if "logits" in outputs else outputs[0]
    padding = next((number for token in PADDING if (number := tokenizer.token_to_id(token)) is not None), 0)
    return LoadedModel(tokenizer, session, inputs, output, padding)


def _tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST, strategy="only_second")  # of the question nothing is lost
    tokenizer.encode_special_tokens = True  # a "[SEP]" in a passage is text
    return tokenizer


def _session(path: Path) -> Any:
    onnxruntime.set_default_logger_severity(ERRORS_ONLY)
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _loaded(folder: Path, otherwise: str, load: Callable[[], T]) -> T:
    try:
        return load()
    except Exception as problem:  # noqa: BLE001 - both libraries raise anything
        log.debug("Loading from %s failed: %s", shown(folder), problem)
    raise _unusable(folder, otherwise)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _unusable(folder: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"The cross-encoder in the folder {shown(folder)} cannot be used: {why}; "
        'put an ONNX export of a reranking model there, or set retrieval.reranker to "none".'
    )
