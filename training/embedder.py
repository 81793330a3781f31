"""Trains the embedder: MiniLM, extended by Chinese and Japanese.

    python -m training.embedder DATA OUT --seconds 300 --seed 5

DATA needs minilm.npz, tokenizer.json, and the files that corpus.py lists. Writes OUT/embedder.0.npz … embedder.3.npz,
OUT/vocab.json and OUT/tokenizer.json. With --steps instead of --seconds the result does not depend on the speed of the
machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.batches import Item, all_batches, collate, log, prefetch
from training.corpus import Corpus, Pair, load_corpus
from training.embedder_batches import Batch, BatchSource, TokenizedCorpus
from training.network import (
    Network,
    as_numpy,
    autocast,
    load_original,
    optimizer_for,
    save_network,
    set_rates,
    to_device,
    update,
)
from training.tokens import UNKNOWN, WORD_PIECES, Tokens, enclose, tokenize_all
from training.vocabulary import build_vocabulary, start_embeddings


@dataclass(frozen=True)
class Config:
    seconds: float = 300
    steps: int | None = None
    seed: int = 5
    device: str = "cuda"
    processes: int = 14
    tokens_per_batch: int = 24_000
    rate: float = 2e-4
    word_rate: float = 1e-3
    warmup: int = 200
    least_rate: float = 0.03  # share of the peak
    temperature: float = 0.05  # of the contrasts
    contrast: float = 2.0  # weight of questions and crops
    limit: int | None = None


class Trainer:
    def __init__(self, corpus: TokenizedCorpus, held: list[Pair], network: Network, data: Path, config: Config) -> None:
        self.corpus, self.held, self.config = corpus, held, config
        self.network = network.to(config.device)
        teacher = load_original(data / "minilm.npz").to(config.device)
        self.english_targets = self._vectors(teacher, corpus.pair_english)
        self.text_targets = self._vectors(teacher, corpus.english)
        self.held_targets = self._vectors(teacher, corpus.held_english)
        log("teacher vectors")

    def train(self) -> None:
        config = self.config
        optimizer = optimizer_for(self.network, config.rate, config.word_rate, config.device)
        source = BatchSource(self.corpus, config.tokens_per_batch, config.seed)
        losses: defaultdict[str, float] = defaultdict(float)
        self.evaluate("start")
        self.network.train()
        started, step, half = time.time(), 0, False
        for batch in prefetch(iter(source), 24):
            progress = step / config.steps if config.steps else (time.time() - started) / config.seconds
            if progress >= 1:
                break
            set_rates(optimizer, step, config.warmup, progress, config.least_rate)
            loss = self.loss(batch)
            update(self.network, optimizer, loss)
            if step % 40 < 8:  # every kind once; more would wait for the GPU each time
                losses[batch.kind] = 0.8 * losses[batch.kind] + 0.2 * loss.item()
            if step % 500 == 0:
                log(step, f"{progress:.2f}", {kind: round(value, 3) for kind, value in losses.items()})
            if progress > 0.5 and not half:
                half = True
                self.evaluate("half")
            step += 1
        log("steps", step)
        self.evaluate("end")

    def loss(self, batch: Batch) -> Tensor:
        device = self.config.device
        first = to_device(batch.first, device)
        if batch.kind == "masked":
            assert batch.places is not None and batch.labels is not None
            with autocast(device):
                logits = self.network.word_logits(*first, torch.from_numpy(batch.places).to(device))
            return 0.25 * functional.cross_entropy(logits.float(), torch.from_numpy(batch.labels).to(device))
        rows = torch.tensor(batch.rows, device=device)
        with autocast(device):
            vectors = self.network.vectors(first[0], first[2])
            second = to_device(batch.second, device) if batch.second else None
            others = self.network.vectors(second[0], second[2]) if second else vectors
        if batch.kind == "pairs":
            return self._pair_loss(vectors, others, self.english_targets[rows])
        if batch.kind in ("questions", "crops"):
            windows = self.corpus.question_windows
            numbers = [windows[row] for row in batch.rows] if batch.kind == "questions" else batch.rows
            return self._contrast_loss(vectors, others, numbers)
        return 2 * _distance(vectors, self.text_targets[rows])

    def _pair_loss(self, translations: Tensor, english: Tensor, targets: Tensor) -> Tensor:
        """Both go to MiniLM's vector of the English text, and the translation nearer to it than to the others."""
        order = torch.arange(len(targets), device=targets.device)
        contrast = functional.cross_entropy(translations @ targets.T / self.config.temperature, order)
        return 2 * (_distance(translations, targets) + _distance(english, targets) + 0.2 * contrast)

    def _contrast_loss(self, questions: Tensor, windows: Tensor, window_numbers: list[int]) -> Tensor:
        """A question goes nearer to its window than to the others. Another question about it is no contrast."""
        numbers = torch.tensor(window_numbers, device=questions.device)
        order = torch.arange(len(window_numbers), device=questions.device)
        same = (numbers[:, None] == numbers[None]) & (order[:, None] != order[None])
        scores = (questions @ windows.T / self.config.temperature).masked_fill(same, -1e4)
        return self.config.contrast * functional.cross_entropy(scores, order)

    def evaluate(self, moment: str) -> None:
        """How often a held-out translation is nearest to its own English paragraph."""
        vectors = self._vectors(self.network, self.corpus.held_other)
        scores = vectors @ self.held_targets.T
        right = scores.argmax(1) == torch.arange(len(vectors), device=vectors.device)
        for language in ("ja", "zh"):
            rows = [row for row, pair in enumerate(self.held) if pair.language == language]
            if rows:
                first, cosine = right[rows].float().mean().item(), scores.diag()[rows].mean().item()
                log(moment, language, f"->en first {first:.3f} cos {cosine:.3f}")
        self.network.train()

    @torch.no_grad()
    def _vectors(self, network: Network, items: list[Item]) -> Tensor:
        network.eval()
        words = len(network.embeddings.word_embeddings.weight)
        found = np.zeros((len(items), 384), np.float32)
        for batch in all_batches([len(item.ids) for item in items], 200_000):
            arrays = collate([items[index] for index in batch])
            arrays.ids[arrays.ids >= words] = UNKNOWN  # the teacher does not know the new tokens
            ids, _, attended = to_device(arrays, self.config.device)
            with autocast(self.config.device):
                found[batch] = as_numpy(network.vectors(ids, attended))
        return torch.from_numpy(found).to(self.config.device)


