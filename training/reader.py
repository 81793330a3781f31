"""Trains the reader, which says whether a window answers a question, and which unit does.

    python -m training.reader DATA OUT OUT/base --variant base --seed 1 --seconds 420
    python -m training.reader DATA OUT OUT/reader --teachers OUT/base OUT/hard OUT/nodel --seed 4 --seconds 300

DATA is that of the embedder, OUT holds its weights and vocabulary. With --teachers a reader learns from the mean of
others, also about neighbouring windows that have no labels. If DATA has eval.jsonl.xz, the scores of its passages are
written to PREFIX.eval.json.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.batches import Arrays, all_batches, batches, collate, log, prefetch
from training.corpus import read_questions, read_windows
from training.network import (
    Network,
    as_numpy,
    autocast,
    load_network,
    optimizer_for,
    save_network,
    set_rates,
    to_device,
    update,
)
from training.reader_examples import (
    LONGEST_INPUT,
    VARIANTS,
    Example,
    ExampleBuilder,
    Packer,
    Row,
    Variant,
    sigmoid,
    texts_of,
)
from training.reader_report import passage_rows, read_evaluation, report_evaluation, report_held
from training.tokens import Tokens, tokenize_all


@dataclass(frozen=True)
class Config:
    variant: Variant
    teachers: tuple[Path, ...] = ()
    seconds: float = 420
    steps: int | None = None
    seed: int = 1
    device: str = "cuda"
    processes: int = 8
    tokens_per_batch: int = 40_000
    rate: float = 2.5e-4
    warmup: int = 150
    least_rate: float = 0.02  # share of the peak
    limit: int | None = None


@dataclass(frozen=True)
class Batch:
    arrays: Arrays
    places: Tensor  # of units, padded
    real: Tensor  # False for padding
    gold: Tensor  # share of each unit in the answer
    target: Tensor
    weight: Tensor


def make_batch(rows: Sequence[Row]) -> Batch:
    width = max(1, *(len(row.places) for row in rows))
    places = np.zeros((len(rows), width), np.int64)
    real = np.zeros((len(rows), width), bool)
    gold = np.zeros((len(rows), width), np.float32)
    for number, row in enumerate(rows):
        count = len(row.places)
        places[number, :count] = row.places
        real[number, :count] = True
        if row.soft_gold is not None:
            gold[number, :count] = row.soft_gold
        elif row.gold:
            gold[number, row.gold] = 1 / len(row.gold)
    return Batch(
        collate([row.item for row in rows]),
        torch.from_numpy(places),
        torch.from_numpy(real),
        torch.from_numpy(gold),
        torch.tensor([row.target for row in rows]),
        torch.tensor([row.weight for row in rows]).float(),
    )


class Reader:
    """A network with its device."""

    def __init__(self, network: Network, device: str) -> None:
        self.network, self.device = network.to(device), device

    def logits(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of the windows, and of their units."""
        with autocast(self.device):
            windows, tokens = self.network.read(*to_device(batch.arrays, self.device))
        units = tokens.gather(1, batch.places.to(self.device))
        return windows, units.masked_fill(~batch.real.to(self.device), -1e4)

    @torch.no_grad()
    def score(self, rows: Sequence[Row]) -> list[tuple[float, list[float]]]:
        self.network.eval()
        found: dict[int, tuple[float, list[float]]] = {}
        for batch in all_batches([len(row.item.ids) for row in rows], 150_000 if self.device != "cpu" else 4000):
            windows, units = (as_numpy(values) for values in self.logits(make_batch([rows[index] for index in batch])))
            for number, index in enumerate(batch):
                scores = units[number, : len(rows[index].places)]
                found[index] = float(windows[number]), [round(float(score), 2) for score in scores]
        return [found[index] for index in range(len(rows))]


