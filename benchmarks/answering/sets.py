"""Questions with the passages they are asked over, and whether those hold the answer. Knows nothing about search."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMES = ("clapnq", "rgb", "jsquad", "mtrag_un")
GIVEN = 5  # passages to a question of rgb, as jsquad has them
POSITIVES = 2  # of them, where the answer is to be there
DRAWS = 3  # of passages for each question of rgb: with one, two points of accuracy are luck


@dataclass(frozen=True)
class Text:
    """A document of a corpus."""

    id: str
    title: str
    text: str
    markdown: bool = False


@dataclass(frozen=True)
class Item:
    """`passages` is None where the whole corpus is searched. `answers` are spellings, any of which will do; `support`
    are sentences, any of which answers; `gold` are the documents that hold the answer."""

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
    """The items of a set, and its corpus."""
    readers = {"clapnq": _clapnq, "rgb": _rgb, "jsquad": _jsquad, "mtrag_un": _mtrag}
    files = {"jsquad": "jsquad_answerability"}
    corpus = {
        row["_id"]: Text(row["_id"], row.get("title") or "", row["text"])
        for row in lines(folder / f"{name.removesuffix('_un')}.corpus.jsonl")
    }
    rows = lines(folder / f"{files.get(name, name)}.items.jsonl")
    return [item for row in rows for item in readers[name](row, corpus)], corpus


def _clapnq(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    given = tuple(corpus[name] for name in row["context_ids"])
    support = tuple(sentence for one in row["support"] for sentence in one)
    gold = frozenset(row["context_ids"] if row["answerable"] else ())
    yield Item(row["id"], "clapnq", "en", row["query"], given, row["answerable"], support=support, gold=gold)


def _rgb(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    """Each question with some passages that hold the answer, and with as many that do not."""
    for draw in range(DRAWS if row["lang"] == "zh" else 0):
        chance = random.Random(f"{row['id']} {draw}")
        positives = _some_positives(row["positive_ids"], chance)
        negatives = chance.sample(row["negative_ids"], len(row["negative_ids"]))
        size = min(GIVEN, len(negatives))
        for answerable, names in ((True, [*positives, *negatives][:size]), (False, negatives[:size])):
            yield Item(
                f"{row['id']} {draw}{'+' if answerable else '-'}",
                "rgb",
                "zh",
                row["query"],
                tuple(corpus[name] for name in names),
                answerable,
                tuple(flat(row["answers"])),
                gold=frozenset(positives) if answerable else frozenset(),
                kind=row["task"],
            )


def _some_positives(names: list[Any], chance: random.Random) -> list[str]:
    """For a question of two parts there is a list for each, and one of each is taken."""
    if isinstance(names[0], list):
        return [chance.choice(part) for part in names if part]
    return chance.sample(names, min(POSITIVES, len(names)))


def _jsquad(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    given = tuple(corpus[name] for name in row["context_ids"])
    answers = tuple(row["answers"])
    gold = frozenset(text.id for text in given if row["answerable"] and any(one in text.text for one in answers))
    yield Item(row["id"], "jsquad", "ja", row["query"], given, row["answerable"], answers, gold=gold)


def _mtrag(row: dict[str, Any], corpus: Corpus) -> Iterator[Item]:
    """The last turn as it was typed. What is partly answerable or underspecified is no clear case, and left out."""
    if row["answerability"] in ("ANSWERABLE", "UNANSWERABLE"):
        answerable, gold = row["answerability"] == "ANSWERABLE", frozenset(row["context_ids"])
        yield Item(row["id"], "mtrag_un", "en", row["query"].strip(), None, answerable, gold=gold)


def flat(answers: Sequence[Any]) -> Iterator[str]:
    for answer in answers:
        if isinstance(answer, str):
            yield answer
        else:
            yield from flat(answer)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
