"""Models that Veracity knows (known.toml): licence, languages, prefixes, pooling, and hashes of their files."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["onnx", "fastembed", "sentence-transformers"]
Pooling = Literal["mean", "cls", "last"]
Role = Literal["embedder", "reranker"]


class FilePin(BaseModel):
    """What a file of a pinned revision must be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int
    sha256: str


class KnownModel(BaseModel):
    """`languages` are those of en, zh and ja that it reads. `files` lists only files whose hash is known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    role: Role
    kind: Kind = "onnx"
    licence: str
    languages: tuple[str, ...]
    others: bool = False
    aliases: tuple[str, ...] = ()
    revision: str = ""
    dimensions: int | None = None
    max_tokens: int
    megabytes: int
    pooling: Pooling | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    files: dict[str, FilePin] = {}


@cache
def known_models() -> tuple[KnownModel, ...]:
    document = tomllib.loads((Path(__file__).parent / "known.toml").read_text(encoding="utf-8"))
    return tuple(KnownModel.model_validate(model) for model in document["model"])


def find_known(name: str) -> KnownModel | None:
    """The known model of this name: with or without its owner, in any case, or under the name and tag of a server.

    Copies of a model under another owner have the same prefixes.
    """
    wanted = _short_name(name)
    for model in known_models():
        if wanted in (_short_name(model.name), *model.aliases):
            return model
    return None


def _short_name(name: str) -> str:
    return name.lower().rstrip("/").rpartition("/")[2].partition(":")[0]
