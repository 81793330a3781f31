"""Weights in files: half precision, in parts below 16 MB.

python -m training.weights MODEL.safetensors DATA/minilm.npz   # the weights that training starts from
"""

from __future__ import annotations

import argparse
import json
import struct
from collections import defaultdict
from pathlib import Path

import numpy as np

PARTS = 4
LARGEST_PIECE = 4_000_000  # bytes; larger arrays are split

Weights = dict[str, np.ndarray]


def count_layers(weights: Weights) -> int:
    return sum(name.endswith("attention.output.dense.bias") for name in weights)


def save_parts(weights: Weights, prefix: Path, parts: int = PARTS) -> None:
    """Writes PREFIX.0.npz … in half precision, of about the same size."""
    pieces: Weights = {}
    for name, value in weights.items():
        half = value.astype(np.float16)
        if half.nbytes > 2 * LARGEST_PIECE:
            for number, piece in enumerate(np.array_split(half, -(-half.nbytes // LARGEST_PIECE))):
                pieces[f"{name}@{number}"] = piece
        else:
            pieces[name] = half
    bins: list[Weights] = [{} for _ in range(parts)]
    sizes = [0] * parts
    for name in sorted(pieces, key=lambda name: -pieces[name].nbytes):
        smallest = sizes.index(min(sizes))
        bins[smallest][name] = pieces[name]
        sizes[smallest] += pieces[name].nbytes
    for number, part in enumerate(bins):
        with Path(f"{prefix}.{number}.npz").open("wb") as file:
            np.savez(file, allow_pickle=False, **part)


def load_parts(prefix: Path, parts: int = PARTS) -> Weights:
    """Reads what save_parts wrote, in single precision."""
    weights: Weights = {}
    split: defaultdict[str, dict[int, np.ndarray]] = defaultdict(dict)
    for number in range(parts):
        with np.load(f"{prefix}.{number}.npz") as part:
            for key in part.files:
                name, _, piece = key.partition("@")
                if piece:
                    split[name][int(piece)] = part[key]
                else:
                    weights[name] = part[key]
    for name, found in split.items():
        weights[name] = np.concatenate([found[piece] for piece in sorted(found)])
    return {name: value.astype(np.float32) for name, value in weights.items()}


def load_minilm(file: Path) -> Weights:
    """Reads what pack_minilm wrote."""
    with np.load(file) as stored:
        names = [name for name in stored.files if not name.endswith(".scale")]
        weights = {name: stored[name].astype(np.float32) for name in names}
        for name in names:
            if f"{name}.scale" in stored.files:
                weights[name] = weights[name] * stored[f"{name}.scale"].astype(np.float32)
    return weights


def pack_minilm(safetensors: Path, target: Path) -> None:
    """Matrices as 8-bit integers with a scale per row: a quarter of the size, and near enough to start from."""
    content = safetensors.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    tensors = json.loads(content[8 : 8 + size])
    packed: Weights = {}
    for name, tensor in tensors.items():
        if name == "__metadata__" or tensor["dtype"] != "F32" or "pooler" in name:
            continue
        start, end = (8 + size + offset for offset in tensor["data_offsets"])
        value = np.frombuffer(content[start:end], np.float32).reshape(tensor["shape"])
        if value.ndim == 2 and value.size > 100_000:
            scale = np.abs(value).max(1, keepdims=True) / 127
            packed[name], packed[f"{name}.scale"] = np.round(value / scale).astype(np.int8), scale.astype(np.float32)
        else:
            packed[name] = value
    with target.open("wb") as file:
        np.savez(file, allow_pickle=False, **packed)


def main() -> None:
    parser = argparse.ArgumentParser(description="Packs the weights of all-MiniLM-L6-v2 for training.")
    parser.add_argument("safetensors", type=Path, help="model.safetensors of sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("target", type=Path, help="the file to write, minilm.npz")
    arguments = parser.parse_args()
    pack_minilm(arguments.safetensors, arguments.target)


if __name__ == "__main__":
    main()
