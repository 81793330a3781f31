"""The batches that the embedder is trained with, twelve in a round."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from training.batches import Arrays, Item, batches, collate
from training.tokens import MASK, SEPARATOR, START, enclose

ROUND = (
    "crops",
    "english",
    "pairs",
    "masked text",
    "pairs",
    "crops",
    "pairs",
    "masked pairs",
    "questions",
    "english",
    "crops",
    "english",
)
CROP_STAYS = 0.8  # how often the unit that is searched for stays in its window
MOST_DELETED = 0.6  # of the tokens of that unit, so that a question with other words is found too
NEIGHBOURS = 8  # windows of a document come one after the other: they are the hardest contrast
CONTRAST_FACTOR = 6  # more texts in a batch are more contrast
WINDOW = 256  # tokens
MASKED_SHARE = 0.18
FIRST_MASKABLE = 110  # tokens below are special or unused
FIRST_WORD = 1000  # random replacements are real tokens


@dataclass(frozen=True)
class TokenizedCorpus:
    english_ids: list[list[int]]
    other_ids: list[list[int]]
    monolingual_ids: list[list[int]]
    pair_english: list[Item]
    pair_other: list[Item]
    held_english: list[Item]
    held_other: list[Item]
    english: list[Item]
    questions: list[Item]
    windows: list[Item]
    question_windows: list[int]  # the number of the window, for each question
    crops: list[list[list[int]]]  # the units of windows
    vocabulary_size: int


@dataclass(frozen=True)
class Batch:
    kind: str  # "pairs", "questions", "crops", "english" or "masked"
    first: Arrays
    second: Arrays | None = None
    rows: list[int] = field(default_factory=list)
    places: np.ndarray | None = None  # of the masked tokens in the flattened batch
    labels: np.ndarray | None = None


class BatchSource:
    """Endless. Every kind starts over, in another order, when its texts are used up."""

    def __init__(self, corpus: TokenizedCorpus, tokens: int, seed: int) -> None:
        self.corpus = corpus
        self.tokens = tokens
        self.chance = random.Random(seed)
        self.masking = np.random.default_rng(seed)
        self.waiting: dict[str, list[list[int]]] = {}
        self.masked_waiting: dict[str, list[list[Item]]] = {}

    def __iter__(self) -> Iterator[Batch]:
        absent = {
            name for name, texts in (("questions", self.corpus.questions), ("crops", self.corpus.crops)) if not texts
        }
        kinds = [kind for kind in ROUND if kind not in absent]
        while True:
            for kind in kinds:
                if kind == "crops":
                    yield self._cropped()
                else:
                    yield self._masked(kind) if kind.startswith("masked") else self._plain(kind)

    def _plain(self, kind: str) -> Batch:
        first, second, tokens = {
            "pairs": (self.corpus.pair_other, self.corpus.pair_english, self.tokens),
            "questions": (self.corpus.questions, self.corpus.windows, CONTRAST_FACTOR * self.tokens),
            "english": (self.corpus.english, None, self.tokens),
        }[kind]
        if not self.waiting.get(kind):
            longer = self.corpus.windows if kind == "questions" else first
            self.waiting[kind] = batches([len(item.ids) for item in longer], tokens, self.chance)
        rows = self.waiting[kind].pop()
        others = collate([second[row] for row in rows]) if second else None
        return Batch(kind, collate([first[row] for row in rows]), others, rows)

    def _cropped(self) -> Batch:
        """A unit, and the window around it: like a question and its passage, they share a subject and rare words."""
        if not self.waiting.get("crops"):
            self.waiting["crops"] = self._neighbouring_crops()
        rows = self.waiting["crops"].pop()
        units, windows = [], []
        for row in rows:
            texts = self.corpus.crops[row]
            place = self.chance.randrange(len(texts))
            stays = self.chance.random() < CROP_STAYS
            rest = [token for index, text in enumerate(texts) if stays or index != place for token in text]
            units.append(Item(enclose(self._delete_some(texts[place]), 64)))
            windows.append(Item(enclose(rest, WINDOW)))
        return Batch("crops", collate(units), collate(windows), rows)

    def _neighbouring_crops(self) -> list[list[int]]:
        rows = range(len(self.corpus.crops))
        runs = [rows[start : start + NEIGHBOURS] for start in range(0, len(rows), NEIGHBOURS)]
        self.chance.shuffle(runs)
        count = CONTRAST_FACTOR * self.tokens // WINDOW // NEIGHBOURS
        return [list(chain.from_iterable(runs[start : start + count])) for start in range(0, len(runs), count)]

    def _delete_some(self, tokens: list[int]) -> list[int]:
        share = self.chance.uniform(0, MOST_DELETED)
        return [token for token in tokens if self.chance.random() >= share] or tokens

    def _masked(self, kind: str) -> Batch:
        if not self.masked_waiting.get(kind):
            items = self._translations() if kind == "masked pairs" else self._pieces()
            found = batches([len(item.ids) for item in items], self.tokens, self.chance)
            self.masked_waiting[kind] = [[items[index] for index in batch] for batch in found]
        return self._mask(self.masked_waiting[kind].pop())

    def _translations(self) -> list[Item]:
        """A paragraph and its translation, in either order: a masked word can be found in the other language."""
        order = list(range(len(self.corpus.english_ids)))
        self.chance.shuffle(order)
        items = []
        for index in order[:60_000]:
            first, second = self.corpus.english_ids[index], self.corpus.other_ids[index]
            if self.chance.random() >= 0.5:
                first, second = second, first
            first = first[:120]
            items.append(Item([START, *first, SEPARATOR, *second[:140], SEPARATOR], len(first) + 2))
        return items

    def _pieces(self) -> list[Item]:
        """Texts in one language, in pieces of different lengths."""
        items = []
        for text in self.corpus.monolingual_ids:
            start = 0
            while start < len(text):
                length = self.chance.choice((126, 254, 382))
                items.append(Item(enclose(text[start : start + length], length + 2)))
                start += length
        return items

    def _mask(self, items: list[Item]) -> Batch:
        """Of the masked tokens 80% become [MASK], 10% another token, and 10% stay."""
        arrays = collate(items)
        ids = arrays.ids
        masked = (self.masking.random(ids.shape) < MASKED_SHARE) & (ids > FIRST_MASKABLE) & arrays.attended
        labels = ids[masked].copy()
        fate = self.masking.random(labels.shape)
        random_tokens = self.masking.integers(FIRST_WORD, self.corpus.vocabulary_size, labels.shape)
        ids[masked] = np.where(fate < 0.8, MASK, np.where(fate < 0.9, random_tokens, labels))
        return Batch("masked", arrays, places=np.flatnonzero(masked.ravel()), labels=labels)
