"""Finds the ONNX model and the tokenizer in a folder, as Hugging Face lays them out."""

from __future__ import annotations

from pathlib import Path

MODEL_FILES = tuple(
    f"{folder}{name}.onnx" for name in ("model", "model_quantized", "model_optimized") for folder in ("", "onnx/")
)


def find_model_file(folder: Path) -> Path:
    """One of the usual names, or the only ONNX file."""
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    others = [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")]  # none if there is no such folder
    if len(others) == 1:
        return others[0]
    raise ValueError(
        "it has no model.onnx or onnx/model.onnx"
        if not others
        else "it has several ONNX files, and none is called model.onnx"
    )


def find_tokenizer(folder: Path, model_file: Path) -> Path:
    for place in (folder, model_file.parent):
        if (place / "tokenizer.json").is_file():
            return place / "tokenizer.json"
    raise ValueError("it has no tokenizer.json")
