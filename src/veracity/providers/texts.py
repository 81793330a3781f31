"""Text as a provider or a model can take it."""

from __future__ import annotations


def encodable(text: str) -> str:
    """Half a character, such as an emoji that was cut in two, cannot be encoded: a mark takes its place."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
