"""Texts for people in English, Chinese and Japanese: one JSON file per language, with the same sections and keys.

The texts of the page are in `server/static/locales/`, the prompts for models in `prompts/`.
"""

from __future__ import annotations

import json
import re
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


def choose_language(accepted: str) -> str:
    """The first language of an `Accept-Language` header, or of a locale such as ja_JP.UTF-8, that there are texts for;
    empty if there is none."""
    choices = [part.partition(";") for part in accepted.replace("_", "-").lower().split(",")]
    ranked = sorted(choices, key=lambda choice: -_weight(choice[2]))
    names = [re.split(r"[-.@]", name.strip())[0] for name, _, _ in ranked]
    return next((name for name in names if name in LANGUAGES), "")


def _weight(parameters: str) -> float:
    found = re.search(r"q=([01](?:\.\d{1,3})?)", parameters)
    return float(found[1]) if found else 1.0


@cache
def _load(language: str) -> dict[str, dict[str, str]]:
    content: dict[str, dict[str, str]] = json.loads(
        files(__name__).joinpath(f"{language}.json").read_text(encoding="utf-8")
    )
    return content
