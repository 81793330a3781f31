"""The interface of all embedders, and the embedder for search by words alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

BUNDLED_NAME = "bundled:veracity-multilingual-1"  # constants that were fitted to its similarities name it


class Embedder(Protocol):
    """Turns texts into unit vectors, whose dot product is their similarity in meaning. Thread-safe.

    A text that an embedder does not cover should be searched by its words alone, but still gets a vector.
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
        """A single vector."""
        ...


class NoEmbedder:
    """Covers no text. Has one dimension, so that stores need no special case; every vector is the same."""

    name = "none"
    dimensions = 1

    def covers(self, text: str) -> bool:
        return False

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np  # noqa: PLC0415 - the protocol needs no NumPy

        return np.ones((len(texts), 1), np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed_passages([text])[0]
        return vector