def _distance(vectors: Tensor, targets: Tensor) -> Tensor:
    return ((vectors - targets) ** 2).sum(1).mean()


def tokenize(corpus: Corpus, tokens: Tokens, processes: int) -> TokenizedCorpus:
    groups = (
        [pair.english for pair in corpus.pairs],
        [pair.other for pair in corpus.pairs],
        [pair.english for pair in corpus.held],
        [pair.other for pair in corpus.held],
        corpus.monolingual,
        corpus.english,
        [pair.question for pair in corpus.questions],
        [pair.text for pair in corpus.questions],
        [text for units in corpus.crops for text in units],
    )
    texts = list(dict.fromkeys(text for group in groups for text in group))  # windows occur once for each question
    ids = dict(zip(texts, tokenize_all(tokens, texts, processes), strict=True))
    english, other, held_english, held_other, monolingual, kept, questions, windows, _ = (
        [ids[text] for text in group] for group in groups
    )
    sizes = [sum(map(len, found)) / 1e6 for found in (english, other, monolingual)]
    log("tokens en {:.1f}M cjk {:.1f}M mono {:.1f}M".format(*sizes))
    return TokenizedCorpus(
        english_ids=english,
        other_ids=other,
        monolingual_ids=monolingual,
        pair_english=_items(english, 200),
        pair_other=_items(other, 220),
        held_english=_items(held_english, 200),
        held_other=_items(held_other, 220),
        english=_items(kept, 256),
        questions=_items(questions, 64),
        windows=_items(windows, 256),
        question_windows=[pair.window for pair in corpus.questions],
        crops=[[ids[text] for text in units] for units in corpus.crops],
        vocabulary_size=len(tokens.vocabulary),
    )


def _items(ids: list[list[int]], longest: int) -> list[Item]:
    return [Item(enclose(text, longest)) for text in ids]


def run(data: Path, out: Path, config: Config) -> None:
    torch.manual_seed(config.seed)
    out.mkdir(parents=True, exist_ok=True)
    corpus = load_corpus(data, config.seed)
    if config.limit is not None:
        corpus.limit(config.limit)
    sizes = (len(corpus.pairs), len(corpus.monolingual), len(corpus.questions), len(corpus.english), len(corpus.crops))
    log("pairs {} mono {} question-window {} english {} crops {}".format(*sizes))
    vocabulary = build_vocabulary(data / "tokenizer.json", [pair.other for pair in corpus.pairs] + corpus.monolingual)
    (out / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    shutil.copyfile(data / "tokenizer.json", out / "tokenizer.json")
    log("vocabulary", len(vocabulary))
    tokenized = tokenize(corpus, Tokens(data / "tokenizer.json", vocabulary), config.processes)
    network = load_original(data / "minilm.npz")
    original = as_numpy(network.embeddings.word_embeddings.weight.detach())
    table, found = start_embeddings(original, len(vocabulary), tokenized.english_ids, tokenized.other_ids, config.seed)
    log("new tokens from co-occurrence", found, "of", len(vocabulary) - WORD_PIECES)
    network.set_words(torch.from_numpy(table))
    trainer = Trainer(tokenized, corpus.held, network, data, config)
    trainer.train()
    save_network(trainer.network, out / "embedder")
    log("saved")


def parse_arguments() -> tuple[Path, Path, Config]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=300, help="training time without preparation (default 300)")
    parser.add_argument("--steps", type=int, help="train for this many steps instead; the bundled model had 4,216")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default cuda)")
    parser.add_argument("--processes", type=int, default=14, help="for tokenizing (default 14)")
    parser.add_argument("--limit", type=int, help="use only this many texts of each kind, for a quick trial")
    parser.add_argument("--contrast", type=float, default=2.0, help="weight of questions and crops (default 2)")
    parser.add_argument("--tokens-per-batch", type=int, default=24_000)
    options: dict[str, Any] = vars(parser.parse_args())
    return options.pop("data"), options.pop("out"), Config(**options)


if __name__ == "__main__":
    run(*parse_arguments())
