"""What every reranker can do. Knows no reranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Reads question and passage together. Can be shared by threads."""

    @property
    def name(self) -> str:
        """Its identity, as it is written in the settings."""
        ...

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """One per passage, in their order. The higher the better; only the order means anything."""
        ...
