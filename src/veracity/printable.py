"""Text as a person may be shown it: what models, files and servers wrote must not command a terminal or a page."""

from __future__ import annotations

import unicodedata


def encodable(text: str) -> str:
    """Half a character, such as an emoji that was cut in two, cannot be encoded: a mark takes its place."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def visible(text: object) -> str:
    """Control, format and other unseen characters as a replacement mark; line breaks and tabs stay."""
    return "".join(_visible(character) for character in str(text))


def _visible(character: str) -> str:
    if character in "\n\t":
        return character
    return "�" if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co") else character
