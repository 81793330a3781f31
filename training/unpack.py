"""Makes weights to train from out of the bundled models, whose own are not kept.

    python -m training.unpack src/veracity/embedding/multilingual DATA/minilm.npz OUT
    python -m training.unpack src/veracity/answer_reader/multilingual DATA/minilm.npz OUT --reader

Writes OUT/embedder.0.npz …, tokenizer.json and vocab.json, or OUT/start.0.npz … of the reader. The embedder's graph
ends at 256 positions and knows one segment: later positions and the second segment are MiniLM's. The cosine with the
bundled vectors is .999.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from training.onnx_encoder import WIDTH
from training.tokens import WORD_PIECES
from training.weights import Weights, load_minilm, save_parts

QUERY_KEY_VALUE = "attention.self."
LINEAR = (QUERY_KEY_VALUE, "attention.output.dense", "intermediate.dense", "output.dense")
NORMALIZATIONS = ("attention.output.LayerNorm", "output.LayerNorm")
HEADS = {"masked_words.0": WIDTH, "answer": 1, "unit.0": WIDTH, "unit.2": 1}  # outputs; they start at random


class Graph:
    """The nodes of `training.onnx_encoder` in their order."""

    def __init__(self, file: Path) -> None:
        graph = onnx.load(file).graph
        self.nodes = list(graph.node)
        self.constants = {value.name: numpy_helper.to_array(value) for value in graph.initializer}
        self.users = {name: node for node in self.nodes for name in node.input if name not in self.constants}

    def of_type(self, operation: str) -> list[onnx.NodeProto]:
        return [node for node in self.nodes if node.op_type == operation]

    def linear(self, node: onnx.NodeProto) -> tuple[np.ndarray, np.ndarray]:
        """Weight and bias of a multiplication: its result is scaled, then the bias is added."""
        weight = self.constants[node.input[1]].astype(np.float32) * self.constants[node.input[3]][None]
        added = self.users[self.users[node.output[0]].output[0]]
        return weight, next(self.constants[name] for name in added.input if name in self.constants)

    def float_linear(self, node: onnx.NodeProto) -> tuple[np.ndarray, np.ndarray]:
        """Weight and bias of a head."""
        added = self.users[node.output[0]]
        return self.constants[node.input[1]], next(
            self.constants[name] for name in added.input if name in self.constants
        )


def encoder_weights(graph: Graph) -> Weights:
    words, scales = (lookup_table(graph, number) for number in (0, 1))
    weights: Weights = {"embeddings.word_embeddings.weight": words.astype(np.float32) * scales}
    layers = range(len(graph.of_type("MultiHeadAttention")))
    names = [f"encoder.layer.{number}.{part}" for number in layers for part in NORMALIZATIONS]
    for name, node in zip(["embeddings.LayerNorm", *names], graph.of_type("LayerNormalization"), strict=True):
        weights[f"{name}.weight"], weights[f"{name}.bias"] = (graph.constants[given] for given in node.input[1:3])
    names = [f"encoder.layer.{number}.{part}" for number in layers for part in LINEAR]
    for name, node in zip(names, graph.of_type("MatMulIntegerToFloat"), strict=True):
        weight, bias = graph.linear(node)
        parts = [name + part for part in ("query", "key", "value")] if name.endswith(QUERY_KEY_VALUE) else [name]
        for part, columns, offsets in zip(
            parts, np.split(weight, len(parts), 1), np.split(bias, len(parts)), strict=True
        ):
            weights[f"{part}.weight"], weights[f"{part}.bias"] = columns.T, offsets
    return weights


def lookup_table(graph: Graph, number: int) -> np.ndarray:
    """The tables that token numbers are looked up in: words, then their scales."""
    lookups = [node for node in graph.of_type("Gather") if node.input[1] == "input_ids"]
    return graph.constants[lookups[number].input[0]]


def position_weights(graph: Graph, minilm: Weights) -> Weights:
    stored = graph.constants[graph.of_type("Slice")[0].input[0]]  # with the first segment added
    positions, segments = (minilm[f"embeddings.{name}_embeddings.weight"] for name in ("position", "token_type"))
    later = positions[len(stored) :] + segments[0]
    return {
        "embeddings.position_embeddings.weight": np.concatenate([stored, later]),
        "embeddings.token_type_embeddings.weight": np.stack([np.zeros(WIDTH), segments[1] - segments[0]]),
    }


def head_weights() -> Weights:
    chance = np.random.default_rng(1)
    weights: Weights = {"masked_words.2.weight": np.ones(WIDTH), "masked_words.2.bias": np.zeros(WIDTH)}
    for name, outputs in HEADS.items():
        weights[f"{name}.weight"] = 0.02 * chance.standard_normal((outputs, WIDTH))
        weights[f"{name}.bias"] = np.zeros(outputs)
    return weights


def trained_head_weights(graph: Graph) -> Weights:
    """The heads of the reader. It has no head for masked words: that one starts at random."""
    weights = head_weights()
    for name, node in zip(("answer", "unit.0", "unit.2"), graph.of_type("MatMul"), strict=True):
        weight, weights[f"{name}.bias"] = graph.float_linear(node)
        weights[f"{name}.weight"] = weight.T
    return weights


def segment_weights(graph: Graph) -> Weights:
    """Positions and segments of the reader, which has all of them."""
    [segments] = [node for node in graph.of_type("Gather") if node.input[1] == "token_type_ids"]
    return {
        "embeddings.position_embeddings.weight": graph.constants[graph.of_type("Slice")[0].input[0]],
        "embeddings.token_type_embeddings.weight": graph.constants[segments.input[0]],
    }


def unpack_reader(folder: Path, out: Path) -> None:
    graph = Graph(folder / "model.onnx")
    weights = {**encoder_weights(graph), **segment_weights(graph), **trained_head_weights(graph)}
    save_parts(weights, out / "start")


def unpack(folder: Path, minilm: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    graph = Graph(folder / "model.onnx")
    save_parts(
        {**encoder_weights(graph), **position_weights(graph, load_minilm(minilm)), **head_weights()}, out / "embedder"
    )
    document = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    added = (folder / "tokens.txt").read_text(encoding="utf-8").splitlines()
    vocabulary = {**document["model"]["vocab"], **{token: WORD_PIECES + at for at, token in enumerate(added)}}
    (out / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    (out / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    print("tokens", len(vocabulary))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the bundled model")
    parser.add_argument("minilm", type=Path, help="MiniLM's weights, from training.weights")
    parser.add_argument("out", type=Path)
    parser.add_argument("--reader", action="store_true", help="the model is the answer reader")
    arguments = parser.parse_args()
    if arguments.reader:
        unpack_reader(arguments.folder, arguments.out)
    else:
        unpack(arguments.folder, arguments.minilm, arguments.out)


if __name__ == "__main__":
    main()
