"""The embedder that comes with the installation: for English, Chinese and Japanese, on the CPU; no network, no key.

A sentence and its translation have similar vectors. It reads other Latin scripts as well as it can.
multilingual/README.md describes the model and how it was made.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veracity.embedding.base import BUNDLED_NAME
from veracity.embedding.word_pieces import WordPieces
from veracity.errors import ConfigurationError
from veracity.providers.onnx import load_session, run_each

if TYPE_CHECKING:
    from veracity.embedding.base import Vectors

FOLDER = Path(__file__).parent / "multilingual"
FILES = ("model.onnx", "tokenizer.json", "tokens.txt")
MAX_TOKENS = 256  # the rest of a text is cut off

_loading = threading.Lock()


class BundledEmbedder:
    """Loads the model with the first text. All instances in a process share it."""

    name = BUNDLED_NAME
    dimensions = 384

    def covers(self, text: str) -> bool:
        return True

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Runs each text by itself. For passages of 256 tokens batches are not faster."""
        with _loading:
            pieces, session = _load(FOLDER)

        def run(tokens: list[int]) -> Any:
            inputs = {"input_ids": np.array([tokens]), "attention_mask": np.ones((1, len(tokens)), np.int64)}
            return session.run(["embedding"], inputs)[0][0]

        rows = run_each([pieces.encode(text, MAX_TOKENS) for text in texts], run, "veracity-embedding")
        return np.array(rows, np.float32).reshape(len(texts), self.dimensions)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed_passages([text])[0]
        return vector


@lru_cache(maxsize=1)
def _load(folder: Path) -> tuple[WordPieces, Any]:
    require_intact(folder, FILES, "embedding model", "embedder")
    pieces = WordPieces(folder / "tokenizer.json", folder / "tokens.txt")
    return pieces, load_session(folder / "model.onnx")


def require_intact(folder: Path, files: Sequence[str], model: str, setting: str) -> None:
    """Raises `ConfigurationError` unless the files match their checksums."""
    try:
        lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        expected = {name: checksum for checksum, name in map(str.split, lines)}
        is_intact = expected == {name: _checksum(folder / name) for name in files}
    except (OSError, ValueError):
        is_intact = False
    if not is_intact:
        raise ConfigurationError(
            f"The bundled {model} is damaged or missing: reinstall Veracity "
            f'(pip install --force-reinstall --no-deps veracity), or set the {setting} to "none".'
        )


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
