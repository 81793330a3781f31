"""Packs a Qwen2.5-1.5B GGUF file: the tensors as they are, without the tokens of languages that are not used.

The result is a folder with lm.bin, index.json ([name, shape, type, start, bytes]), keep.npy (numbers of the kept
tokens) and tokenizer.json.
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

FLOAT, Q4_K, Q6_K = 0, 12, 14  # tensor types
BLOCKS = {FLOAT: (1, 4), Q4_K: (256, 144), Q6_K: (256, 210)}  # values and bytes of a block
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
FIRST_SPECIAL = 151_643
KEPT_CHARACTERS = re.compile(
    r"[\x00-\x7f\u00a0-\u00ff\u2000-\u22ff\u2500-\u27bf\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]*\Z"
)
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Tensor(NamedTuple):
    name: str
    dimensions: tuple[int, ...]
    kind: int
    offset: int


class Header:
    """Metadata and the list of tensors."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        if file.read(4) != b"GGUF":
            raise SystemExit(f"{file.name} is not a GGUF file.")
        _, tensors, entries = self._unpack("IQQ")
        self.metadata: dict[str, Any] = {}
        for _ in range(entries):
            key = self._string()
            self.metadata[key] = self._value(self._unpack("I")[0])
        self.tensors = [self._tensor() for _ in range(tensors)]
        self.start = -(-file.tell() // 32) * 32

    def _unpack(self, format_: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{format_}", self.file.read(struct.calcsize(f"<{format_}")))

    def _string(self) -> str:
        return self.file.read(self._unpack("Q")[0]).decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind == ARRAY:
            inner, count = self._unpack("IQ")
            return [self._value(inner) for _ in range(count)]
        return self._unpack(NUMBERS[kind])[0]

    def _tensor(self) -> Tensor:
        name = self._string()
        dimensions = self._unpack("Q" * self._unpack("I")[0])
        kind, offset = self._unpack("IQ")
        return Tensor(name, dimensions, kind, offset)


def byte_alphabet() -> dict[str, int]:
    """The characters by which byte-level BPE writes bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


def kept_tokens(tokens: list[str]) -> list[int]:
    """Tokens of Latin, Chinese and Japanese script, parts of characters, and three special ones."""
    alphabet = byte_alphabet()
    kept = []
    for number, token in enumerate(tokens[:FIRST_SPECIAL]):
        try:
            text = bytes(alphabet[character] for character in token).decode()
        except UnicodeDecodeError:
            kept.append(number)
            continue
        if KEPT_CHARACTERS.match(text):
            kept.append(number)
    return kept + [FIRST_SPECIAL + place for place in range(len(SPECIAL))]


def tokenizer_document(tokens: list[str], merges: list[str]) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": FIRST_SPECIAL + place, "content": text, **flags} for place, text in enumerate(SPECIAL)],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: number for number, token in enumerate(tokens[:FIRST_SPECIAL])},
            "merges": merges,
        },
    }


def pack(gguf: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gguf.open("rb") as file:
        header = Header(file)
    tokens = header.metadata["tokenizer.ggml.tokens"]
    kept = kept_tokens(tokens)
    document = tokenizer_document(tokens, header.metadata["tokenizer.ggml.merges"])
    (folder / "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    np.save(folder / "keep.npy", np.array(kept, np.int32))
    stored = np.memmap(gguf, np.uint8, "r")
    index: list[list[Any]] = []
    position = 0
    with (folder / "lm.bin").open("wb") as target:
        for tensor in header.tensors:
            if tensor.name == "token_embd.weight":  # the same as the output weights
                continue
            values, size = BLOCKS[tensor.kind]
            start = header.start + tensor.offset
            raw = stored[start : start + int(np.prod(tensor.dimensions)) // values * size]
            shape = list(tensor.dimensions)[::-1]
            if tensor.name == "output.weight":
                raw = np.ascontiguousarray(raw.reshape(shape[0], -1)[np.array(kept)]).ravel()
                shape[0] = len(kept)
            target.write(raw.tobytes())
            index.append([tensor.name, shape, tensor.kind, position, raw.nbytes])
            position += raw.nbytes
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")
    print("kept tokens", len(kept), "size", f"{position / 1e6:.0f} MB")
