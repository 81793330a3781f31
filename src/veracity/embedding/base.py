"""What every embedder can do. Knows no embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    pass
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


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


class Embedder(Protocol):
    """Turns texts into vectors of length 1, so that their product tells how near they are in meaning.

    Can be shared by threads. A text it does not cover is to be searched by its words alone; it gets a vector all the
    same when asked for one.
    """

    @property
    def name(self) -> str:
        """Its identity: vectors of embedders with different names cannot be compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    def covers(self, text: str) -> bool: ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in their order."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """One vector, without a row around it."""
        ...
