"""No embedder: for who searches by words alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from veracity.embedding.protocol import Vectors


class NoEmbedder:
    """Covers nothing. One dimension, so that a store needs no special case; every vector is the same."""

    name = "none"
    dimensions = 1

    def covers(self, text: str) -> bool:
        return False

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), 1), np.float32)

    def embed_query(self, text: str) -> Vectors:
        return np.ones(1, np.float32)
