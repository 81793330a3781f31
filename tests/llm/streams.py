"""What a server on loopback may do when it is asked to stream."""

import json
from collections.abc import Callable
from typing import Any

from tests.loopback import Behaviour, Handler

DONE = b"data: [DONE]\n\n"
COUNTED = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def chunk(content: str | None = None, finish_reason: str | None = None, **delta: Any) -> bytes:
    said = {**({} if content is None else {"content": content}), **delta}
    return _event(choices=[{"index": 0, "delta": said, "finish_reason": finish_reason}])


def counted() -> bytes:
    return _event(choices=[], usage=COUNTED)


def _event(**fields: Any) -> bytes:
    whole = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "test-model", **fields}
    return f"data: {json.dumps(whole)}\n\n".encode()


def streams(*contents: str, finish_reason: str = "stop", pause: float = 0.0, **delta: Any) -> Behaviour:
    """As it should be."""
    pieces: list[bytes | float] = []
    for content in contents:
        pieces += [chunk(content), pause]
    return sends(*pieces, chunk(None, finish_reason, **delta), counted(), DONE)


def sends(*pieces: bytes | float | Callable[[], object], ends: bool = True, chunked: bool = True) -> Behaviour:
    """Any bytes, with pauses between them: in seconds, or until a function returns. Without `ends` the connection
    is cut; one that is not `chunked` is cut without a sign of it."""

    def respond(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")))
        handler.end_headers()
        for piece in pieces:
            if isinstance(piece, float):
                if handler.server.stopping.wait(piece):
                    return
            elif callable(piece):
                piece()
            else:
                _write(handler, piece, chunked)
        if chunked and ends:
            _write(handler, b"", chunked)
        handler.close_connection = not (chunked and ends)

    return respond


def _write(handler: Handler, data: bytes, chunked: bool) -> None:
    try:
        handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n" if chunked else data)
        handler.wfile.flush()
    except OSError:
        handler.close_connection = True
