"""Texts for people in English, Chinese and Japanese: one JSON file per language, with the same sections and keys.

The texts of the page are in `server/static/locales/`, the prompts for models in `prompts/`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "zh", "ja")


def text(language: str, section: str, key: str, /, **values: Any) -> str:
    """A text with its placeholders filled in. Raises `KeyError` for an unknown section, key or placeholder."""
    return section_texts(language, section)[key].format(**values)


def section_texts(language: str, section: str) -> dict[str, str]:
    """All texts of a section by key; in English if there is no file for the language."""
    texts: dict[str, str] = _load(language if language in LANGUAGES else "en")[section]
    return texts


@cache
def _load(language: str) -> dict[str, dict[str, str]]:
    content: dict[str, dict[str, str]] = json.loads(
        files(__name__).joinpath(f"{language}.json").read_text(encoding="utf-8")
    )
    return content
