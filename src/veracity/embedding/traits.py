"""What a model expects and can do: the prefixes of its texts, and its languages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veracity.language import guess_language
from veracity.local_models import KnownModel

PROMPTS_FILE = "config_sentence_transformers.json"
QUERY_NAMES = ("query", "search_query", "retrieval.query")
PASSAGE_NAMES = ("document", "passage", "search_document", "retrieval.passage")


@dataclass(frozen=True)
class Traits:
    """`languages` is None if they are unknown: then every text is covered. `is_known`: whether the model's prefixes
    are known. If not, texts get none."""

    query_prefix: str = ""
    passage_prefix: str = ""
    is_known: bool = False
    languages: tuple[str, ...] | None = None

    @property
    def has_prefixes(self) -> bool:
        return bool(self.query_prefix or self.passage_prefix)

    def covers(self, text: str) -> bool:
        return self.languages is None or guess_language(text) in self.languages


def traits_of(known: KnownModel | None) -> Traits:
    if known is None:
        return Traits()
    return Traits(known.query_prefix, known.passage_prefix, True, known.languages)


def traits_of_folder(folder: Path, known: KnownModel | None) -> Traits:
    """Prompts in the model's own files come first."""
    query, passage = _prompts(folder)
    if not query and not passage:
        return traits_of(known)
    return Traits(query, passage, True, known.languages if known else None)


def _prompts(folder: Path) -> tuple[str, str]:
    prompts = read_json(folder / PROMPTS_FILE).get("prompts")
    texts = prompts if isinstance(prompts, Mapping) else {}

    def first(names: tuple[str, ...]) -> str:
        return next((texts[name] for name in names if isinstance(texts.get(name), str) and texts[name]), "")

    return first(QUERY_NAMES), first(PASSAGE_NAMES)


def read_json(path: Path) -> dict[str, Any]:
    """Empty if there is no such file, or if it holds anything but an object. Raises `ValueError` if it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"{path.name} is damaged") from None
    return document if isinstance(document, dict) else {}
