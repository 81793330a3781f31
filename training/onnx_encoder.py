"""MiniLM's encoder as an ONNX graph, quantized. Built node by node: the same weights give the same bytes.

Quantization: the weights of a layer are 7-bit integers with a scale per output; 8 bits would overflow in the integer
kernels of processors without VNNI and give different vectors there. Activations have 8 bits with a scale per *token*:
with a scale per batch, as usual, a text's vector would depend on the other texts in the batch. Word embeddings have 8
bits with a scale per word. Everything else is float.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training.weights import Weights, count_layers

WIDTH, HEADS = 384, 12
EPSILON = 1e-12  # of the layer normalizations


class Graph:
    """Nodes and constants in order of addition, named by number."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: Any, kind: type = np.float32) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=kind), name))
        return name

    def add(self, operation: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        return self.add_many(operation, *inputs, count=1, domain=domain, **attributes)[0]

    def add_many(self, operation: str, *inputs: str, count: int, domain: str = "", **attributes: Any) -> list[str]:
        names = [f"value_{len(self.nodes)}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(operation, list(inputs), names, domain=domain, **attributes))
        return names

    def output(self, name: str, operation: str, *inputs: str) -> None:
        """The last node of an output, which gives it its name."""
        self.nodes.append(helper.make_node(operation, list(inputs), [name]))

    def model(self, name: str, inputs: list[str], outputs: dict[str, list[str | int]]) -> onnx.ModelProto:
        given = [helper.make_tensor_value_info(key, TensorProto.INT64, ["batch", "length"]) for key in inputs]
        returned = [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, name, given, returned, self.constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="veracity")


class Encoder:
    """BERT up to the hidden states. `quantized=False` gives the same graph in float, to compare with."""

    def __init__(self, weights: Weights, *, quantized: bool, positions: int) -> None:
        self.weights = weights
        self.quantized = quantized
        self.positions = positions
        self.graph = Graph()

    def add_hidden(self, segments: str | None = None) -> str:
        """From the inputs `input_ids` and `attention_mask`. Without `segments`, all tokens are of the first."""
        x = self._add_embeddings(segments)
        mask = self.graph.add("Cast", "attention_mask", to=TensorProto.INT32)
        for number in range(count_layers(self.weights)):
            x = self._add_layer(x, mask, f"encoder.layer.{number}.")
        return x

    def add_float_linear(self, x: str, name: str) -> str:
        """For heads, whose outputs are few."""
        g = self.graph
        weight, bias = (self.weights[f"{name}.{part}"] for part in ("weight", "bias"))
        return g.add("Add", g.add("MatMul", x, g.constant(weight.T)), g.constant(bias))

    def _add_embeddings(self, segments: str | None) -> str:
        g = self.graph
        words = self.weights["embeddings.word_embeddings.weight"]
        if self.quantized:
            table, scale = quantize(words, axis=1, largest=127)
            rows = g.add("Cast", g.add("Gather", g.constant(table, np.int8), "input_ids"), to=TensorProto.FLOAT)
            x = g.add("Mul", rows, g.add("Gather", g.constant(scale), "input_ids"))
        else:
            x = g.add("Gather", g.constant(words), "input_ids")
        positions = self.weights["embeddings.position_embeddings.weight"][: self.positions]
        types = self.weights["embeddings.token_type_embeddings.weight"]
        if segments is None:
            positions = positions + types[0]
        else:
            x = g.add("Add", x, g.add("Gather", g.constant(types), segments))
        zero, one = g.constant([0], np.int64), g.constant([1], np.int64)
        length = g.add("Gather", g.add("Shape", "input_ids"), one)
        x = g.add("Add", x, g.add("Slice", g.constant(positions), zero, length, zero))
        return self._add_normalization(x, "embeddings.LayerNorm")

    def _add_layer(self, x: str, mask: str, layer: str) -> str:
        g = self.graph
        attention = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
        parts = g.add_many("Split", self._add_linear(x, *attention), count=3, axis=-1, num_outputs=3)
        attended = g.add("MultiHeadAttention", *parts, "", mask, domain="com.microsoft", num_heads=HEADS)
        projected = self._add_linear(attended, f"{layer}attention.output.dense")
        x = self._add_normalization(g.add("Add", projected, x), f"{layer}attention.output.LayerNorm")
        wide = g.add("Gelu", self._add_linear(x, f"{layer}intermediate.dense"))
        narrow = self._add_linear(wide, f"{layer}output.dense")
        return self._add_normalization(g.add("Add", narrow, x), f"{layer}output.LayerNorm")

    def _add_linear(self, x: str, *names: str) -> str:
        """Merges layers with the same input into one multiplication."""
        g = self.graph
        weight = np.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        if not self.quantized:
            return g.add("Add", g.add("MatMul", x, g.constant(weight)), g.constant(bias))
        matrix, scale = quantize(weight, axis=0, largest=63)
        one, middle = g.constant(1), g.constant(128, np.uint8)
        largest = g.add("ReduceMax", g.add("Abs", x), g.constant([-1], np.int64), keepdims=1)
        step = g.add("Max", g.add("Mul", largest, g.constant(1 / 127)), g.constant(1e-9))  # per token
        quantized = g.add("QuantizeLinear", g.add("Div", x, step), one, middle)
        factors = (quantized, g.constant(matrix, np.int8), one, g.constant(scale[0]), middle)
        product = g.add("MatMulIntegerToFloat", *factors, domain="com.microsoft")
        return g.add("Add", g.add("Mul", product, step), g.constant(bias))

    def _add_normalization(self, x: str, name: str) -> str:
        weight, bias = (self.graph.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.graph.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=EPSILON)


def embedder_model(weights: Weights, *, quantized: bool, name: str = "embedder") -> onnx.ModelProto:
    """Vectors of unit length. Sums instead of averaging: the result is normalized anyway."""
    encoder = Encoder(weights, quantized=quantized, positions=256)
    g = encoder.graph
    hidden = encoder.add_hidden()
    mask = g.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    masked = g.add("Mul", hidden, g.add("Unsqueeze", mask, g.constant([2], np.int64)))
    total = g.add("ReduceSum", masked, g.constant([1], np.int64), keepdims=0)
    length = g.add("ReduceL2", total, g.constant([1], np.int64), keepdims=1)
    g.output("embedding", "Div", total, length)
    return g.model(name, ["input_ids", "attention_mask"], {"embedding": ["batch", WIDTH]})


def reader_model(weights: Weights, *, quantized: bool) -> onnx.ModelProto:
    """Two logits: `answer` for the window, and `unit` for each token, to be read at the markers of units."""
    encoder = Encoder(weights, quantized=quantized, positions=512)
    g = encoder.graph
    hidden = encoder.add_hidden("token_type_ids")
    first = g.add("Gather", hidden, g.constant([0], np.int64), axis=1)
    g.output("answer", "Squeeze", encoder.add_float_linear(first, "answer"), g.constant([1, 2], np.int64))
    inner = g.add("Gelu", encoder.add_float_linear(hidden, "unit.0"))
    g.output("unit", "Squeeze", encoder.add_float_linear(inner, "unit.2"), g.constant([2], np.int64))
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return g.model("reader", inputs, {"answer": ["batch"], "unit": ["batch", "length"]})


def quantize(weight: np.ndarray, axis: int, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns integers and their scales, one per row or column."""
    scale = np.abs(weight).max(axis=axis, keepdims=True).astype(np.float32) / np.float32(largest)
    scale[scale == 0] = 1
    return np.clip(np.rint(weight / scale), -largest, largest).astype(np.int8), scale
