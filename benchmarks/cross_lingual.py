"""Does a question in one language find the passage in documents of another?

    python -m benchmarks.cross_lingual CLONES [--keep FOLDER] [--questions 300]

CLONES contains a clone of each repository below, named `OWNER+NAME`, at its newest commit. None of them was used to
train the bundled model.

- Vue's guide in English, Chinese and Japanese. Its headings have the same anchors in all languages. The question is the
  title of a page with one of its headings; the passage that is wanted contains that section in the other language.
- XQuAD: questions that people wrote in English and translated to Chinese; the wanted document is their paragraph.

Recall@5 is the share of questions whose passage is among the five best of the product's own search, with the 95 %
bootstrap interval. "by words" is the same search without vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veracity.engine import Veracity
from veracity.models import Document, Evidence
from veracity.retrieval import Searcher, make_searcher
from veracity.settings import RetrievalSettings

VUE = {"en": "vuejs+docs", "zh": "vuejs-translations+docs-zh-cn", "ja": "vuejs-translations+docs-ja"}
XQUAD = "deepmind+xquad"
HEADING = re.compile(r"^(#{1,4}) (.+?) \{#([\w-]+)\}\s*$", re.MULTILINE)
DIRECTIONS = (("zh", "en"), ("ja", "en"), ("en", "zh"), ("en", "ja"), ("ja", "zh"), ("zh", "ja"))
TOP = 5


@dataclass(frozen=True)
class Question:
    text: str
    is_found: Callable[[Evidence], bool]


@dataclass(frozen=True)
class Task:
    name: str
    documents: list[Document]
    questions: list[Question]


def read(clones: Path, repository: str, path: str) -> str:
    folder = clones / repository
    folder = folder / "repo" if (folder / "repo").exists() else folder
    shown = subprocess.run(["git", "-C", str(folder), "show", f"HEAD:{path}"], check=True, capture_output=True)
    return shown.stdout.decode()


def vue_pages(clones: Path, language: str) -> dict[str, str]:
    listed = read(clones, VUE[language], "src/guide/").splitlines()[2:]
    folders = [f"src/guide/{name}" for name in listed if name.endswith("/")]
    paths = [f"src/guide/{name}" for name in listed if name.endswith(".md")]
    for folder in folders:
        paths += [
            folder + name for name in read(clones, VUE[language], folder).splitlines()[2:] if name.endswith(".md")
        ]
    return {path: read(clones, VUE[language], path) for path in paths}


def headings(page: str) -> dict[str, str]:
    """The headings by anchor; the first one is the title of the page."""
    return {anchor: re.sub(r"[`*\\]|<[^>]+>", "", text).strip() for _, text, anchor in HEADING.findall(page)}


def without_anchors(page: str) -> str:
    """Anchors are English in all languages, and would be found by their words."""
    return HEADING.sub(r"\1 \2", page)


def vue_tasks(clones: Path) -> Iterator[Task]:
    pages = {language: vue_pages(clones, language) for language in VUE}
    for asked, written in DIRECTIONS:
        documents = [
            Document(
                id=path, text=without_anchors(text), title=next(iter(headings(text).values()), path), markdown=True
            )
            for path, text in pages[written].items()
        ]
        yield Task(f"Vue {asked} → {written}", documents, list(_vue_questions(pages[asked], pages[written])))


def _vue_questions(asked: dict[str, str], written: dict[str, str]) -> Iterator[Question]:
    for path in sorted(asked.keys() & written.keys()):
        questions, targets = headings(asked[path]), headings(written[path])
        title, *anchors = questions
        for anchor in anchors:
            if anchor in targets:
                yield Question(f"{questions[title]}: {questions[anchor]}", _in_section(path, targets[anchor]))


def _in_section(path: str, heading: str) -> Callable[[Evidence], bool]:
    def is_found(evidence: Evidence) -> bool:
        text = "\n".join((*evidence.headings, evidence.text)).replace("`", "").replace("*", "")
        return evidence.document_id == path and heading in text

    return is_found


def xquad_tasks(clones: Path) -> Iterator[Task]:
    sets = {language: list(_xquad_rows(clones, language)) for language in ("en", "zh")}
    for asked, written in (("zh", "en"), ("en", "zh")):
        documents = {id_: Document(id=id_, text=paragraph) for id_, paragraph, _ in sets[written]}
        questions = [Question(text, _is_document(id_)) for id_, _, text in sets[asked]]
        yield Task(f"XQuAD {asked} → {written}", list(documents.values()), questions)


def _xquad_rows(clones: Path, language: str) -> Iterator[tuple[str, str, str]]:
    articles = json.loads(read(clones, XQUAD, f"xquad.{language}.json"))["data"]
    for number, article in enumerate(articles):
        for place, paragraph in enumerate(article["paragraphs"]):
            for question in paragraph["qas"]:
                yield f"{number}-{place}", paragraph["context"], question["question"]


def _is_document(id_: str) -> Callable[[Evidence], bool]:
    return lambda evidence: evidence.document_id == id_


def measure(task: Task, folder: Path, count: int) -> str:
    questions = random.Random(1).sample(task.questions, min(count, len(task.questions)))
    root = folder / re.sub(r"\W+", "_", task.name)
    with Veracity(root) as engine:
        if not (root / "complete").exists():
            engine.add(task.documents)
            (root / "complete").touch()
        store, embedder = engine._parts.library.store, engine._parts.embedder
        words = make_searcher(store, embedder, RetrievalSettings(vector_weight=0.0))
        found = [_found(searcher, questions) for searcher in (words, engine._parts.searcher)]
    cells = " | ".join(f"{np.mean(hits):.3f} ({_interval(hits)})" for hits in found)
    return f"| {task.name} | {len(questions)} | {cells} |"


def _found(searcher: Searcher, questions: Sequence[Question]) -> list[bool]:
    return [any(map(question.is_found, searcher.search(question.text, TOP))) for question in questions]


def _interval(hits: Sequence[bool]) -> str:
    generator = np.random.default_rng(1)
    means = np.mean(generator.choice(np.array(hits, float), (2000, len(hits))), axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{low:.3f}–{high:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--keep", type=Path, help="where to keep the workspaces, to measure again without embedding")
    parser.add_argument("--questions", type=int, default=300, help="of each task, at most")
    arguments = parser.parse_args()
    print("| question → documents | questions | recall@5 by words | recall@5 |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for task in (*xquad_tasks(arguments.clones), *vue_tasks(arguments.clones)):
            print(measure(task, arguments.keep or Path(scratch), arguments.questions), flush=True)


if __name__ == "__main__":
    main()
