"""The training text in a data folder, as the earlier stages wrote it.

- par.jsonl.xz: [language, English paragraph, its translation] (training.paragraphs)
- mono.jsonl.xz: text in one language (training.paragraphs)
- general.jsonl.xz, english.jsonl.xz: everyday sentences, words and definitions (training.words)
- windows.jsonl.xz: windows of documents with their units (training.windows)
- gen.jsonl, or gen.jsonl.gz: questions about windows (training.questions)
- near_written.jsonl: other windows that search finds for written and generated questions
  (training.neighbours)
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from training.sources import load_sources

CERTAIN_MARGIN = 0.6  # of yes over no: questions that the language model itself answers with yes
STATEMENTS = ("prose", "item", "row")  # kinds of units that can answer a question


class Pair(NamedTuple):
    language: str
    english: str
    other: str


class Unit(NamedTuple):
    kind: str
    text: str
    lead: Any


@dataclass(frozen=True)
class Window:
    document: str
    language: str
    use: str  # "train", "held", or "excluded" where its licence forbids it
    head: str
    units: tuple[Unit, ...]

    @property
    def text(self) -> str:
        return " ".join(([self.head] if self.head else []) + [unit.text for unit in self.units])


class Question(NamedTuple):
    text: str
    language: str
    unit: int  # that answers it; -1: none should
    margin: float  # log-probability of yes minus that of no, when the language model was asked


@dataclass(frozen=True)
class Generated:
    window: int
    questions: tuple[Question, ...]


class QuestionPair(NamedTuple):
    question: str
    text: str
    window: int


@dataclass
class Corpus:
    """What the embedder learns from."""

    pairs: list[Pair]
    held: list[Pair]
    monolingual: list[str]
    questions: list[QuestionPair] = field(default_factory=list)
    english: list[str] = field(default_factory=list)
    crops: list[tuple[str, ...]] = field(default_factory=list)  # the units of Chinese and Japanese windows
    headlines: dict[str, int] = field(default_factory=dict)  # their numbers, below those of windows

    def limit(self, count: int) -> None:
        """For a quick trial."""
        self.pairs, self.held = self.pairs[:count], self.held[: max(20, count // 20)]
        self.monolingual, self.questions = self.monolingual[:count], self.questions[:count]
        self.english, self.crops = self.english[:count], self.crops[:count]


def read_lines(file: Path) -> Iterator[Any]:
    """The JSON lines of a file, compressed or not. A last line that was cut off is left out."""
    openers: dict[str, Any] = {".xz": lzma.open, ".gz": gzip.open}
    with openers.get(file.suffix, open)(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                return


def read_windows(folder: Path) -> list[Window]:
    """In the order of the file, which questions refer to."""
    sources = load_sources()
    windows = []
    for row in read_lines(folder / "windows.jsonl.xz"):
        use = "excluded" if sources.excludes(row["doc"]) else row["use"]
        units = tuple(Unit(*unit) for unit in row["units"])
        windows.append(Window(row["doc"], row["lang"], use, row["head"], units))
    return windows


def read_questions(folder: Path) -> list[Generated]:
    files = [folder / "gen.jsonl", folder / "gen.jsonl.gz"]
    file = next((file for file in files if file.exists()), None)
    if file is None:
        raise SystemExit(f"{folder} has no gen.jsonl. `python -m training.questions --help` says how to make it.")
    return [Generated(row["w"], tuple(Question(*question) for question in row["q"])) for row in read_lines(file)]


def read_written_neighbours(folder: Path, asked: int) -> dict[int, list[int]]:
    """Of each written and generated question, by its number. Exits where the file is about another number of them."""
    file = folder / "near_written.jsonl"
    if not file.exists():
        raise SystemExit(
            f"{folder} has no near_written.jsonl. `python -m training.neighbours --help` says how to make it."
        )
    near: dict[int, list[int]] = dict(read_lines(file))
    if len(near) != asked:
        raise SystemExit(f"{file} is about {len(near)} questions, not {asked}. Run `training.neighbours` again.")
    return near


def load_corpus(folder: Path, seed: int) -> Corpus:
    windows = read_windows(folder)
    trained = [window for window in windows if window.use == "train"]
    monolingual = [window.text for window in trained]
    if (folder / "mono.jsonl.xz").exists():
        monolingual += read_lines(folder / "mono.jsonl.xz")
    pairs = [Pair(*row) for row in read_lines(folder / "par.jsonl.xz")]
    random.Random(seed).shuffle(pairs)
    held = min(1500, len(pairs) // 20)
    generated = [row for row in read_questions(folder) if windows[row.window].use == "train"]
    corpus = Corpus(
        pairs[held:] + [Pair(*row) for row in _optional_lines(folder / "general.jsonl.xz")],
        pairs[:held],
        monolingual,
        _question_pairs(generated, windows),
        _english_texts(generated, trained) + list(_optional_lines(folder / "english.jsonl.xz")),
        _crops(trained),
    )
    for row in _optional_lines(folder / "articles.jsonl.xz"):
        add_article(corpus, *row)
    return corpus


def add_article(corpus: Corpus, language: str, title: str, sentences: list[str]) -> None:
    """A headline is searched for like a question: its passage should be the nearest."""
    if language == "en":
        corpus.english += [title, " ".join(sentences), *sentences[:2]]
        return
    text = "".join(sentences)
    corpus.monolingual.append(text)
    corpus.crops.append(tuple(sentences))
    if title:
        # Passages of one article have the same number: they are no contrast to each other.
        number = corpus.headlines.setdefault(title, -1 - len(corpus.headlines))
        corpus.questions.append(QuestionPair(title, text, number))


def _optional_lines(file: Path) -> Iterator[Any]:
    return read_lines(file) if file.exists() else iter(())


def _crops(trained: list[Window]) -> list[tuple[str, ...]]:
    units = (tuple(unit.text for unit in window.units) for window in trained if window.language != "en")
    return [texts for texts in units if len(texts) > 2]


def _question_pairs(generated: list[Generated], windows: list[Window]) -> list[QuestionPair]:
    """Questions with the window that answers them. MiniLM has learned English ones already."""
    return [
        QuestionPair(question.text, windows[row.window].text, row.window)
        for row in generated
        for question in row.questions
        if question.unit >= 0
        and question.margin > CERTAIN_MARGIN
        and 4 <= len(question.text) <= 160
        and not question.language == windows[row.window].language == "en"
    ]


def _english_texts(generated: list[Generated], trained: list[Window]) -> list[str]:
    """Texts whose vectors should stay as MiniLM's: questions, windows and their longer units."""
    texts = [question.text for row in generated for question in row.questions if question.language == "en"]
    for window in trained:
        if window.language == "en":
            texts += [window.text, *(unit.text for unit in window.units if len(unit.text) > 20)]
    return texts
