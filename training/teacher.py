"""Trains a language model to find the unit that answers a question, and to write questions like the written ones.

    python -m training.teacher label DATA LM --steps 260
    python -m training.teacher write DATA LM --steps 260 --write-seconds 380

LM is the packed language model. Both read the written questions and their neighbours. `label` writes DATA/labels.npz:
what the teacher says of each question about its own window and the nearest five, of generated questions the nearest
three. `write` writes DATA/generated.tsv: questions about all windows, as lines of training.written, for
generated.tsv.xz. The teacher itself is not kept.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.batches import log, prefetch
from training.corpus import read_windows, read_written_neighbours
from training.labels import Label, save_labels
from training.language_model import (
    BLOCK_WEIGHTS,
    HEAD_WIDTH,
    KEY_HEADS,
    PER_KEY,
    WIDTH,
    Continuations,
    LanguageModel,
)
from training.network import autocast, set_rates
from training.reader_report import auc
from training.sources import LANGUAGES
from training.teacher_pages import LONGEST_QUESTION, Batch, Page, Pages, Row, Texts, batches_of, collate
from training.written import digest, read_all

VECTOR_WIDTH = 256  # of the vectors that are compared
RATE, HEAD_RATE, WARMUP, LEAST_RATE = 2e-5, 2e-4, 60, 0.05
MOST_FAILED = 200  # steps whose gradients are not finite: they are skipped
WRITING_WEIGHT = 0.5  # of the loss of writing questions
HELD = 500  # windows
PER_BATCH = 320  # windows that questions are written about at once
MEASURED = "basecamp/"  # nothing is asked about documents of a company whose handbook is used to measure


class Teacher:
    """The layers of the language model, with a vector for each unit and each question, and a score for "none"."""

    def __init__(self, model: LanguageModel, layers: int) -> None:
        self.model, self.device, self.layers = model, model.device, layers
        self.embedding, self.last_norm = model.weights.pop("output.weight"), model.weights.pop("output_norm.weight")
        self.weights = {
            name: nn.Parameter(value.float())
            for name, value in model.weights.items()
            if name.startswith("blk.") and int(name.split(".")[1]) < layers
        }
        model.weights.clear()
        torch.manual_seed(1)
        self.heads = nn.ModuleDict(
            {
                "unit": nn.Linear(WIDTH, VECTOR_WIDTH),
                "question": nn.Linear(WIDTH, VECTOR_WIDTH),
                "none": nn.Linear(WIDTH, 1),
            }
        ).to(self.device)
        for head in self.heads.values():
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def parameters(self) -> list[nn.Parameter]:
        return [*self.weights.values(), *self.heads.parameters()]

    def hidden(self, batch: dict[str, Tensor]) -> Tensor:
        x = functional.embedding(batch["ids"], self.embedding).float()
        segments = batch["segments"]
        seen = (segments[:, None, :] == 0) | (segments[:, None, :] == segments[:, :, None])
        causal = torch.ones(seen.shape[1:], dtype=torch.bool, device=self.device).tril()
        kind = torch.bfloat16 if self.device != "cpu" else torch.float32
        hide = torch.zeros(seen.shape, dtype=kind, device=self.device).masked_fill_(~(seen & causal), -30_000.0)
        hide = hide[:, None].expand(-1, KEY_HEADS * PER_KEY, -1, -1)
        cos, sin = (part[batch["positions"]][:, :, None] for part in (self.model.cos, self.model.sin))
        for layer in range(self.layers):
            x = self._layer(x, layer, hide, cos, sin)
        return x

    def _layer(self, x: Tensor, layer: int, hide: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        weight = {name: self.weights[f"blk.{layer}.{name}.weight"] for name in BLOCK_WEIGHTS}
        normed = functional.rms_norm(x, (WIDTH,), weight["attn_norm"], 1e-6)
        query, key, value = (
            functional.linear(normed, weight[f"attn_{part}"], self.weights[f"blk.{layer}.attn_{part}.bias"]).unflatten(
                -1, (-1, HEAD_WIDTH)
            )
            for part in "qkv"
        )
        query, key = (_rotate(part, cos, sin) for part in (query, key))
        query, key, value = (part.transpose(1, 2) for part in (query, key, value))
        key, value = (part.repeat_interleave(PER_KEY, 1) for part in (key, value))
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=hide)
        x = x + functional.linear(attended.transpose(1, 2).flatten(2), weight["attn_output"])
        normed = functional.rms_norm(x, (WIDTH,), weight["ffn_norm"], 1e-6)
        gate = functional.silu(functional.linear(normed, weight["ffn_gate"]))
        return x + functional.linear(gate * functional.linear(normed, weight["ffn_up"]), weight["ffn_down"])

    def logits(self, batch: dict[str, Tensor]) -> Tensor:
        """[row, question, none and units]."""
        with autocast(self.device):
            hidden = self.hidden(batch)
        return self._scores(hidden, batch)

    def _scores(self, hidden: Tensor, batch: dict[str, Tensor]) -> Tensor:
        rows = torch.arange(len(hidden), device=self.device)[:, None]
        units, questions = (
            functional.rms_norm(hidden[rows, batch[name]].float(), (WIDTH,)) for name in ("marks", "ends")
        )
        scores = self.heads["question"](questions) @ self.heads["unit"](units).transpose(1, 2) * VECTOR_WIDTH**-0.5
        scores = scores.masked_fill(~batch["has_unit"][:, None], -1e4)
        return torch.cat([self.heads["none"](questions), scores], -1)

    def losses(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Of answering, and of writing."""
        with autocast(self.device):
            hidden = self.hidden(batch)
            rows = torch.arange(len(hidden), device=self.device)[:, None]
            wanted = batch["following"] >= 0
            before = hidden[rows, batch["predicted"]][wanted]
            normed = functional.rms_norm(before, (WIDTH,), self.last_norm.float(), 1e-6)
            words = functional.linear(normed.to(self.embedding.dtype), self.embedding)
        writing = functional.cross_entropy(words.float(), batch["following"][wanted])
        losses = -(batch["target"] * self._scores(hidden, batch).log_softmax(-1)).sum(-1)
        return (losses * batch["weight"]).sum() / batch["weight"].sum(), writing

    def to_device(self, batch: Batch) -> dict[str, Tensor]:
        return {
            name: torch.from_numpy(value).to(self.device, non_blocking=True) for name, value in batch._asdict().items()
        }

    @torch.no_grad()
    def label(self, rows: Sequence[Row]) -> list[Label]:
        logits = self.logits(self.to_device(collate(rows)))
        odds = (logits[..., 1:] - logits[..., :1]).cpu().numpy()
        return [
            (one.question, row.window, row.units, odds[number, place, : len(row.units)].tolist())
            for number, row in enumerate(rows)
            for place, one in enumerate(row.asked)
        ]

    def freeze(self) -> None:
        """Half the size and twice as fast, for labels."""
        if self.device != "cpu":
            self.weights = {
                name: nn.Parameter(value.detach().bfloat16(), requires_grad=False)
                for name, value in self.weights.items()
            }
            torch.cuda.empty_cache()

    def as_language_model(self) -> LanguageModel:
        self.model.weights = {
            **self.weights,
            "output.weight": self.embedding,
            "output_norm.weight": self.last_norm,
        }
        return self.model


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x[..., : HEAD_WIDTH // 2], x[..., HEAD_WIDTH // 2 :]
    return (x * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)


def train(teacher: Teacher, source: Iterator[Batch], seconds: float, steps: int | None) -> None:
    groups = [
        {"params": list(teacher.weights.values()), "peak_rate": RATE, "weight_decay": 0.01},
        {"params": list(teacher.heads.parameters()), "peak_rate": HEAD_RATE, "weight_decay": 0.0},
    ]
    optimizer: Any = torch.optim.AdamW(groups, lr=1e-5, betas=(0.9, 0.98), fused=teacher.device != "cpu")
    started, failed, running, pairs = time.time(), 0, np.zeros(2), 0
    for step, batch in enumerate(source):
        progress = step / steps if steps else (time.time() - started) / seconds
        if progress >= 1 or failed > MOST_FAILED:
            break
        set_rates(optimizer, step, WARMUP, progress, LEAST_RATE)
        optimizer.zero_grad(set_to_none=True)
        answering, writing = teacher.losses(teacher.to_device(batch))
        loss = answering + (WRITING_WEIGHT * writing if batch.following.max() >= 0 else 0.0)
        loss.backward()
        norm = float(nn.utils.clip_grad_norm_(teacher.parameters(), 1.0))
        if np.isfinite(norm):
            optimizer.step()
        else:
            failed += 1
        pairs += int((batch.weight > 0).sum())
        now = np.array([answering.item(), writing.item()])
        running = now if step < 20 else 0.95 * running + 0.05 * now
        if step % 25 == 0:
            losses = "answering {:.3f} writing {:.3f}".format(*running)
            log(step, f"{progress:.2f} pairs {pairs} {losses} norm {norm:.2f} failed {failed}")
    log("steps", step, "pairs", pairs, "failed", failed)


def label_all(teacher: Teacher, texts: Texts, pages: Sequence[Page], tokens: int, seconds: float) -> list[Label]:
    """Stops early when the time is over: then some windows have no label."""
    started = time.time()
    found: list[Label] = []
    for rows in prefetch(batches_of(map(texts.row, pages), tokens), 8):
        if time.time() - started > seconds:
            log(f"the time is over: {len(found)} of {sum(len(page.asked) for page in pages)} pairs have labels")
            break
        found += teacher.label(rows)
    log("labels", len(found))
    return found


def report(teacher: Teacher, texts: Texts, pages: Pages, tokens: int) -> None:
    """For each language: how often the best unit answers, and best scores with an answer against those without."""
    own = label_all(teacher, texts, pages.held(HELD), tokens, 60)
    removed = label_all(teacher, texts, pages.held_removed(HELD // 2), tokens, 60)
    for language in LANGUAGES:
        right: list[bool] = []
        scores: dict[str, list[float]] = {"own": [], "not": [], "removed": []}
        for kind, labels in (("own", own), ("removed", removed)):
            for question, window, units, odds in labels:
                if pages.windows[window].language != language:
                    continue
                answers = pages.written[question].units
                if kind == "own" and answers:
                    right.append(units[int(np.argmax(odds))] in answers)
                scores[kind if answers else "not"].append(max(odds))
        against = {kind: round(auc(scores["own"], scores[kind]), 3) for kind in ("removed", "not")}
        log("HELD", language, len(right), f"unit {np.mean(right):.3f}", "auc", against)


def report_lists(labels: Sequence[Label], pages: Pages) -> None:
    """As `report_held` of the reader: the best unit of a question's own window and its neighbours."""
    best: dict[int, tuple[float, bool]] = {}
    for question, window, units, odds in labels:
        one = pages.written[question]
        if pages.windows[one.window].use == "held":
            place = int(np.argmax(odds))
            answers = window == one.window and units[place] in one.units
            best[question] = max(best.get(question, (-99.0, False)), (odds[place], answers))
    for language in LANGUAGES:
        mine = {q: found for q, found in best.items() if pages.windows[pages.written[q].window].language == language}
        own = [found for question, found in mine.items() if pages.written[question].units]
        misses = [found[0] for question, found in mine.items() if not pages.written[question].units]
        against = round(auc([score for score, _ in own], misses), 3)
        log("LISTS", language, len(own), f"unit {np.mean([right for _, right in own]):.3f}", "auc not", against)


def write_all(teacher: Teacher, texts: Texts, numbers: Sequence[int], seconds: float, file: Path) -> None:
    """Questions about units at random, and near misses. Windows of similar length share a batch."""
    model = teacher.as_language_model()
    chance, sampling = random.Random(3), torch.Generator(teacher.device).manual_seed(3)
    started, count = time.time(), 0
    prefixes = {number: texts.prefix(number) for number in numbers}
    groups = [sorted(numbers[at : at + 4000], key=lambda n: len(prefixes[n][0])) for at in range(0, len(numbers), 4000)]
    batches = [group[at : at + PER_BATCH] for group in groups for at in range(0, len(group), PER_BATCH)]
    with file.open("w", encoding="utf-8") as lines:
        for number, batch in enumerate(batches):
            if time.time() - started > seconds:
                break
            units = [_draw_units(prefixes[window][1], chance) for window in batch]
            prompts = [
                [texts.prompt(window, unit) for unit in asked] for window, asked in zip(batch, units, strict=True)
            ]
            room = len(units[0]) * (16 + LONGEST_QUESTION + 4)
            passages = Continuations(model, [prefixes[window][0] for window in batch], room)
            written = passages.write(prompts, LONGEST_QUESTION, [texts.end, texts.newline], sampling)
            for window, asked, replies in zip(batch, units, written, strict=True):
                for unit, reply in zip(asked, replies, strict=True):
                    text = " ".join(model.text(reply).split())
                    if len(reply) < LONGEST_QUESTION and len(text) >= 3:  # not cut off
                        name = "-" if unit is None else unit
                        lines.write(f"{digest(texts.windows[window])}\t{name}\t{text}\n")
                        count += 1
            if number % 10 == 0:
                log("batch", number, "of", len(batches), "questions", count, text)
    log("questions", count)


def _draw_units(marks: dict[int, int], chance: random.Random) -> list[int | None]:
    """Four units, each once where there are as many, and None for a near miss."""
    units = list(marks)
    drawn = chance.sample(units, min(4, len(units)))
    return [*drawn, *chance.choices(units, k=4 - len(drawn)), None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("label", "write"))
    parser.add_argument("data", type=Path)
    parser.add_argument("language_model", type=Path, help="folder of the packed language model")
    parser.add_argument("--seconds", type=float, default=460)
    parser.add_argument("--label-seconds", type=float, default=600)
    parser.add_argument("--write-seconds", type=float, default=380)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tokens", type=int, default=20_000, help="of a batch")
    parser.add_argument("--layers", type=int, default=28, help="of the language model; fewer for a trial of `label`")
    parser.add_argument("--limit", type=int, help="use only this many questions, for a quick trial")
    options = parser.parse_args()
    windows = read_windows(options.data)
    written = read_all(windows)
    near = read_written_neighbours(options.data, len(written))
    written = written[: options.limit]
    pages = Pages(windows, written, near)
    model = LanguageModel(options.language_model, options.device)
    used = {one.window for one in written if not one.is_generated}
    unused = [number for number, window in enumerate(windows) if window.use == "train" and number not in used]
    texts = Texts(windows, written, sorted({*pages.numbers, *unused}), model)
    log("questions", len(written), "windows", len(pages.numbers))
    teacher = Teacher(model, options.layers)
    rows = map(texts.row, pages.training(random.Random(1)))
    train(teacher, prefetch(map(collate, batches_of(rows, options.tokens)), 16), options.seconds, options.steps)
    teacher.freeze()
    report(teacher, texts, pages, 3 * options.tokens)
    if options.command == "write":
        numbers = random.Random(4).sample(unused, len(unused)) + random.Random(4).sample(sorted(used), len(used))
        numbers = [
            number
            for number in numbers
            if windows[number].use == "train"
            and not windows[number].document.startswith(MEASURED)
            and len(texts.prefix(number)[1]) > 1
        ]
        write_all(teacher, texts, numbers[: options.limit], options.write_seconds, options.data / "generated.tsv")
        return
    labels = label_all(teacher, texts, list(pages.to_label()), 3 * options.tokens, options.label_seconds)
    save_labels(labels, options.data / "labels.npz", len(written))
    report_lists(labels, pages)


if __name__ == "__main__":
    main()
