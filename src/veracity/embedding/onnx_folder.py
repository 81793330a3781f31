"""An embedder from a folder with an ONNX model, run on the CPU: no network, no key.

Works with folders as Hugging Face lays them out. The files say how to pool, how many tokens the model reads and which
prefixes it wants; known.toml says it where they do not.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from veracity.embedding.folder_config import FolderConfig, is_dynamically_quantized, read_folder_config
from veracity.embedding.vectors import unit_vectors
from veracity.errors import ConfigurationError, ModelAnswerError
from veracity.local_models import LocalModel
from veracity.local_models.known import Pooling
from veracity.providers.onnx import encode, load_session, load_tokenizer, pad, run_batches, run_each
from veracity.secrets import without_secrets

if TYPE_CHECKING:
    from veracity.embedding.base import Vectors

log = logging.getLogger("veracity.embedding")

REQUIRED_INPUTS = {"input_ids"}
KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
# Outputs that are pooled already, and outputs with one vector per token, in the order of preference.
POOLED_OUTPUTS = ("sentence_embedding", "embedding", "embeddings", "dense_vecs")
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
PADDING_TOKENS = ("[PAD]", "<pad>")
SAMPLE_BYTES = 1 << 20  # of the start, middle and end of a model, for its identity


class FolderEmbedder:
    """Raises at once if a file is missing; the first text loads the model, after the files of a pulled one are
    checked."""

    def __init__(self, model: LocalModel) -> None:
        self._local = model
        try:
            self._config = read_folder_config(model.path, model.known)
            self.name = f"onnx:{model.path.name}@{_identity(self._config)}"
        except (OSError, ValueError) as problem:
            raise _unusable(model.path, str(problem)) from None
        self.traits = self._config.traits
        self._model: _Model | None = None
        self._dimensions = 0
        self._loading = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Embeds a word to find out, unless a text was embedded before."""
        return self._dimensions or len(self.embed_query("dimensions"))

    def covers(self, text: str) -> bool:
        return self.traits.covers(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed([self.traits.passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([self.traits.query_prefix + text])[0]
        return vector

    def _embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        model = self._loaded()
        try:
            vectors = unit_vectors(model.embed(texts))
        except Exception as problem:  # noqa: BLE001 - both libraries raise anything
            log.debug("Running %s failed: %s", self._local.path, problem)
            vectors = None
        if vectors is None:
            raise ModelAnswerError(
                f"The model in the folder {_quote(self._local.path)} did not give one vector of numbers per text: "
                "check that it is an embedding model."
            )
        self._dimensions = vectors.shape[1]
        return vectors

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._local.require_intact()
                try:
                    self._model = _load(self._config)
                except ValueError as problem:
                    raise _unusable(self._local.path, str(problem)) from None
            return self._model


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Tokenizer
    session: Any
    input_types: dict[str, str]
    output: str
    pooling: Pooling | None
    padding: int
    runs_singly: bool

    def embed(self, texts: Sequence[str]) -> Any:
        encodings = [encode(self.tokenizer, text) for text in texts]
        if self.runs_singly:
            return [row[0] for row in run_each([[item] for item in encodings], self._run, "veracity-embedding")]
        rows: list[Any] = [None] * len(texts)
        for indices, output in run_batches(encodings, self._run, "veracity-embedding"):
            for index, row in zip(indices, output, strict=True):
                rows[index] = row
        return rows

    def _run(self, encodings: Sequence[Encoding]) -> Any:
        inputs: dict[str, Any] = dict(pad(encodings, self.padding))
        inputs["position_ids"] = np.broadcast_to(np.arange(inputs["input_ids"].shape[1]), inputs["input_ids"].shape)
        typed = {
            name: inputs[name] if kind == "tensor(int64)" else inputs[name].astype(np.int32)
            for name, kind in self.input_types.items()
        }
        output = np.asarray(self.session.run([self.output], typed)[0], np.float32)
        if output.ndim != (2 if self.output in POOLED_OUTPUTS else 3):
            raise ValueError(f"an output of the shape {output.shape}")
        return output if output.ndim == 2 else _pool(output, inputs["attention_mask"], self.pooling)


def _pool(tokens: Any, mask: Any, pooling: Pooling | None) -> Any:
    """One vector of the vectors of each text's tokens. Padding is on the right."""
    if pooling == "cls":
        return tokens[:, 0]
    if pooling == "last":
        return tokens[np.arange(len(tokens)), mask.sum(axis=1) - 1]
    weights = mask[:, :, None].astype(np.float32)
    return (tokens * weights).sum(axis=1) / weights.sum(axis=1)


def _load(config: FolderConfig) -> _Model:
    """Raises `ValueError` with the reason if the model cannot be used."""
    tokenizer = _try_to_load(config.tokenizer_file, lambda: load_tokenizer(config.tokenizer_file, config.max_tokens))
    session = _try_to_load(config.model_file, lambda: load_session(config.model_file))
    input_types = {item.name: item.type for item in session.get_inputs()}
    if not REQUIRED_INPUTS <= input_types.keys() <= KNOWN_INPUTS:
        raise ValueError(f"its model takes {', '.join(input_types)[:200] or 'no inputs'} instead of token ids")
    output = _choose_output(session, config.pooling)
    padding = next((number for token in PADDING_TOKENS if (number := tokenizer.token_to_id(token)) is not None), 0)
    runs_singly = is_dynamically_quantized(config.model_file)
    return _Model(tokenizer, session, input_types, output, config.pooling, padding, runs_singly)


def _choose_output(session: Any, pooling: Pooling | None) -> str:
    names = [item.name for item in session.get_outputs()]
    for name in POOLED_OUTPUTS:
        if name in names:
            return name
    if pooling is None:
        raise ValueError(
            "it has no 1_Pooling/config.json, so that the pooling is unknown; add that file with "
            '{"pooling_mode_mean_tokens": true} or {"pooling_mode_cls_token": true}, as its model card says'
        )
    return next((name for name in TOKEN_OUTPUTS if name in names), names[0])


def _try_to_load(path: Path, load: Any) -> Any:
    try:
        return load()
    except Exception as problem:  # noqa: BLE001 - both libraries raise anything
        log.debug("Loading %s failed: %s", path, problem)
    raise ValueError(f"{path.name} is damaged or not what its name says")


def _identity(config: FolderConfig) -> str:
    """Differs for another model, tokenizer, pooling or prefix; not for another folder. Reads samples of large files."""
    how = (config.max_tokens, config.pooling, config.traits.query_prefix, config.traits.passage_prefix)
    digest = hashlib.sha256(repr(how).encode())
    weights = [path for path in sorted(config.model_file.parent.iterdir()) if _holds_weights(path, config.model_file)]
    for path in (*weights, config.tokenizer_file):
        size = path.stat().st_size
        digest.update(b"%d" % size)
        with path.open("rb") as file:
            for start in (0, size // 2, max(0, size - SAMPLE_BYTES)):
                file.seek(start)
                digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()[:12]


def _holds_weights(path: Path, model_file: Path) -> bool:
    return path.is_file() and (
        path == model_file or path.name.startswith((f"{model_file.name}_", f"{model_file.name}."))
    )


def _quote(folder: Path) -> str:
    return f'"{without_secrets(str(folder))[-200:]}"'


def _unusable(folder: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"The embedding model in the folder {_quote(folder)} cannot be used: {reason}; put an ONNX export of an "
        'embedding model there, or set models.embedder to "bundled".'
    )
