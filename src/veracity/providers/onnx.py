"""Runs local ONNX models on the CPU: texts become tokens, and padded batches of them run on several threads.

Tokenizers and sessions may be shared by threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from veracity.printable import encodable
from veracity.workers import processors

MAX_TEXT_LENGTH = 50_000  # characters, far more than the tokens a model reads
MAX_BATCH_TOKENS = 512  # larger batches leave the processor's cache, are slower and take memory
MAX_THREADS = 8  # each takes some 20 MB
ERRORS_ONLY = 3

T = TypeVar("T")


def load_tokenizer(path: Path, max_tokens: int, strategy: str = "longest_first") -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens, strategy=strategy)
    return tokenizer


def load_session(path: Path) -> Any:
    onnxruntime.set_default_logger_severity(ERRORS_ONLY)
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = 1  # `run_batches` starts the threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def encode(tokenizer: Tokenizer, text: str, pair: str | None = None) -> Encoding:
    """Encodes texts one by one: the library's own batches start threads, after which a fork prints warnings."""
    second = None if pair is None else encodable(pair[:MAX_TEXT_LENGTH])
    return tokenizer.encode(encodable(text[:MAX_TEXT_LENGTH]), second)


def run_batches(
    encodings: Sequence[Encoding], run: Callable[[Sequence[Encoding]], Any], thread_name: str
) -> list[tuple[list[int], Any]]:
    """The indices of each batch with its output. One batch per thread is faster than onnxruntime's own threads."""
    batches = list(_batches([len(encoding) for encoding in encodings]))
    outputs = run_each([[encodings[index] for index in batch] for batch in batches], run, thread_name)
    return list(zip(batches, outputs, strict=True))


def run_each(items: Sequence[T], run: Callable[[T], Any], thread_name: str) -> list[Any]:
    """The output for each item, on as many threads as there are processors."""
    threads = min(len(items), MAX_THREADS, processors())
    if threads < 2:
        return [run(item) for item in items]
    with ThreadPoolExecutor(threads, thread_name) as pool:
        return list(pool.map(run, items))


def pad(encodings: Sequence[Encoding], padding: int = 0) -> dict[str, NDArray[np.int64]]:
    """The inputs of a model: all rows have the length of the longest, and the mask marks what is padding."""
    shape = (len(encodings), max(map(len, encodings)))
    inputs = {name: np.zeros(shape, np.int64) for name in ("attention_mask", "token_type_ids")}
    inputs["input_ids"] = np.full(shape, padding, np.int64)
    for row, encoding in enumerate(encodings):
        inputs["input_ids"][row, : len(encoding)] = encoding.ids
        inputs["token_type_ids"][row, : len(encoding)] = encoding.type_ids
        inputs["attention_mask"][row, : len(encoding)] = 1
    return inputs


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of texts of similar length, since a batch takes as long as its longest text."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
