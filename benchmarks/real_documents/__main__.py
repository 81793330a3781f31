"""Does the product without a model answer questions over real documents, and hold or refuse the rest?

    python -m benchmarks.real_documents CLONES [--set first|second] [--part dev|final] [--keep FOLDER] [--list]

CLONES contains a clone of each repository in the set's `sources.json`, named `OWNER+NAME`; the documents are read at
the commits given there and are not part of this project. Questions were written from the documents alone, before the
product was tuned on them. The first set has 80 questions per language: 20 have no answer in the documents, and a third
is marked `final` and was kept aside while tuning. The second has 120, 30 without an answer and half `final`, over other
documents.

An answer is "right" if it contains one of the answer strings, compared without case, punctuation and spaces. `--list`
prints each question of the development part with its outcome.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.answers.asking import Asked, ask
from benchmarks.answers.outcome import bare
from benchmarks.answers.releases import HEADINGS, Release, format_releases
from benchmarks.real_documents.documents import HERE, extract, sources
from veracity import Veracity
from veracity.language.citations import without_marks
from veracity.settings import Settings

LANGUAGES = ("en", "zh", "ja")
SETS = ("first", "second")
Row = dict[str, Any]


def load_questions(part: str, language: str, collection: str = "first") -> list[Row]:
    lines = (HERE / collection / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = (json.loads(line) for line in lines)
    return [row for row in rows if row["part"] == part and row["language"] == language]


@contextmanager
def library(
    clones: Path, language: str, keep: Path | None, settings: Settings | None = None, collection: str = "first"
) -> Iterator[Veracity]:
    """An engine over the documents of a language. A kept workspace is only brought up to date."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = (keep or Path(temporary)) / language
        documents = folder / "documents"
        if not documents.exists():
            extract(clones, collection, language, documents)
        with Veracity(folder / "workspace", settings=settings) as engine:
            engine.ingest([documents / source["name"] for source in sources(collection)[language]])
            yield engine


def is_right(row: Row, asked: Asked) -> bool:
    text = bare(without_marks(asked.draft.text))
    return not asked.abstains and any(bare(answer) in text for answer in row["answers"])


def measure(row: Row, asked: Asked) -> Release:
    answerable = row["expect"] == "answer"
    return Release(answerable, not asked.abstains, asked.is_released, is_right(row, asked), asked.seconds)


def print_outcome(row: Row, asked: Asked, release: Release) -> None:
    verdict = "abstains" if asked.abstains else "RIGHT" if release.is_good else "WRONG"
    state = "" if asked.abstains else "released" if release.released else "held"
    score = "" if asked.draft.score is None else f"{asked.draft.score:.2f}"
    print(f"\n{row['id']} {row['expect']}: {verdict} {state} {score}\n  Q {row['question']}")
    if row["answers"]:
        print(f"  gold {row['answers']} in {row['document']}: {row['evidence']}")
    print("  A " + asked.draft.text.replace("\n", "\n    "))
    for number, item in enumerate(asked.draft.evidence, 1):
        found = any(bare(answer) in bare(item.text) for answer in row["answers"])
        print(f"    {number} {item.metadata.relevance_score:.2f} {'*' if found else ' '} {item.location[-60:]}")


def print_table(rows: Sequence[tuple[str, list[Release]]]) -> None:
    print(f"\n  {'':10}", *(f"{heading:>10}" for heading in HEADINGS))
    for title, releases in [*rows, ("all", [release for _, group in rows for release in group])]:
        print(f"  {title:10}", *(f"{cell:>10}" for cell in format_releases(releases)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--keep", type=Path, help="keeps the workspaces here; another folder for each set")
    parser.add_argument("--set", choices=SETS, default="first")
    parser.add_argument("--part", choices=("dev", "final"), default="dev")
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    table = []
    run = uuid4().hex  # other users each time, because what was asked before in a kept workspace changes the search
    for language in chosen.languages:
        releases = []
        with library(chosen.clones, language, chosen.keep, collection=chosen.set) as engine:
            for row in load_questions(chosen.part, language, chosen.set):
                asked = ask(engine, row["question"], f"user-{row['id']}-{run}")
                releases.append(measure(row, asked))
                if chosen.list and chosen.part == "dev":
                    print_outcome(row, asked, releases[-1])
        table.append((language, releases))
    print_table(table)


if __name__ == "__main__":
    main()
