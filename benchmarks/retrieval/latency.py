"""The latency of a search compared with LanceDB's own hybrid query, and how it grows with the number of passages.

    python -m benchmarks.retrieval.latency [--passages 100000]

The passages are synthetic: words with a natural frequency distribution, vectors around 300 centres. "LanceDB" is its
own hybrid query with as many candidates, its own reranking and the same columns. Both get the vector of the question.
Times are medians of the same questions, asked in turn; "memory" is that of a fresh idle process that has opened the
workspace with the bundled embedder and answered 50 questions.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veracity.embedding.bundled import BundledEmbedder
from veracity.engine import Veracity
from veracity.knowledge.rows import PASSAGE_COLUMNS
from veracity.knowledge.store import Store
from veracity.retrieval.hybrid import MIN_CANDIDATES, HybridSearch
from veracity.retrieval.sources import GraphSource
from veracity.settings import RetrievalSettings

DIMENSIONS = 384
QUESTIONS = 200
BATCH = 10_000
random = np.random.default_rng(7)
CENTRES = random.standard_normal((300, DIMENSIONS)).astype(np.float32)
LETTERS = str.maketrans("0123456789", "abcdefghij")  # words with digits would be read as numbers
VOCABULARY = np.array([f"w{number}".translate(LETTERS) for number in range(60_000)])
FREQUENCY = np.cumsum(1 / np.arange(10, 60_010))
FREQUENCY /= FREQUENCY[-1]


class FixedEmbedder:
    """Returns the vector that was set."""

    name = BundledEmbedder.name
    dimensions = DIMENSIONS
    vector: Any = None

    def covers(self, text: str) -> bool:
        return True

    def embed_passages(self, texts: Any) -> Any:
        return _vectors(len(texts))

    def embed_query(self, text: str) -> Any:
        return self.vector


def fill(store: Store, count: int) -> None:
    for start in range(0, count, BATCH):
        store.replace(_table(range(start, min(count, start + BATCH)), store.schema), [])
    started = time.perf_counter()
    store.maintain()
    print(f"{count:,} passages: indexed in {time.perf_counter() - started:.0f} seconds")


def _table(numbers: range, like: pa.Schema) -> pa.Table:
    vectors = _vectors(len(numbers))
    words = [_words(100) for _ in numbers]
    texts = [" ".join(some) for some in words]
    columns: dict[str, Any] = {name: pa.nulls(len(numbers), like.field(name).type) for name in like.names}
    columns |= {
        "id": [f"d{number}.p" for number in numbers],
        "kind": ["passage"] * len(numbers),
        "document_id": [f"d{number}" for number in numbers],
        "title": [f"Document {number}" for number in numbers],
        "location": [f"/folder/document-{number}.md" for number in numbers],
        "language": ["en"] * len(numbers),
        "headings": [["Heading", "Subheading"]] * len(numbers),
        "start": [0] * len(numbers),
        "end": [len(text) for text in texts],
        "text": [_in_sentences(some) for some in words],
        "words": texts,
        "entities": [" ".join(f"e{word}" for word in text.split()[:8]) for text in texts],
        "metadata": ["{}"] * len(numbers),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS),
    }
    return pa.table({name: pa.array(columns[name], like.field(name).type) for name in like.names}, schema=like)


def _in_sentences(words: list[str]) -> str:
    return " ".join(f"{' '.join(words[start : start + 12])}." for start in range(0, len(words), 12))


def _vectors(count: int) -> NDArray[np.float32]:
    drawn = CENTRES[random.integers(0, len(CENTRES), count)] + random.standard_normal((count, DIMENSIONS))
    vectors: NDArray[np.float32] = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return vectors


def _words(count: int) -> list[str]:
    words: list[str] = VOCABULARY[np.searchsorted(FREQUENCY, random.random(count))].tolist()
    return words


def compare(store: Store) -> tuple[float, float, float]:
    """Milliseconds of LanceDB, of our hybrid search, and of that with the graph source."""
    table: Any = store._table
    embedder = FixedEmbedder()
    hybrid = HybridSearch(store, embedder, RetrievalSettings().vector_weight)
    graph = GraphSource(hybrid, store)

    def lance(question: str) -> None:
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="words")
        query.vector(embedder.vector).text(question).distance_type("dot").limit(MIN_CANDIDATES).select(
            PASSAGE_COLUMNS
        ).to_arrow()

    ways: list[Callable[[str], Any]] = [
        lance,
        lambda question: hybrid.search(question, 10),
        lambda question: graph.search(question + " ", 10),
    ]
    times: list[list[float]] = [[] for _ in ways]
    for number in range(QUESTIONS):
        question, embedder.vector = " ".join(_words(6)), _vectors(1)[0]
        for way, taken in zip(ways, times, strict=True):
            started = time.perf_counter()
            way(question)
            if number >= 20:
                taken.append(time.perf_counter() - started)
    lance_ms, hybrid_ms, graph_ms = (statistics.median(taken) * 1000 for taken in times)
    return lance_ms, hybrid_ms, graph_ms


def searching_memory(folder: Path) -> int:
    """Megabytes of a process that has searched."""
    command = [sys.executable, "-m", __spec__.name, "--memory", str(folder)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _search_and_print_memory(folder: str) -> None:
    with Veracity(folder) as engine:
        for number in range(50):
            engine.search(f"What is w{number} and where does it come from?")
        status = Path("/proc/self/status").read_text(encoding="ascii")
        print(next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) // 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        _search_and_print_memory(arguments.memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for count in (1_000, arguments.passages):
            workspace = Path(folder) / str(count)
            workspace.mkdir()
            with Veracity(workspace) as engine:
                store = engine._parts.library.store
                fill(store, count)
                rows.append((count, *compare(store), searching_memory(workspace)))
    print(f"\n{'passages':>9} {'LanceDB ms':>11} {'ours ms':>8} {'ratio':>6} {'with graph ms':>14} {'memory MB':>10}")
    for count, lance, ours, graph, memory in rows:
        print(f"{count:9,} {lance:11.1f} {ours:8.1f} {ours / lance:6.2f} {graph:14.1f} {memory:10}")
    print(f"ours at {rows[1][0]:,} against ours at {rows[0][0]:,}: {rows[1][2] / rows[0][2]:.2f}")


if __name__ == "__main__":
    main()
