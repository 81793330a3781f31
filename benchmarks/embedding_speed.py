"""How fast the bundled embedder is, against fastembed with the same model file and the same passages.

    python -m benchmarks.embedding_speed DIRECTORY [--passages 400] [--rounds 3]

DIRECTORY contains the data of `benchmarks.retrieval`: passages of its English set SciFact, as long as the product cuts
them, in the order of the file. fastembed (`pip install "veracity[fastembed]"`) batches them and runs on all processors.
It lacks the Chinese and Japanese tokens, so that English is compared. Both take turns; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.answers.items import read_lines
from benchmarks.retrieval.sets import data_folder
from veracity.embedding.bundled import FOLDER, MAX_TOKENS, BundledEmbedder

NAME = "veracity/bundled"
MAX_CHARACTERS = 1200  # about a passage of the product
BATCH_SIZES = (256, 32)  # fastembed's default, and one that leaves less padding


def load_passages(folder: Path, count: int) -> list[str]:
    rows = read_lines(folder / "scifact.corpus.jsonl")
    return [f"{row['title']}\n{row['text']}"[:MAX_CHARACTERS] for row in rows[:count]]


def load_fastembed(folder: Path) -> Any:
    """fastembed with the bundled model, from a folder with the additional files that it requires."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(FOLDER / name, folder)
    config = {"model_max_length": MAX_TOKENS, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}', encoding="utf-8")
    TextEmbedding.add_custom_model(
        NAME,
        PoolingType.DISABLED,
        normalization=False,
        sources=ModelSource(url="file:bundled"),
        dim=BundledEmbedder.dimensions,
        model_file="model.onnx",
        output_name="embedding",
    )
    return TextEmbedding(NAME, specific_model_path=str(folder))


def _embed_all(model: Any, passages: Sequence[str], batch_size: int) -> list[Any]:
    return list(model.embed(passages, batch_size=batch_size))


def time_rounds(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, embed in ways.items():
            started = time.perf_counter()
            embed()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def print_table(seconds: dict[str, list[float]], passages: Sequence[str]) -> None:
    own = median(next(iter(seconds.values())))
    print("| | passages a second | speed of Veracity, relative |\n|---|---|---|")
    for name, taken in seconds.items():
        print(f"| {name} | {len(passages) / median(taken):.0f} | {median(taken) / own:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--passages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    passages = load_passages(data_folder(chosen.directory), chosen.passages)
    own = BundledEmbedder()
    with tempfile.TemporaryDirectory() as scratch:
        other = load_fastembed(Path(scratch))
        difference = np.abs(own.embed_passages(passages[:8]) - np.array(list(other.embed(passages[:8])))).max()
        print(f"largest difference of a vector: {difference:.1e}\n")
        ways: dict[str, Callable[[], Any]] = {"Veracity": lambda: own.embed_passages(passages)}
        for size in BATCH_SIZES:
            ways[f"fastembed, batches of {size}"] = partial(_embed_all, other, passages, size)
        print_table(time_rounds(ways, chosen.rounds), passages)


if __name__ == "__main__":
    main()
