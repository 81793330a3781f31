"""Trains the reader, which says which unit of several windows answers a question, or that none does.

    python -m training.reader DATA OUT OUT/reader --labels DATA/labels.npz --start OUT/start --seed 1 --seconds 420

DATA contains windows and the neighbours of written and generated questions, OUT the vocabulary and the embedder. The
loss is that of one softmax over the units of all windows of a list and "no answer", whose logit is 0: so the scores of
different windows can be compared.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.batches import log, prefetch
from training.corpus import Window, read_windows, read_written_neighbours
from training.labels import Labels
from training.network import (
    Network,
    as_numpy,
    autocast,
    deepen,
    load_network,
    optimizer_for,
    save_network,
    set_rates,
    to_device,
    update,
)
from training.reader_lists import (
    Batch,
    Group,
    PackedList,
    Packer,
    build_written,
    endless_batches,
    make_batch,
    texts_of,
)
from training.reader_report import report_held
from training.tokens import Tokens, tokenize_all
from training.written import read_all

HELD = 1500  # lists, at most
WINDOW_WEIGHT = 0.2  # of the loss of the windows' own logits


@dataclass(frozen=True)
class Config:
    seconds: float = 420
    steps: int | None = None
    seed: int = 1
    device: str = "cuda"
    processes: int = 8
    tokens_per_batch: int = 48_000
    rate: float = 2e-4
    warmup: int = 150
    least_rate: float = 0.02  # share of the peak
    limit: int | None = None
    start: Path | None = None  # weights of a reader to go on from
    written_times: int = 1  # how often an epoch contains each question that was not generated
    labels: Path | None = None  # of the teacher
    layers: int | None = None  # by default those of the weights that training starts from


class Reader:
    """A network with its device."""

    def __init__(self, network: Network, device: str) -> None:
        self.network, self.device = network.to(device), device

    def logits(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of the windows, and of their units."""
        windows, units, done = [], [], 0
        places = self._tensor(batch.places)
        for arrays in batch.parts:
            with autocast(self.device):
                part, tokens = self.network.read(*to_device(arrays, self.device))
            windows.append(part)
            units.append(tokens.gather(1, places[done : done + len(part)]))
            done += len(part)
        return torch.cat(windows), torch.cat(units).masked_fill(~self._tensor(batch.counts), -1e4)

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of the lists, and of the windows: how much of the list's target each contains."""
        windows, units = self.logits(batch)
        gold, list_of, weight = (self._tensor(value) for value in (batch.gold, batch.list_of, batch.weight))
        total = _log_sum(units.logsumexp(1), list_of, len(weight))
        chosen = torch.zeros_like(total).index_add(0, list_of, (units * gold).sum(1))
        lists = ((total - chosen) * weight).sum() / weight.sum()
        counts = self._tensor(np.any(batch.counts, axis=1)) * weight[list_of]
        answers = functional.binary_cross_entropy_with_logits(windows, gold.sum(1).clamp(max=1), reduction="none")
        return lists, (answers * counts).sum() / counts.sum()

    @torch.no_grad()
    def best_units(self, lists: Sequence[PackedList]) -> list[tuple[float, bool]]:
        """For each list the highest logit of a unit, and whether that unit answers."""
        self.network.eval()
        found = []
        for start in range(0, len(lists), 24):
            batch = make_batch(lists[start : start + 24])
            units = as_numpy(self.logits(batch)[1])
            for number in range(len(batch.weight)):
                mine = batch.list_of == number
                best = units[mine].max()
                found.append((float(best), bool(batch.gold[mine][units[mine] == best].any())))
        return found

    def _tensor(self, value: np.ndarray) -> Tensor:
        return torch.from_numpy(value).to(self.device, non_blocking=True)


def _log_sum(rows: Tensor, list_of: Tensor, count: int) -> Tensor:
    """The log of the sum of exponentials of a list's rows and of 0, "no answer"."""
    zeros = torch.zeros(count, device=rows.device)
    largest = zeros.scatter_reduce(0, list_of, rows, "amax", include_self=True)
    total = zeros.index_add(0, list_of, (rows - largest[list_of]).exp()) + (-largest).exp()
    return largest + total.log()


