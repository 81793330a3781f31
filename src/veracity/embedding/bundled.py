"""The embedder that comes with the installation: all-MiniLM-L6-v2, quantised, on the processor; no network, no key.

Made for English. Says of Chinese and Japanese that it does not cover them; other Latin scripts it reads as well as it
can. Knows nothing about where the texts come from. What the model is and how it was made: minilm/README.md.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from veracity.errors import ConfigurationError
from veracity.language import guess_language
from veracity.printable import encodable
from veracity.workers import processors

if TYPE_CHECKING:
    from veracity.embedding.base import Vectors

FOLDER = Path(__file__).parent / "minilm"
FILES = {"model.onnx", "tokenizer.json"}
LONGEST = 256  # word pieces; what comes after them is not read
LONGEST_READ = 50_000  # characters, far more than so many word pieces have
BATCH = 512  # word pieces: larger batches leave the processor's cache, are slower, and take memory
SORTED = 1024  # texts that are sorted by length together
MOST_THREADS = 8  # each takes some 20 MB
ERRORS_ONLY = 3


class BundledEmbedder:
    """Costs nothing until the first text is embedded. All of them in a process share one model."""

    name = "bundled:all-MiniLM-L6-v2-int8"
    dimensions = 384

    def covers(self, text: str) -> bool:
        return guess_language(text) == "en"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), SORTED):
            some = texts[start : start + SORTED]
            vectors[start : start + len(some)] = _loaded().embed(some)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed_passages([text])[0]
        return vector


@dataclass(frozen=True, slots=True)
class _Model:
    """Both parts may be used by many threads at once."""

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Threads of ours with a batch each are faster than onnxruntime's, which share one, and survive a fork."""
        read = [self._read(text) for text in texts]
        batches = list(_batches(read))
        vectors = np.empty((len(texts), BundledEmbedder.dimensions), np.float32)
        threads = min(len(batches), MOST_THREADS, processors())
        if threads < 2:
            embedded = [self._embed([read[place] for place in batch]) for batch in batches]
        else:
            with ThreadPoolExecutor(threads, "veracity-embedding") as pool:
                embedded = list(pool.map(lambda batch: self._embed([read[place] for place in batch]), batches))
        for batch, found in zip(batches, embedded, strict=True):
            vectors[batch] = found
        return vectors

    def _read(self, text: str) -> list[int]:
        """One by one: tokenizers' own batches start threads, after which a fork of the process prints warnings."""
        return self.tokenizer.encode(encodable(text[:LONGEST_READ])).ids

    def _embed(self, read: Sequence[list[int]]) -> Vectors:
        """Texts are filled up to the same length; the mask tells what of it is theirs."""
        ids = np.zeros((len(read), max(map(len, read))), np.int64)
        mask = np.zeros_like(ids)
        for row, pieces in enumerate(read):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        vectors: Vectors = self.session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0]
        return vectors


def _batches(read: Sequence[list[int]]) -> Iterator[list[int]]:
    """The places of texts of like length, since all of a batch take as long as the longest."""
    batch: list[int] = []
    for place in sorted(range(len(read)), key=lambda place: len(read[place])):
        if batch and (len(batch) + 1) * len(read[place]) > BATCH:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


_loading = threading.Lock()


def _loaded() -> _Model:
    with _loading:
        return _load(FOLDER)


@lru_cache(maxsize=1)
def _load(folder: Path) -> _Model:
    _require_intact(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    onnxruntime.set_default_logger_severity(ERRORS_ONLY)
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return _Model(tokenizer, session)


def _require_intact(folder: Path) -> None:
    """Raise unless the files are as they were when their checksums were written."""
    try:
        lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        wanted = {name: checksum for checksum, name in map(str.split, lines)}
        intact = wanted == {name: _checksum(folder / name) for name in FILES}
    except (OSError, ValueError):
        intact = False
    if not intact:
        raise ConfigurationError(
            "The bundled embedding model is damaged or missing: reinstall Veracity "
            '(pip install --force-reinstall --no-deps veracity), or set the embedder to "none".'
        )


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
