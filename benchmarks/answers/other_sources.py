"""Makes answerability sets from public sources on which nothing was tuned or trained.

    python -m benchmarks.answers.other_sources CLONES DIRECTORY [--sets xquad_en jaquad_cut …]

CLONES contains clones of the repositories below, named `OWNER+NAME`. DIRECTORY gets a file `NAME.items.jsonl` for each
set, which `benchmarks.answers` and `benchmarks.answers.calibration` read.

Each question has the ten paragraphs that the product finds for it among several hundred. In SQuAD 2.0 people wrote the
questions without an answer. The other sets ask each question again without an answer: over the next ten paragraphs that
do not contain it or, in the sets with `_cut`, over the same paragraphs without the sentences that contain it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.answers.evidence import CachingEmbedder, ItemStore
from benchmarks.answers.items import Text
from benchmarks.cross_lingual import read
from veracity.embedding import make_embedder
from veracity.language import normalized
from veracity.language.layout import lay_out, unit_text
from veracity.retrieval import Searcher, make_searcher
from veracity.settings import RetrievalSettings

MAX_PARAGRAPHS = 700
MAX_PER_PARAGRAPH = 2
QUESTIONS = 150  # of each set; SQuAD 2.0: with an answer and without
PASSAGES = 10
SEARCHED = 60
MAX_WITH_ANSWER = 12  # a string in more paragraphs is no sign of an answer


@dataclass(frozen=True)
class Source:
    language: str
    repository: str
    files: tuple[str, ...]
    has_titles: bool = True


SOURCES = {
    "squad2": Source("en", "chrischute+squad", ("data/dev-v2.0.json",)),  # a half of its development questions
    "xquad_en": Source("en", "deepmind+xquad", ("xquad.en.json",)),
    "xquad_zh": Source("zh", "deepmind+xquad", ("xquad.zh.json",), has_titles=False),  # they are English
    "cmrc": Source("zh", "ymcui+cmrc2018", ("squad-style-data/cmrc2018_dev.json",)),
    "jaquad": Source("ja", "SkelterLabsInc+JaQuAD", tuple(f"data/dev/jaquad_dev_{at:04}.json" for at in range(4))),
}
WITH_TWINS = tuple(name for name in SOURCES if name != "squad2")
OTHER_NAMES = ("squad2", *WITH_TWINS, *(f"{name}_cut" for name in WITH_TWINS))


@dataclass(frozen=True)
class Question:
    id: str
    text: str
    paragraph: str
    answers: tuple[str, ...]  # none: people say that the paragraph does not answer it

    def is_answered_in(self, text: str) -> bool:
        letters = _letters(text)
        return any(_letters(answer) in letters for answer in self.answers if _letters(answer))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalized(text).casefold()))


def read_source(clones: Path, source: Source) -> tuple[list[Text], list[Question]]:
    """The paragraphs of the first articles of a shuffled list, and their questions, shuffled."""
    articles = [
        article for file in source.files for article in json.loads(read(clones, source.repository, file))["data"]
    ]
    generator = random.Random(7)
    generator.shuffle(articles)
    texts: list[Text] = []
    questions: list[Question] = []
    for article in articles:
        if len(texts) >= MAX_PARAGRAPHS:
            break
        title = article.get("title", "").replace("_", " ") if source.has_titles else ""
        for paragraph in article["paragraphs"]:
            texts.append(Text(str(len(texts)), title, paragraph["context"]))
            for row in paragraph["qas"]:
                answers = () if row.get("is_impossible") else tuple(dict.fromkeys(a["text"] for a in row["answers"]))
                questions.append(Question(str(row["id"]), row["question"], texts[-1].id, answers))
    generator.shuffle(questions)
    return texts, questions


def make_items(
    name: str, texts: Sequence[Text], questions: Sequence[Question], searcher: Searcher
) -> Iterator[dict[str, Any]]:
    by_id = {text.id: text for text in texts}
    made, of_paragraph = Counter[bool](), Counter[str]()
    for question in questions:
        answerable = bool(question.answers)
        if made[answerable] == QUESTIONS or of_paragraph[question.paragraph] == MAX_PER_PARAGRAPH:
            continue
        hits = searcher.search(question.text, SEARCHED)
        found = [by_id[id_] for id_ in dict.fromkeys(hit.document_id for hit in hits)]
        top = found[:PASSAGES]
        if question.paragraph not in {text.id for text in top}:
            continue
        versions = [(answerable, top)]
        if name != "squad2":
            twin = _without_sentences(question, top) if name.endswith("_cut") else _others(question, found)
            if len(twin) < PASSAGES - 3:
                continue
            versions.append((False, twin))
        made[answerable] += 1
        of_paragraph[question.paragraph] += 1
        for is_answered, passages in versions:
            yield _row(question, is_answered, passages)


def _others(question: Question, found: Sequence[Text]) -> list[Text]:
    """The next best paragraphs that do not contain an answer; none if it is in many."""
    if sum(question.is_answered_in(text.text) for text in found) > MAX_WITH_ANSWER:
        return []
    rest = (text for text in found if text.id != question.paragraph and not question.is_answered_in(text.text))
    return list(rest)[:PASSAGES]


def _without_sentences(question: Question, top: Sequence[Text]) -> list[Text]:
    """The paragraphs without the sentences that contain an answer."""
    cut = [replace(text, text=_cut(question, text)) if question.is_answered_in(text.text) else text for text in top]
    return [text for text in cut if text.text and not question.is_answered_in(text.text)]


def _cut(question: Question, text: Text) -> str:
    units = lay_out(text.text)
    sentences = (unit_text(unit, units) for unit in units)
    return " ".join(sentence for sentence in sentences if not question.is_answered_in(sentence))


def _row(question: Question, answerable: bool, passages: Sequence[Text]) -> dict[str, Any]:
    return {
        "id": f"{question.id}{'+' if answerable else '-'}",
        "query": question.text,
        "answerable": answerable,
        "answers": question.answers,
        "gold": question.paragraph if answerable else "",
        "passages": [{"id": text.id, "title": text.title, "text": text.text} for text in passages],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sets", nargs="+", choices=OTHER_NAMES, default=OTHER_NAMES)
    chosen = parser.parse_args()
    chosen.directory.mkdir(parents=True, exist_ok=True)
    embedder = CachingEmbedder(make_embedder("bundled"), chosen.directory / "vectors.pickle")
    for name in chosen.sets:
        source = SOURCES[name.removesuffix("_cut")]
        texts, questions = read_source(chosen.clones, source)
        searcher = make_searcher(ItemStore(texts, embedder), embedder, RetrievalSettings())
        rows = [row | {"language": source.language} for row in make_items(name, texts, questions, searcher)]
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (chosen.directory / f"{name}.items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{name}: {len(texts)} paragraphs, {len(rows)} questions", flush=True)
        embedder.save()


if __name__ == "__main__":
    main()
