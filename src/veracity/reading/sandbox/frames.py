"""How the two ends of a pipe speak: the length in eight bytes, then JSON.

Never pickle: whoever has taken over a worker must not be able to run code at the other end. Knows nothing about what
is said.
"""

from __future__ import annotations

import json
from typing import IO, Any

LONGEST = 512_000_000  # bytes
_PREFIX = 8


class TooLong(Exception):
    """The message is longer than any may be."""


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    content = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(content) > LONGEST:
        raise TooLong
    stream.write(len(content).to_bytes(_PREFIX, "big") + content)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """Raises EOFError at the end, ValueError for what is no message."""
    length = int.from_bytes(_exactly(stream, _PREFIX), "big")
    if length > LONGEST:
        raise TooLong
    try:
        message = json.loads(_exactly(stream, length).decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError("not an object")
    return message


def _exactly(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content
