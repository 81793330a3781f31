"""Which well-spelt questions does spelling correction change, and which misspelt ones does it correct?

    python -m benchmarks.rewrites.spelling DIRECTORY

The questions of the answer sets are corrected with the words of their own passages, those of mtrag_un with the words of
its corpus. Nearly all of them are well spelt, so that a change is most likely wrong: all changes are printed. Then the
misspelt queries of `queries.jsonl` are corrected with the words of the bundled handbook.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.answers.evidence import ItemStore
from benchmarks.answers.items import NAMES, Text, load
from benchmarks.retrieval.sets import data_folder, documents, handbook, options
from veracity.agents.spelling import Correction, correct_spelling
from veracity.embedding import make_embedder
from veracity.knowledge.vocabulary import VocabularySnapshot


def read_vocabulary(texts: Iterable[Text]) -> VocabularySnapshot:
    return VocabularySnapshot(ItemStore(texts, make_embedder("none")), None)  # type: ignore[arg-type]


def print_corrections(title: str, asked: Sequence[tuple[str, VocabularySnapshot]]) -> None:
    corrections: list[tuple[str, Correction]] = [
        (question, correct_spelling(question, [], vocabulary)) for question, vocabulary in asked
    ]
    changed = [(question, correction) for question, correction in corrections if correction.changes]
    print(f"{title}: {len(changed)} of {len(asked)} questions are changed")
    for question, correction in changed:
        print(f"  {correction.summary:40} {question[:80]}")


def print_set(folder: Path, name: str) -> None:
    items, corpus = load(folder, name)
    questions = {item.question: item for item in items}.values()  # rgb has several samples of passages per question
    whole = read_vocabulary(corpus.values()) if any(item.passages is None for item in questions) else None
    asked = [(item.question, whole or read_vocabulary(item.passages or ())) for item in questions]
    print_corrections(name, asked)


def print_misspelt() -> None:
    texts = [Text(item.id, item.title, item.text, item.markdown) for item in documents(handbook("en"))]
    vocabulary = read_vocabulary(texts)
    lines = Path(__file__).with_name("queries.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == "misspelt"]
    for language in ("en", "zh", "ja"):
        queries = [row["query"] for row in rows if row["language"] == language]
        print_corrections(f"misspelt, {language}", [(query, vocabulary) for query in queries])


def main() -> None:
    chosen = options(__doc__).parse_args()
    for name in NAMES:
        print_set(data_folder(chosen.directory), name)
    print_misspelt()


if __name__ == "__main__":
    main()
