"""Questions of the data sets with their passages, and whether these contain the answer."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMES = ("clapnq", "rgb", "jsquad", "mtrag_un")
RGB_PASSAGES = 5  # per question, as in jsquad
RGB_POSITIVES = 2  # passages with the answer, if the question is answerable
RGB_DRAWS = 3  # samples of passages per question: a single sample varies by two points of accuracy


@dataclass(frozen=True)
class Text:
    """A document of a corpus."""

    id: str
    title: str
    text: str
    markdown: bool = False


@dataclass(frozen=True)
class Item:
    """A question. `passages` is None if the whole corpus is searched.

    `answers` are alternative spellings of the answer, `support` alternative sentences that answer, `gold` the documents
    that contain the answer.
    """

    id: str
    set: str
    language: str
    question: str
    passages: tuple[Text, ...] | None
    answerable: bool
    answers: tuple[str, ...] = ()
    support: tuple[str, ...] = ()
    gold: frozenset[str] = frozenset()
    kind: str = ""


Corpus = Mapping[str, Text]


def load(folder: Path, name: str) -> tuple[list[Item], Corpus]:
    """Returns the items of a set and its corpus. Those of `benchmarks.answers.other_sources` contain their passages."""
    if name not in NAMES:
        return [_with_passages(row, name) for row in read_lines(folder / f"{name}.items.jsonl")], {}
    readers = {"clapnq": _clapnq, "rgb": _rgb, "jsquad": _jsquad, "mtrag_un": _mtrag}
    files = {"jsquad": "jsquad_answerability"}
    corpus = {
        row["_id"]: Text(row["_id"], row.get("title") or "", row["text"])
        for row in read_lines(folder / f"{name.removesuffix('_un')}.corpus.jsonl")
    }
    rows = read_lines(folder / f"{files.get(name, name)}.items.jsonl")
    return [item for row in rows for item in readers[name](row, corpus)], corpus


def _with_passages(row: dict[str, Any], name: str) -> Item:
    passages = tuple(Text(text["id"], text["title"], text["text"]) for text in row["passages"])
    gold = frozenset({row["gold"]} - {""})
    answers = tuple(row["answers"])
    return Item(row["id"], name, row["language"], row["query"], passages, row["answerable"], answers, gold=gold)


def _clapnq(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    passages = tuple(corpus[name] for name in row["context_ids"])
    support = tuple(sentence for group in row["support"] for sentence in group)
    gold = frozenset(row["context_ids"] if row["answerable"] else ())
    yield Item(row["id"], "clapnq", "en", row["query"], passages, row["answerable"], support=support, gold=gold)


def _rgb(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    """Each question, once with some passages that contain the answer and once with none of them."""
    for draw in range(RGB_DRAWS if row["lang"] == "zh" else 0):
        generator = random.Random(f"{row['id']} {draw}")
        positives = _sample_positives(row["positive_ids"], generator)
        negatives = generator.sample(row["negative_ids"], len(row["negative_ids"]))
        size = min(RGB_PASSAGES, len(negatives))
        for answerable, names in ((True, [*positives, *negatives][:size]), (False, negatives[:size])):
            yield Item(
                f"{row['id']} {draw}{'+' if answerable else '-'}",
                "rgb",
                "zh",
                row["query"],
                tuple(corpus[name] for name in names),
                answerable,
                tuple(_flatten(row["answers"])),
                gold=frozenset(positives) if answerable else frozenset(),
                kind=row["task"],
            )


def _sample_positives(names: list[Any], generator: random.Random) -> list[str]:
    """A question with two parts has a list of passages for each: one of each is taken."""
    if isinstance(names[0], list):
        return [generator.choice(part) for part in names if part]
    return generator.sample(names, min(RGB_POSITIVES, len(names)))


def _jsquad(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    passages = tuple(corpus[name] for name in row["context_ids"])
    answers = tuple(row["answers"])
    gold = frozenset(
        text.id for text in passages if row["answerable"] and any(answer in text.text for answer in answers)
    )
    yield Item(row["id"], "jsquad", "ja", row["query"], passages, row["answerable"], answers, gold=gold)


def _mtrag(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    """The last turn as typed. Partly answerable and underspecified questions are left out."""
    if row["answerability"] in ("ANSWERABLE", "UNANSWERABLE"):
        answerable, gold = row["answerability"] == "ANSWERABLE", frozenset(row["context_ids"])
        yield Item(row["id"], "mtrag_un", "en", row["query"].strip(), None, answerable, gold=gold)


def _flatten(answers: Sequence[Any]) -> Iterator[str]:
    for answer in answers:
        if isinstance(answer, str):
            yield answer
        else:
            yield from _flatten(answer)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
