"""The interface of all rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores passages by reading each together with the question. Thread-safe."""

    @property
    def name(self) -> str:
        """The name as written in the settings."""
        ...

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """One per passage, in their order; higher is better. Only comparable within one call."""
        ...
