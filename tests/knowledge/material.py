"""Shared by the knowledge tests: an embedder, a search, and invariants of every store."""

import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.knowledge.library import Library
from veracity.knowledge.location import FolderLocation
from veracity.knowledge.rows import DOCUMENT, PASSAGE
from veracity.knowledge.store import TABLE_FOLDER, Store
from veracity.language import guess_language, search_tokens
from veracity.models import Outcome

ENGLISH = "# Leave\n\nEvery engineer in Dublin gets twenty-five days of leave.\n"
CHINESE = "# 差旅\n\n上海办公室的员工出差时每晚住宿不超过六百元。\n"
JAPANESE = "# 休暇\n\n大阪の社員は年に二十日の有給休暇をもらえます。\n"

MakeLibrary = Callable[..., Library]


class HashEmbedder:
    """A fast, deterministic embedder: each word or CJK character counts in one of 16 dimensions."""

    dimensions = 16

    def __init__(self, name: str = "hashed", covers: Callable[[str], bool] = lambda text: True) -> None:
        self.name = name
        self._covers = covers
        self.seen: list[str] = []

    def covers(self, text: str) -> bool:
        return self._covers(text)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += texts
        vectors = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"[a-z0-9]+|[^\x00-\x7f]", text.lower()):
                vector[zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.dimensions] += 1
        norms: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
        return vectors / norms

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed_passages([text])[0]
        return vector


def no_progress(outcome: Outcome, to_come: int | None) -> None:
    """No-op progress callback."""


def aged(path: Path, seconds: float) -> Path:
    """Set the modification time of the file to this many seconds ago."""
    changed = time.time_ns() - int(seconds * 1e9)
    os.utime(path, ns=(changed, changed))
    return path


def search(store: Store, query: str) -> list[str]:
    """The ids of the documents that contain the words, best first."""
    hits = store.by_words(search_tokens(query, guess_language(query)), 50)
    return list(dict.fromkeys(hit.passage.document_id for hit in hits))


def table_folder(store: Store) -> Path:
    assert isinstance(store.location, FolderLocation)
    return store.location.folder / TABLE_FOLDER


def rows_of(store: Store) -> list[dict[str, Any]]:
    table = store._table
    columns = ["id", "kind", "document_id", "passages", "start", "end", "text"]
    return [] if table is None else table.search().select(columns).limit(None).to_list()


def assert_consistent(store: Store) -> None:
    """No duplicate or partial document, no orphaned passage, and each passage is a slice of its document."""
    rows = rows_of(store)
    assert [name for name, count in Counter(row["id"] for row in rows).items() if count > 1] == []
    documents = {row["document_id"]: row for row in rows if row["kind"] == DOCUMENT}
    passages = [row for row in rows if row["kind"] == PASSAGE]
    counts = Counter(row["document_id"] for row in passages)
    assert counts == {name: row["passages"] for name, row in documents.items() if row["passages"]}
    for row in passages:
        assert row["text"] == documents[row["document_id"]]["text"][row["start"] : row["end"]]
