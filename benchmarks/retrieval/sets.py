"""Retrieval sets on disk, measures, and the BM25 baseline."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import bm25s
import numpy as np
import rjieba
import Stemmer  # type: ignore[import-not-found, unused-ignore]

from veracity.engine import Veracity
from veracity.language import guess_language
from veracity.models import Document, IngestReport
from veracity.reading.extract import extract

# Sets whose corpus has another name, and sets that are not English.
CORPORA = {"rgb_zh": "rgb"}
LANGUAGES = {"rgb_zh": "zh", "jsquad": "ja"}
NAMES = ("scifact", "hotpotqa100", "mtrag", "cast22", "clapnq", "rgb_zh", "jsquad")


@dataclass(frozen=True)
class RetrievalSet:
    name: str
    language: str
    corpus: list[dict[str, str]]
    queries: list[dict[str, str]]
    relevant: dict[str, dict[str, float]]


def data_folder(argument: str | None) -> Path:
    named = argument or os.environ.get("VERACITY_DATA")
    if not named:
        raise SystemExit("Name the folder of the data, or set VERACITY_DATA to it.")
    return Path(named)


def options(about: str | None) -> argparse.ArgumentParser:
    """The command-line options of all benchmarks over these sets."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--queries", type=int, default=300, help="of each set, at most")
    parser.add_argument("--keep", type=Path, help="where to keep the workspaces, to measure again without embedding")
    return parser


def load(folder: Path, name: str, max_queries: int) -> RetrievalSet:
    relevant: dict[str, dict[str, float]] = defaultdict(dict)
    for row in _lines(folder / f"{name}.qrels.jsonl"):
        if row["score"] > 0:
            relevant[row["query_id"]][row["doc_id"]] = row["score"]
    queries = [row for row in _lines(folder / f"{name}.queries.jsonl") if row["_id"] in relevant]
    corpus = _lines(folder / f"{CORPORA.get(name, name)}.corpus.jsonl")
    return RetrievalSet(name, LANGUAGES.get(name, "en"), corpus, queries[:max_queries], dict(relevant))


def handbook(language: str) -> RetrievalSet:
    """The bundled handbook with the questions of `handbook.questions.jsonl`."""
    folder = Path(str(files("veracity") / "handbook"))
    corpus = [
        {"_id": str(path.relative_to(folder)), "path": str(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    questions = _lines(Path(__file__).with_name("handbook.questions.jsonl"))
    questions = [row for row in questions if guess_language(row["question"]) == language]
    queries = [{"_id": str(place), "text": row["question"]} for place, row in enumerate(questions)]
    relevant = {
        str(place): dict.fromkeys([row["document"], *row.get("also", [])], 1.0) for place, row in enumerate(questions)
    }
    return RetrievalSet(f"handbook_{language}", language, corpus, queries, relevant)


def documents(data: RetrievalSet) -> Iterator[Document]:
    for row in data.corpus:
        if "path" in row:
            content = Path(row["path"]).read_bytes()
            reading = extract(content, row["path"])
            yield Document(id=row["_id"], text=reading.text, title=reading.title, markdown=reading.markdown)
        else:
            yield Document(id=row["_id"], title=row.get("title") or "", text=row["text"] or ".")


def workspace_of(data: RetrievalSet, folder: Path) -> tuple[Veracity, IngestReport | None]:
    """A workspace with the documents, and the ingest report unless it existed already."""
    engine = Veracity(folder / data.name)
    if (folder / data.name / "complete").exists():
        return engine, None
    report = engine.add(documents(data))
    (folder / data.name / "complete").touch()
    return engine, report


def ndcg(ranked: Sequence[str], relevant: dict[str, float], k: int = 10) -> float:
    gained = sum(relevant.get(name, 0) / math.log2(place + 2) for place, name in enumerate(ranked[:k]))
    best = sorted(relevant.values(), reverse=True)[:k]
    return gained / sum(value / math.log2(place + 2) for place, value in enumerate(best))


def recall(ranked: Sequence[str], relevant: dict[str, float], k: int = 10) -> float:
    return len(set(ranked[:k]) & relevant.keys()) / len(relevant)


def bm25_rankings(data: RetrievalSet) -> list[list[str]]:
    """BM25 with a common setup: stemmed English words, segmented Chinese, Japanese character bigrams."""
    index = bm25s.BM25(k1=1.5, b=0.75)
    texts = [f"{row['title']}\n{row['text']}" if row.get("title") else row["text"] for row in data.corpus]
    index.index(_tokens(texts, data.language), show_progress=False)
    names = [row["_id"] for row in data.corpus]
    ranked = []
    for words in _tokens([row["text"] for row in data.queries], data.language):
        known = [word for word in words if word in index.vocab_dict]
        scores = index.get_scores(known) if known else np.zeros(len(names))
        ranked.append([names[place] for place in np.argsort(-scores, kind="stable")[:10] if scores[place] > 0])
    return ranked


def _tokens(texts: list[str], language: str) -> list[list[str]]:
    if language == "en":
        stemmer = Stemmer.Stemmer("english")
        found: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return found
    if language == "zh":
        return [[word for word in rjieba.cut(text.lower()) if re.search(r"\w", word)] for text in texts]
    return [_pairs(text) for text in texts]


def _pairs(text: str) -> list[str]:
    found = []
    for run in re.findall(
        "[A-Za-z0-9]+|[\u3040-\u30ff\u3400-\u9fff々ー]+", unicodedata.normalize("NFKC", text).lower()
    ):
        found += [run] if run.isascii() or len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
    return found


def _lines(path: Path) -> list[dict]:  # type: ignore[type-arg]
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
