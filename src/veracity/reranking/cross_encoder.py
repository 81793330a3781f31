"""A cross-encoder in a folder, run on the processor: no network, no key.

Any sequence classifier with one output (how well the passage answers) or two (no, yes) will do. Which languages it
reads is the model's affair. Knows nothing about where the passages come from.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Tokenizer

from veracity.errors import ConfigurationError, ModelAnswerError
from veracity.printable import encodable
from veracity.secrets import without_secrets
from veracity.workers import processors

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


log = logging.getLogger("veracity.reranking")

LONGEST_QUERY = 256  # pieces, so that half of what the model reads is left for the passage
LONGEST_READ = 50_000  # characters, far more than so many pieces have
BATCH = 512  # pieces: larger batches leave the processor's cache, are slower, and take memory
MOST_THREADS = 8


@dataclass(frozen=True, slots=True)
class _Pair:
    """Question and passage as pieces. `kinds` tells which piece belongs to which."""

    pieces: list[int]
    kinds: list[int]


class CrossEncoder:
    """Raises at once where a file is missing; the model is loaded by the first passages, once."""

    def __init__(self, folder: str) -> None:
        self.name = f"cross-encoder:{folder}"
        self._folder = _expanded(folder)
        find(self._folder)
        self._model: LoadedModel | None = None
        self._loading = threading.Lock()

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        model = self._loaded()
        try:
            found = _scores(model, query, passages)
        except Exception as problem:  # noqa: BLE001 - both libraries raise anything
            log.debug("Running %s failed: %s", shown(self._folder), problem)
            found = None
        if found is None:
            raise ModelAnswerError(
                f"The cross-encoder in the folder {shown(self._folder)} did not give one score per passage: "
                "check that it is a reranking model, a sequence classifier with one or two outputs."
            )
        return found

    def _loaded(self) -> LoadedModel:
        with self._loading:
            if self._model is None:
                self._model = load(self._folder)
            return self._model


def _scores(model: LoadedModel, query: str, passages: Sequence[str]) -> list[float] | None:
    """Threads of ours with a batch each are faster than onnxruntime's, which share one, and survive a fork."""
    pairs = _read(model, query, passages)
    batches = list(_batches(pairs))
    threads = min(len(batches), MOST_THREADS, processors())
    if threads < 2:
        outputs = [_run(model, [pairs[place] for place in batch]) for batch in batches]
    else:
        with ThreadPoolExecutor(threads, "veracity-reranking") as pool:
            outputs = list(pool.map(lambda batch: _run(model, [pairs[place] for place in batch]), batches))
    scores = np.empty(len(pairs))
    for batch, output in zip(batches, outputs, strict=True):
        if (column := _column(output, len(batch))) is None:
            return None
        scores[batch] = column
    return [float(score) for score in scores]


def _read(model: LoadedModel, query: str, passages: Sequence[str]) -> list[_Pair]:
    """One by one: tokenizers' own batches start threads, after which a fork of the process prints warnings."""
    asked = _capped(model, encodable(query[:LONGEST_READ]))
    read = (model.tokenizer.encode(asked, encodable(passage[:LONGEST_READ])) for passage in passages)
    return [_Pair(one.ids, one.type_ids) for one in read]


def _capped(model: LoadedModel, query: str) -> str:
    """Counted in the second place, since only what stands there may be longer than the model reads."""
    read = model.tokenizer.encode("", query)
    ends = [end for (_, end), text in zip(read.offsets, read.sequence_ids, strict=True) if text == 1]
    return query if len(ends) <= LONGEST_QUERY else query[: ends[LONGEST_QUERY - 1]]


def _batches(pairs: Sequence[_Pair]) -> Iterator[list[int]]:
    """The places of pairs of like length, since all of a batch take as long as the longest."""
    batch: list[int] = []
    for place in sorted(range(len(pairs)), key=lambda place: len(pairs[place].pieces)):
        if batch and (len(batch) + 1) * len(pairs[place].pieces) > BATCH:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _run(model: LoadedModel, pairs: Sequence[_Pair]) -> Any:
    """Pairs are filled up to the same length; the mask tells what of it is theirs."""
    longest = max(len(pair.pieces) for pair in pairs)
    fed = {name: np.zeros((len(pairs), longest), np.int64) for name in ("attention_mask", "token_type_ids")}
    fed["input_ids"] = np.full((len(pairs), longest), model.padding, np.int64)
    for row, pair in enumerate(pairs):
        fed["input_ids"][row, : len(pair.pieces)] = pair.pieces
        fed["token_type_ids"][row, : len(pair.kinds)] = pair.kinds
        fed["attention_mask"][row, : len(pair.pieces)] = 1
    wanted = {
        name: fed[name] if kind == "tensor(int64)" else fed[name].astype(np.int32)
        for name, kind in model.inputs.items()
    }
    return model.session.run([model.output], wanted)[0]


def _column(output: Any, count: int) -> NDArray[np.float64] | None:
    """One number per pair; None where the output is not that."""
    logits = np.asarray(output, np.float64)
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.shape not in ((count, 1), (count, 2)) or not np.isfinite(logits).all():
        return None
    column: NDArray[np.float64] = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    return column


def _expanded(folder: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError:  # "~somebody", and nobody is called so
        return Path(folder)
