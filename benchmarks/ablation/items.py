"""What a measure scores: items of a benchmark, and what all measures share."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.retrieval.sets import RetrievalSet, workspace_of
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.answer_reader import AnswerReader, Passage, make_answer_reader
from veracity.embedding import Embedder, make_embedder
from veracity.engine import Veracity
from veracity.knowledge.vocabulary import VocabularySnapshot
from veracity.models import Evidence
from veracity.retrieval import Searcher, make_searcher
from veracity.settings import Settings

MODELS = ("bundled", "none")  # embedder and answer reader
SEED = 1

T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """`score` returns a value for each figure. Items of one figure count so that all `kind`s weigh the same."""

    language: str
    kind: str
    score: Callable[[], Mapping[str, float]]


class CachingReader:
    """Reads a question with the same passages once: rules do not change the scores."""

    def __init__(self, reader: AnswerReader) -> None:
        self._reader = reader
        self._scores: dict[Any, list[list[float]]] = {}

    def read(self, question: str, passages: Sequence[Passage]) -> list[list[float]]:
        key = question, tuple((passage.head, tuple(passage.units)) for passage in passages)
        if key not in self._scores:
            self._scores[key] = self._reader.read(question, passages)
        return self._scores[key]


@dataclass
class Context:
    """Folders, sample size, the models with what they computed, and open workspaces."""

    clones: Path
    directory: Path
    keep: Path
    size: int
    embedder: CachingEmbedder = field(init=False)
    reader: CachingReader = field(init=False)
    settings: Settings = field(default_factory=Settings)
    checks: dict[Any, bool] = field(default_factory=dict)  # whether the gate holds an answer
    _stack: ExitStack = field(default_factory=ExitStack)
    _engines: dict[str, Veracity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.embedder = CachingEmbedder(make_embedder("bundled"), self.keep / "vectors.pickle")
        reader = make_answer_reader("bundled")
        assert reader is not None
        self.reader = CachingReader(reader)

    def sample(self, rows: Sequence[T], share: float = 1) -> list[T]:
        """A fixed sample of `size` rows, or of a share or multiple of it, in the order of the rows."""
        chosen = sorted(random.Random(SEED).sample(range(len(rows)), min(round(share * self.size), len(rows))))
        return [rows[place] for place in chosen]

    def embedder_for(self, model: str) -> Embedder:
        return self.embedder if model == "bundled" else make_embedder(model)

    def writer_for(self, model: str) -> ExtractiveWriter:
        return ExtractiveWriter(self.embedder_for(model), self.reader if model == "bundled" else None)

    def library(self, data: RetrievalSet, model: str) -> Library:
        """A workspace with the documents of a set, searched with or without vectors."""
        if data.name not in self._engines:
            self._engines[data.name] = self._stack.enter_context(workspace_of(data, self.keep)[0])
        return self.open(self._engines[data.name], model)

    def open(self, engine: Veracity, model: str) -> Library:
        store, embedder = engine._parts.library.store, self.embedder_for(model)
        searcher = make_searcher(store, embedder, self.settings.retrieval)
        return Library(searcher, VocabularySnapshot(store, embedder if model == "bundled" else None))

    def enter(self, manager: AbstractContextManager[Any]) -> None:
        """Keeps a context manager open until the measuring ends."""
        self._stack.enter_context(manager)

    @contextmanager
    def opened(self) -> Iterator[Context]:
        with self._stack:
            yield self
        self.embedder.save()


class Library:
    """Searches once for each query: rules before and after a search do not change it."""

    def __init__(self, searcher: Searcher, vocabulary: VocabularySnapshot) -> None:
        self.searcher = searcher
        self.vocabulary = vocabulary
        self._found: dict[Any, list[Evidence]] = {}

    def search(self, query: str, limit: int, sources: Sequence[str] = (), added: Sequence[str] = ()) -> list[Evidence]:
        key = (query, limit, tuple(sources), tuple(added))
        if key not in self._found:
            options = {"sources": sources} if sources else {}
            self._found[key] = self.searcher.search(query, limit, added_words=added, **options)
        return self._found[key]

    def documents(self, *query: Any, **options: Any) -> list[str]:
        return list(dict.fromkeys(item.document_id for item in self.search(*query, **options)))
