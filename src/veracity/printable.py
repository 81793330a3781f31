"""Makes untrusted text (from models, files and servers) safe to encode and to print."""

from __future__ import annotations

import unicodedata


def encodable(text: str) -> str:
    """Replace lone surrogates, such as half an emoji, which UTF-8 cannot encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def visible(text: object) -> str:
    """Replace control, format and other invisible characters; keep line breaks and tabs."""
    return "".join(_visible(character) for character in str(text))


def _visible(character: str) -> str:
    if character in "\n\t":
        return character
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co") else character