def losses(windows: Tensor, units: Tensor, batch: Batch, *, soft: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Whether the window answers; which unit does, against the others; and each unit by itself."""
    gold, real, target, weight = (
        value.to(windows.device) for value in (batch.gold, batch.real, batch.target, batch.weight)
    )
    total = weight.sum().clamp(min=1)
    answer = (functional.binary_cross_entropy_with_logits(windows, target, reduction="none") * weight).sum() / total
    counts = (gold.sum(1) > 0).float() * weight * target
    choice = (-(units.log_softmax(1).clamp(min=-30) * gold).sum(1) * counts).sum() / counts.sum().clamp(min=1)
    each_target = (gold if soft else (gold > 0).float()) * target[:, None]
    by_unit = functional.binary_cross_entropy_with_logits(units, each_target, reduction="none") * real
    each = (by_unit.sum(1) * weight).sum() / total
    return answer, choice, each


def learn_from(teachers: Sequence[Path], rows: list[Row], examples: list[Example], device: str) -> list[Row]:
    """Rows with the teachers' mean judgement mixed into their targets."""
    answers = np.zeros(len(rows))
    units = [np.zeros(len(row.places), np.float32) for row in rows]
    for prefix in teachers:
        for number, (logit, scores) in enumerate(Reader(load_network(prefix), device).score(rows)):
            shares = np.exp(np.array(scores) - max(scores))
            answers[number] += sigmoid(logit) / len(teachers)
            units[number] += (shares / shares.sum() / len(teachers)).astype(np.float32)
        log("teacher", prefix)
    return [
        _mix(row, example, float(answer), shares)
        for row, example, answer, shares in zip(rows, examples, answers, units, strict=True)
    ]


def _mix(row: Row, example: Example, answer: float, shares: np.ndarray) -> Row:
    if row.gold:
        known = np.zeros_like(shares)
        known[row.gold] = 1 / len(row.gold)
        shares = 0.6 * shares + 0.4 * known
    target = answer if example.kind == "extra" else 0.7 * answer + 0.3 * row.target
    return replace(row, soft_gold=shares, target=target, weight=0.5 if example.kind == "not" else 1.0)


def endless_rows(rows: Sequence[Row], tokens: int, chance: random.Random) -> Iterator[Batch]:
    while True:
        for batch in batches([len(row.item.ids) for row in rows], tokens, chance):
            yield make_batch([rows[index] for index in batch])


def endless_examples(
    examples: Sequence[Example], packer: Packer, tokens: int, chance: random.Random
) -> Iterator[Batch]:
    """Yields batches without end. Every epoch varies the examples differently."""
    lengths = [min(LONGEST_INPUT, packer.approximate_length(example)) for example in examples]
    while True:
        for batch in batches(lengths, tokens, chance):
            yield make_batch([packer.row(examples[index], vary=True) for index in batch])


def train(reader: Reader, source: Iterator[Batch], examples: int, config: Config) -> None:
    optimizer = optimizer_for(reader.network, config.rate, 0.4 * config.rate, config.device)
    reader.network.train()
    started, seen, step, running = time.time(), 0, 0, np.zeros(3)
    for batch in prefetch(source, 32):
        progress = step / config.steps if config.steps else (time.time() - started) / config.seconds
        if progress >= 1:
            break
        set_rates(optimizer, step, config.warmup, progress, config.least_rate)
        parts = losses(*reader.logits(batch), batch, soft=bool(config.teachers))
        update(reader.network, optimizer, parts[0] + 0.7 * parts[1] + 0.25 * parts[2])
        seen += len(batch.target)
        if step % 20 == 0:
            running = 0.8 * running + 0.2 * np.array([part.item() for part in parts])
        if step % 400 == 0:
            values = "answer {:.3f} unit {:.3f} each {:.3f}".format(*running)
            log(step, f"{progress:.2f} epochs {seen / examples:.2f}", values)
        step += 1
    log("steps", step, f"epochs {seen / examples:.2f}")


def run(data: Path, work: Path, prefix: Path, config: Config) -> None:
    chance = random.Random(config.seed)
    windows = read_windows(data)
    generated = read_questions(data)
    evaluation = read_evaluation(data)
    log("windows", len(windows), "generated", len(generated), "evaluation", len(evaluation))
    examples, held = ExampleBuilder(generated, windows, config.variant, chance).build()
    if config.limit is not None:
        examples, held = chance.sample(examples, config.limit), chance.sample(held, config.limit // 4)
        evaluation = evaluation[: config.limit // 20]
    tokens = Tokens(work / "tokenizer.json", json.loads((work / "vocab.json").read_text(encoding="utf-8")))
    used = {example.window for example in examples + held}
    texts = texts_of(examples + held, [windows[number] for number in sorted(used)])
    texts = list(dict.fromkeys([*texts, *(text for item in evaluation for text in item.texts)]))
    ids = dict(zip(texts, tokenize_all(tokens, texts, config.processes), strict=True))
    log("tokens")
    packer = Packer(windows, ids, chance)
    network = load_network(work / "embedder")
    torch.manual_seed(config.seed)
    nn.init.normal_(network.answer.weight, std=0.02)
    nn.init.zeros_(network.answer.bias)
    reader = Reader(network, config.device)
    if config.teachers:
        packed = [(packer.row(example, vary=False), example) for example in examples]
        packed = [(row, example) for row, example in packed if row.places]
        rows, examples = [row for row, _ in packed], [example for _, example in packed]
        rows = learn_from(config.teachers, rows, examples, config.device)
        source = endless_rows(rows, config.tokens_per_batch, chance)
    else:
        source = endless_examples(examples, packer, config.tokens_per_batch, chance)
    train(reader, source, len(examples), config)
    save_network(reader.network, prefix)
    if held:
        held_rows = [packer.row(example, vary=False) for example in held]
        report_held(held, held_rows, reader.score(held_rows), windows)
    if evaluation:
        passages = passage_rows(evaluation, ids)
        report_evaluation(evaluation, passages, reader.score([passage.row for passage in passages]), prefix)
    log("saved")


def parse_arguments() -> tuple[Path, Path, Path, Config]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path, help="folder of the trained embedder, with its vocab.json")
    parser.add_argument("prefix", type=Path, help="of the weights to write: PREFIX.0.npz …")
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="base")
    parser.add_argument("--teachers", type=Path, nargs="+", default=[], help="prefixes of trained readers")
    parser.add_argument("--seconds", type=float, default=420, help="training time without preparation (default 420)")
    parser.add_argument("--steps", type=int, help="train for this many steps instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default cuda)")
    parser.add_argument("--processes", type=int, default=8, help="for tokenizing (default 8)")
    parser.add_argument("--limit", type=int, help="use only this many examples, for a quick trial")
    parser.add_argument("--tokens-per-batch", type=int, default=40_000)
    options: dict[str, Any] = vars(parser.parse_args())
    places = options.pop("data"), options.pop("work"), options.pop("prefix")
    teachers = tuple(options.pop("teachers"))
    variant = replace(VARIANTS[options.pop("variant")], neighbours=bool(teachers))
    return *places, Config(variant=variant, teachers=teachers, **options)


if __name__ == "__main__":
    run(*parse_arguments())
