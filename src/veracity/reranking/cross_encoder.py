"""A cross-encoder from a folder, run on the CPU: no network, no key.

Works with any sequence classifier that has one output (relevance) or two (no, yes). The model decides which languages
it reads.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from veracity.errors import ConfigurationError, ModelAnswerError
from veracity.local_models import LocalModel
from veracity.local_models.onnx_files import find_model_file, find_tokenizer
from veracity.printable import encodable
from veracity.providers.onnx import MAX_TEXT_LENGTH, encode, load_session, load_tokenizer, pad, run_batches
from veracity.reranking.base import TextReranker
from veracity.secrets import without_secrets

log = logging.getLogger("veracity.reranking")

T = TypeVar("T")

MAX_TOKENS = 512  # of question and passage together, which is what BERT, MiniLM and XLM-R read
MAX_QUERY_TOKENS = 256  # leaves half of what the model reads to the passage
MAX_SHOWN_LENGTH = 200
REQUIRED_INPUTS = {"input_ids", "attention_mask"}
KNOWN_INPUTS = REQUIRED_INPUTS | {"token_type_ids"}
PADDING_TOKENS = ("[PAD]", "<pad>")


class CrossEncoder(TextReranker):
    """Raises at once if a file is missing; the first passages load the model, after the files of a pulled one are
    checked."""

    def __init__(self, folder: str | LocalModel) -> None:
        self._local = None if isinstance(folder, str) else folder
        self.name = f"cross-encoder:{folder}" if isinstance(folder, str) else f"onnx:{folder.name}"
        self._folder = _expand_user(folder) if isinstance(folder, str) else folder.path
        _find_files(self._folder)
        self._model: _Model | None = None
        self._loading = threading.Lock()

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        with self._loading:
            if self._model is None:
                if self._local:
                    self._local.require_intact()
                self._model = _load(self._folder)
        try:
            scores = self._model.scores(query, passages)
        except Exception as problem:  # noqa: BLE001 - both libraries raise anything
            log.debug("Running %s failed: %s", _quote(self._folder), problem)
            scores = None
        if scores is None:
            raise ModelAnswerError(
                f"The cross-encoder in the folder {_quote(self._folder)} did not give one score per passage: "
                "check that it is a reranking model, a sequence classifier with one or two outputs."
            )
        return scores


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Tokenizer
    session: Any
    input_types: dict[str, str]
    output: str
    padding: int

    def scores(self, query: str, passages: Sequence[str]) -> list[float] | None:
        """None if the output is not one score per passage."""
        query = self._shorten(query)
        scores = np.empty(len(passages))
        encodings = [encode(self.tokenizer, query, passage) for passage in passages]
        for indices, output in run_batches(encodings, self._run, "veracity-reranking"):
            if (column := _read_scores(output, len(indices))) is None:
                return None
            scores[indices] = column
        return [float(score) for score in scores]

    def _shorten(self, query: str) -> str:
        """Encoded as the second text of a pair, since only that one may be truncated."""
        query = encodable(query[:MAX_TEXT_LENGTH])  # the text that the offsets refer to
        encoding = encode(self.tokenizer, "", query)
        ends = [end for (_, end), text in zip(encoding.offsets, encoding.sequence_ids, strict=True) if text == 1]
        return query if len(ends) <= MAX_QUERY_TOKENS else query[: ends[MAX_QUERY_TOKENS - 1]]

    def _run(self, encodings: Sequence[Encoding]) -> Any:
        inputs = pad(encodings, self.padding)
        typed = {
            name: inputs[name] if kind == "tensor(int64)" else inputs[name].astype(np.int32)
            for name, kind in self.input_types.items()
        }
        return self.session.run([self.output], typed)[0]


def _find_files(folder: Path) -> tuple[Path, Path]:
    """The model and the tokenizer."""
    try:
        model = find_model_file(folder)
        return model, find_tokenizer(folder, model)
    except (OSError, ValueError) as problem:
        reason = str(problem) if type(problem) is ValueError else "it has no model.onnx or onnx/model.onnx"
    raise _unusable(folder, reason)


def _load(folder: Path) -> _Model:
    model_file, tokenizer_file = _find_files(folder)
    tokenizer = _try_to_load(
        folder,
        "tokenizer.json is damaged or not a tokenizer",
        lambda: load_tokenizer(tokenizer_file, MAX_TOKENS, "only_second"),
    )
    tokenizer.encode_special_tokens = True  # a "[SEP]" in a passage is text
    session = _try_to_load(folder, "model.onnx is damaged or not a model", lambda: load_session(model_file))
    input_types = {item.name: item.type for item in session.get_inputs()}
    outputs = [item.name for item in session.get_outputs()]
    if not REQUIRED_INPUTS <= input_types.keys() <= KNOWN_INPUTS or not all(
        kind in ("tensor(int64)", "tensor(int32)") for kind in input_types.values()
    ):
        names = ", ".join(input_types) or "no inputs"
        raise _unusable(folder, f"its model takes {names} instead of {', '.join(sorted(KNOWN_INPUTS))}")
    output = "logits" if "logits" in outputs else outputs[0]
    padding = next((number for token in PADDING_TOKENS if (number := tokenizer.token_to_id(token)) is not None), 0)
    return _Model(tokenizer, session, input_types, output, padding)


def _try_to_load(folder: Path, reason: str, load: Callable[[], T]) -> T:
    try:
        return load()
    except Exception as problem:  # noqa: BLE001 - both libraries raise anything
        log.debug("Loading from %s failed: %s", _quote(folder), problem)
    raise _unusable(folder, reason)


def _read_scores(output: Any, count: int) -> NDArray[np.float64] | None:
    """One number per pair; None if the output has another shape."""
    logits = np.asarray(output, np.float64)
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.shape not in ((count, 1), (count, 2)) or not np.isfinite(logits).all():
        return None
    column: NDArray[np.float64] = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    return column


def _expand_user(folder: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError:  # "~name" without such a user
        return Path(folder)


def _quote(folder: Path) -> str:
    """For error messages. Folders of Hugging Face's cache look like keys, but are shown."""
    text = without_secrets(str(folder))
    line = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    return f'"{line}"' if len(line) <= MAX_SHOWN_LENGTH else f'"…{line[-MAX_SHOWN_LENGTH:]}"'


def _unusable(folder: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"The cross-encoder in the folder {_quote(folder)} cannot be used: {reason}; "
        'put an ONNX export of a reranking model there, or set models.reranker to "none".'
    )
