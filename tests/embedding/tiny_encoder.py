"""A tiny but real embedding model in a folder as Hugging Face lays it out: it runs on onnxruntime.

The vector of a token is a row of a table, so that a test can calculate what pooling gives.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tests.reranking.onnx_writer import Message, model, node
from tests.reranking.tiny_model import SPECIAL, make_tokenizer

DIMENSIONS = 16


def make_table(size: int, seed: int = 0) -> np.ndarray:
    table = np.random.default_rng(seed).normal(size=(size, DIMENSIONS)).astype(np.float32)
    table[0] = 1000  # padding that the mask does not hide would show
    return table


def make_folder(
    folder: Path,
    *,
    pooling: dict[str, Any] | None = None,
    where: str = "onnx/model.onnx",
    output: str = "last_hidden_state",
    quantized: bool = False,
    seed: int = 0,
    **files: Any,
) -> Path:
    """`files` are further JSON files, with "__" for "/"."""
    tokenizer = make_tokenizer()
    (folder / where).parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / where).write_bytes(_make_model(tokenizer, output, quantized, seed))
    documents = {"config": {"model_type": "bert", "max_position_embeddings": 512}, **files}
    if pooling is not None:
        documents["1_Pooling__config"] = pooling
    for name, document in documents.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
    return folder


def token_vectors(folder: Path, text: str, seed: int = 0) -> np.ndarray:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    vectors: np.ndarray = make_table(tokenizer.get_vocab_size(), seed)[tokenizer.encode(text).ids]
    return vectors


def _make_model(tokenizer: Tokenizer, output: str, quantized: bool, seed: int) -> bytes:
    table = make_table(tokenizer.get_vocab_size(), seed)
    nodes: list[Message] = [
        node("Gather", ["table", "input_ids"], "words", axis=0),
        node("Cast", ["attention_mask"], "mask", to=1),
        node("Unsqueeze", ["mask", "two"], "wide"),
        node("Mul", ["wide", "zero"], "nothing"),
        node("Add", ["words", "nothing"], "tokens" if quantized else output),
    ]
    if quantized:  # scaled by the largest number of the whole batch
        scaled: Message = [
            (1, "tokens"),
            (2, "bytes"),
            (2, "scale"),
            (2, "point"),
            (4, "DynamicQuantizeLinear"),
        ]
        nodes += [scaled, node("DequantizeLinear", ["bytes", "scale", "point"], output)]
    constants = {"table": table, "two": np.array([2]), "zero": np.zeros(1, np.float32)}
    if output == "sentence_embedding":
        nodes[-1] = node("Add", ["words", "nothing"], "tokens")
        nodes.append(node("ReduceSum", ["tokens", "one"], output, keepdims=0))
        constants["one"] = np.array([1])
    return model(nodes, {"input_ids": "int64", "attention_mask": "int64"}, [output], constants)


assert SPECIAL[0] == "[PAD]"
