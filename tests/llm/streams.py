"""Valid and invalid streaming responses of the loopback server."""

import json
from collections.abc import Callable
from typing import Any

from tests.loopback import Behaviour, Handler

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def chunk(content: str | None = None, finish_reason: str | None = None, **delta: Any) -> bytes:
    fields = {**({} if content is None else {"content": content}), **delta}
    return _event(choices=[{"index": 0, "delta": fields, "finish_reason": finish_reason}])


def usage_chunk() -> bytes:
    return _event(choices=[], usage=USAGE)


def _event(**fields: Any) -> bytes:
    whole = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "test-model", **fields}
    return f"data: {json.dumps(whole)}\n\n".encode()


def stream_text(*contents: str, finish_reason: str = "stop", pause: float = 0.0, **delta: Any) -> Behaviour:
    """A correct stream."""
    pieces: list[bytes | float] = []
    for content in contents:
        pieces += [chunk(content), pause]
    return send_chunks(*pieces, chunk(None, finish_reason, **delta), usage_chunk(), DONE)


def send_chunks(*pieces: bytes | float | Callable[[], object], ends: bool = True, chunked: bool = True) -> Behaviour:
    """Any bytes, with pauses between them: in seconds, or until a function returns.

    Without `ends` the connection is cut; if it is not `chunked` either, the client cannot notice.
    """

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
