"""ONNX files without the onnx package: just enough of the format (protocol buffers) for a small graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

TYPES = {"float32": 1, "int32": 6, "int64": 7}
Message = Sequence[tuple[int, "int | str | bytes | Message"]]


def message(fields: Message) -> bytes:
    """Each field is its number and a value: an integer, text, bytes, or a message of its own."""
    return b"".join(_field(number, value) for number, value in fields)


def node(kind: str, inputs: Sequence[str], output: str, **integers: int) -> Message:
    attributes: Message = [(5, [(1, name), (3, value), (20, 2)]) for name, value in integers.items()]
    return [*((1, name) for name in inputs), (2, output), (4, kind), *attributes]


def model(
    nodes: Sequence[Message], inputs: Mapping[str, str], outputs: Sequence[str], constants: Mapping[str, np.ndarray]
) -> bytes:
    """Inputs have their type; both dimensions of theirs are free."""
    graph: Message = [
        *((1, item) for item in nodes),
        (2, "tiny"),
        *((5, _tensor(name, value)) for name, value in constants.items()),
        *((11, _value(name, TYPES[kind], 2)) for name, kind in inputs.items()),
        *((12, _value(name, TYPES["float32"], None)) for name in outputs),
    ]
    return message([(1, 8), (8, [(1, ""), (2, 13)]), (7, graph)])


def _tensor(name: str, value: np.ndarray) -> Message:
    return [*((1, size) for size in value.shape), (2, TYPES[value.dtype.name]), (8, name), (9, value.tobytes())]


def _value(name: str, kind: int, dimensions: int | None) -> Message:
    shape: Message = [] if dimensions is None else [(2, [(1, [(2, f"d{number}")]) for number in range(dimensions)])]
    return [(1, name), (2, [(1, [(1, kind), *shape])])]


def _field(number: int, value: int | str | bytes | Message) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else message(value)
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
