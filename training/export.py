"""Writes trained weights as int8 ONNX, with the files that the product needs to use them.

    python -m training.export embedder OUT/embedder FOLDER
    python -m training.export reader OUT/reader FOLDER

Needs vocab.json and tokenizer.json beside the weights. Writes model.onnx, tokenizer.json, tokens.txt (the Chinese and
Japanese tokens, numbered after the word pieces) and SHA256SUMS, and compares the quantized graph with the
same graph in float.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]

from training.onnx_encoder import embedder_model, reader_model
from training.tokens import WORD_PIECES, Tokens, enclose
from training.weights import Weights, load_parts

FILES = ("model.onnx", "tokenizer.json", "tokens.txt")
MODELS: dict[str, Callable[..., onnx.ModelProto]] = {"embedder": embedder_model, "reader": reader_model}
LEAST_COSINE = 0.98  # mean, between vectors of the quantized graph and of the one in float
LARGEST_DIFFERENCE = 0.5  # mean, between logits
SENTENCES = (
    "A cat sleeps on the sofa.",
    "How do I reset my password?",
    "The defendant shall, within 30 days of receipt of the notice, remedy the breach at its own expense.",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen. " * 12,
    "员工每年有二十五天带薪年假，未使用的假期可以结转到次年三月底。",
    "如何重置我的密码？",
    "従業員には年間25日の有給休暇があり、未使用分は翌年3月末まで繰り越せます。",
    "パスワードをリセットするにはどうすればよいですか？",
    "Kubernetes の Pod は、1つ以上のコンテナをまとめたものです。",
    "ok",
)


def export(kind: str, prefix: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = load_parts(prefix)
    model = MODELS[kind](weights, quantized=True)
    onnx.checker.check_model(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    (folder / "tokenizer.json").write_bytes(strip_tokenizer(prefix.with_name("tokenizer.json")))
    vocabulary = json.loads(prefix.with_name("vocab.json").read_text(encoding="utf-8"))
    added = sorted((number, token) for token, number in vocabulary.items() if number >= WORD_PIECES)
    (folder / "tokens.txt").write_text("".join(f"{token}\n" for _, token in added), encoding="utf-8")
    (folder / "SHA256SUMS").write_text(checksums(folder), encoding="utf-8")
    compare(kind, weights, folder, Tokens(folder / "tokenizer.json", vocabulary))
    print(checksums(folder), end="")
    print(f"model.onnx {(folder / 'model.onnx').stat().st_size / 1e6:.1f} MB")


def strip_tokenizer(file: Path) -> bytes:
    """Removes padding and truncation (to 128, which the original library ignores as well): the caller sets them."""
    document = json.loads(file.read_text(encoding="utf-8"))
    stripped = {**document, "padding": None, "truncation": None}
    return json.dumps(stripped, ensure_ascii=False, separators=(",", ":")).encode()


def checksums(folder: Path) -> str:
    return "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in FILES)


def compare(kind: str, weights: Weights, folder: Path, tokens: Tokens) -> None:
    """Exits with an error if quantizing changes the outputs too much, or if they depend on the batch."""
    texts = [enclose(tokens.ids(text), 256) for text in SENTENCES]
    quantized = open_session((folder / "model.onnx").read_bytes())
    in_float = open_session(MODELS[kind](weights, quantized=False).SerializeToString())
    ours, expected = first_output(quantized, texts), first_output(in_float, texts)
    alone = np.concatenate([first_output(quantized, [text]) for text in texts])
    print(f"largest difference between a text alone and in a batch: {np.abs(ours - alone).max():.2e}")
    if kind == "embedder":
        cosine = float((ours * expected).sum(1).mean())
        print(f"mean cosine with the graph in float: {cosine:.5f}")
        passed = cosine >= LEAST_COSINE
    else:
        difference = float(np.abs(ours - expected).mean())
        print(f"mean difference from the logits in float: {difference:.4f}")
        passed = difference <= LARGEST_DIFFERENCE
    if not passed:
        raise SystemExit("Quantizing changes the outputs too much.")


def open_session(model: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def first_output(session: onnxruntime.InferenceSession, texts: list[list[int]]) -> np.ndarray:
    """The vectors, or the logits of the windows."""
    width = max(map(len, texts))
    ids = np.array([text + [0] * (width - len(text)) for text in texts], np.int64)
    mask = np.array([[1] * len(text) + [0] * (width - len(text)) for text in texts], np.int64)
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    names = [given.name for given in session.get_inputs()]
    return np.asarray(session.run(None, {name: inputs[name] for name in names})[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(MODELS))
    parser.add_argument("prefix", type=Path, help="of the weights: OUT/embedder for OUT/embedder.0.npz …")
    parser.add_argument("folder", type=Path, help="to write to")
    arguments = parser.parse_args()
    export(arguments.kind, arguments.prefix, arguments.folder)


if __name__ == "__main__":
    main()