def train(reader: Reader, source: Iterator[Batch], lists: int, config: Config) -> None:
    optimizer = optimizer_for(reader.network, config.rate, 0.4 * config.rate, config.device)
    reader.network.train()
    started, seen, step, running = time.time(), 0, 0, np.zeros(2)
    for batch in source:
        progress = step / config.steps if config.steps else (time.time() - started) / config.seconds
        if progress >= 1:
            break
        set_rates(optimizer, step, config.warmup, progress, config.least_rate)
        parts = reader.losses(batch)
        update(reader.network, optimizer, parts[0] + WINDOW_WEIGHT * parts[1])
        seen += len(batch.weight)
        if step % 20 == 0:
            running = 0.8 * running + 0.2 * np.array([part.item() for part in parts])
        if step % 400 == 0:
            log(step, f"{progress:.2f} epochs {seen / lists:.2f}", "list {:.3f} window {:.3f}".format(*running))
        step += 1
    log("steps", step, f"epochs {seen / lists:.2f}")


def start_batches(
    groups: list[Group], windows: list[Window], ids: dict[str, list[int]], labels: Labels | None, config: Config
) -> Iterator[Batch]:
    """From processes that are forked before anything uses the GPU, or from a thread where there is none."""
    packers = [
        Packer(windows, ids, random.Random(100 * config.seed + number), labels) for number in range(config.processes)
    ]
    if config.device == "cpu":
        return prefetch(endless_batches(groups, packers[0], config.tokens_per_batch), 8)
    context = get_context("fork")
    batches = context.Queue(48)

    def fill(packer: Packer) -> None:
        for batch in endless_batches(groups, packer, config.tokens_per_batch):
            batches.put(batch)

    for packer in packers:
        context.Process(target=fill, args=(packer,), daemon=True).start()
    return iter(batches.get, None)


def split(groups: list[Group], windows: Sequence[Window], chance: random.Random) -> tuple[list[Group], list[Group]]:
    """Lists to train with, and lists of documents that are held out or, where there are none, a sample."""
    held = [group for group in groups if windows[group.window].use == "held"]
    trained = [group for group in groups if windows[group.window].use != "held"]
    chance.shuffle(trained)
    chance.shuffle(held)
    if held:
        return trained, held[:HELD]
    count = min(HELD, len(trained) // 10)
    return trained[count:], trained[:count]


def read_tokens(work: Path) -> Tokens:
    return Tokens(work / "tokenizer.json", json.loads((work / "vocab.json").read_text(encoding="utf-8")))


def run_training(data: Path, work: Path, prefix: Path, config: Config) -> None:
    chance = random.Random(config.seed)
    windows = read_windows(data)
    asked = read_all(windows)
    labels = Labels(config.labels, len(asked)) if config.labels else None
    groups = build_written(asked, read_written_neighbours(data, len(asked)), windows, labels)
    groups, held = (part[: config.limit] for part in split(groups, windows, chance))
    groups += (config.written_times - 1) * [group for group in groups if group.trust < 1]
    texts = texts_of(groups + held, windows)
    ids = dict(zip(texts, tokenize_all(read_tokens(work), texts, config.processes), strict=True))
    log("texts", len(texts), "lists", len(groups), "held", len(held))
    source = start_batches(groups, windows, ids, labels, config)
    torch.manual_seed(config.seed)
    reader = Reader(start_network(work, config), config.device)
    packer = Packer(windows, ids, random.Random(config.seed))
    report_held(held, packer, reader.best_units, windows)
    train(reader, source, len(groups), config)
    save_network(reader.network, prefix)
    report_held(held, packer, reader.best_units, windows)
    log("saved")


def start_network(work: Path, config: Config) -> Network:
    """A reader to go on from, or the embedder with new heads."""
    network = load_network(config.start or work / "embedder")
    if not config.start:
        nn.init.normal_(network.answer.weight, std=0.02)
        nn.init.zeros_(network.answer.bias)
    return deepen(network, config.layers) if config.layers else network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path, help="folder of the trained embedder, with its vocab.json")
    parser.add_argument("prefix", type=Path, help="of the weights: PREFIX.0.npz …")
    parser.add_argument("--seconds", type=float, default=420, help="training time without preparation (default 420)")
    parser.add_argument("--steps", type=int, help="train for this many steps instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default cuda)")
    parser.add_argument("--processes", type=int, default=8, help="for tokens and batches (default 8)")
    parser.add_argument("--limit", type=int, help="use only this many lists, for a quick trial")
    parser.add_argument("--tokens-per-batch", type=int, default=48_000)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--start", type=Path, help="go on from this reader instead of the embedder: its PREFIX")
    parser.add_argument("--layers", type=int, help="repeat layers of the start weights up to this number")
    parser.add_argument("--labels", type=Path, help="labels.npz of the teacher")
    parser.add_argument("--written-times", type=int, default=1, help="repeats of written questions in an epoch")
    options: dict[str, Any] = vars(parser.parse_args())
    places: tuple[Path, Path, Path] = options.pop("data"), options.pop("work"), options.pop("prefix")
    run_training(*places, Config(**options))


if __name__ == "__main__":
    main()
