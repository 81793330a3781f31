"""Makes untrusted text (from models, files and servers) safe to encode and to print."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

# Valid inside a line of JSON, but many readers split lines at these characters.
_LINE_BREAKS = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})


def encodable(text: str) -> str:
    """Replace lone surrogates, such as half an emoji, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def json_line(value: Any) -> str:
    """JSON without a line break of any kind."""
    return encodable(json.dumps(value, ensure_ascii=False)).translate(_LINE_BREAKS)


def visible(text: object) -> str:
    """Replace control, format and other invisible characters; keep line breaks and tabs."""
    return "".join(_visible(character) for character in str(text))


def _visible(character: str) -> str:
    if character in "\n\t":
        return character
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co") else character
