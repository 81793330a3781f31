"""The wire format between the parent and a worker process: an eight-byte length, then JSON.

A reply may follow any number of `{"part": true}`: with each of them the worker begins another part of the document.

Never pickle: a compromised worker must not be able to run code in the parent.
"""

import json
from typing import IO, Any

MAX_FRAME_BYTES = 512_000_000
PART_SECONDS_FACTOR = 5  # a page to recognise may take this many times the seconds of a whole document
_PREFIX_BYTES = 8


class FrameTooLong(Exception):
    """The message is longer than MAX_FRAME_BYTES."""


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    content = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(content) > MAX_FRAME_BYTES:
        raise FrameTooLong
    stream.write(len(content).to_bytes(_PREFIX_BYTES, "big") + content)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """Raises EOFError at the end of the stream, ValueError for an invalid message."""
    length = int.from_bytes(_read_exactly(stream, _PREFIX_BYTES), "big")
    if length > MAX_FRAME_BYTES:
        raise FrameTooLong
    try:
        message = json.loads(_read_exactly(stream, length).decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError("not an object")
    return message


def _read_exactly(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content
