"""An OpenAI-compatible chat server on loopback with a scripted response for each request."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Behaviour = Callable[["Handler", dict[str, Any]], None]


def verdict(score: Any = 80, reason: Any = "It is fine.") -> Behaviour:
    """A valid reply, as a tool call or JSON text as requested."""
    return reply_with(json.dumps({"reason": reason, "score": score}))


def reply_with(content: str, finish_reason: str = "stop", **message: Any) -> Behaviour:
    """Reply with any content, as a tool call if the request has tools."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.complete(body, content, finish_reason, message)

    return respond


def text(content: str) -> Behaviour:
    """Reply with plain text even if the request has tools."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.complete({**body, "tools": None}, content, "stop", {})

    return respond


def call_tools(*calls: tuple[str, str]) -> Behaviour:
    """Reply with tool calls, each a (name, arguments) pair."""
    listed = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls)
    ]
    return reply_with("", tool_calls=listed)


def refuse(handler: Handler, body: dict[str, Any]) -> None:
    handler.complete(body, "", "stop", {"refusal": "I cannot help with that.", "tool_calls": None})


def status(code: int, body: Any = None, **headers: str) -> Behaviour:
    def respond(handler: Handler, _: dict[str, Any]) -> None:
        error = body if body is not None else {"error": {"message": f"status {code}", "type": "test"}}
        handler.send(code, error, {name.replace("_", "-"): value for name, value in headers.items()})

    return respond


def raw(content: bytes, **headers: str) -> Behaviour:
    """Reply with any bytes and status 200."""

    def respond(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_bytes(200, content, {name.replace("_", "-"): value for name, value in headers.items()})

    return respond


def truncate_body(handler: Handler, _: dict[str, Any]) -> None:
    """Send less than Content-Length announces, then disconnect."""
    handler.send_bytes(200, b'{"id": "1"}', {"Content-Length": "5000"})
    handler.close_connection = True


def redirect_forever(handler: Handler, _: dict[str, Any]) -> None:
    """Redirect to itself forever."""
    handler.send(307, {}, {"Location": handler.path})


def after(seconds: float, behaviour: Behaviour) -> Behaviour:
    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.server.stopping.wait(seconds)
        behaviour(handler, body)

    return respond


def after_requests(count: int, behaviour: Behaviour) -> Behaviour:
    """Respond when `count` concurrent requests have arrived."""
    together = threading.Barrier(count)

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        together.wait(300)
        behaviour(handler, body)

    return respond


def hang(seconds: float = 30) -> Behaviour:
    def respond(handler: Handler, _: dict[str, Any]) -> None:
        handler.server.stopping.wait(seconds)

    return respond


def drip_bytes(seconds: float = 30, every: float = 0.02) -> Behaviour:
    """Send the body byte by byte: every read succeeds, and the reply never ends."""

    def respond(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        stopping = handler.server.stopping
        end = time.monotonic() + seconds
        while time.monotonic() < end and not stopping.wait(every):
            try:
                handler.wfile.write(b" ")
                handler.wfile.flush()
            except OSError:
                return

    return respond


def disconnect(handler: Handler, _: dict[str, Any]) -> None:
    """Disconnect without a reply."""
    handler.close_connection = True
    handler.connection.close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.active_requests = 0
        self.reset()

    def reset(self) -> None:
        """Clear the record and end hanging requests."""
        self.stopping.set()
        self.stopping = threading.Event()
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.behaviours: list[Behaviour] = []
        self.max_active_requests = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignored: tests disconnect on purpose."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.requests)
            self.server.requests.append(body)
            self.server.times.append(time.monotonic())
            self.server.active_requests += 1
            self.server.max_active_requests = max(self.server.max_active_requests, self.server.active_requests)
        behaviours = self.server.behaviours or [verdict()]
        try:
            behaviours[min(number, len(behaviours) - 1)](self, body)
        finally:
            with self.server.lock:
                self.server.active_requests -= 1

    def complete(self, body: dict[str, Any], content: str, finish_reason: str, message: dict[str, Any]) -> None:
        if body.get("tools"):
            name = body["tools"][0]["function"]["name"]
            call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": content}}
            message = {"content": None, "tool_calls": [call], **message}
        choice = {
            "index": 0,
            "finish_reason": finish_reason,
            "message": {"role": "assistant", "content": content, **message},
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        self.send(200, {**answer, "choices": [choice], "usage": usage}, {})

    def send(self, code: int, value: Any, headers: dict[str, str]) -> None:
        self.send_bytes(code, json.dumps(value).encode(), headers)

    def send_bytes(self, code: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Disabled."""


class LoopbackServer:
    """`respond_with(a, b, c)` responds to the first request with a, the second with b, and all later ones with c."""

    def __enter__(self) -> Self:
        self._server = Server()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        self._server.reset()

    def respond_with(self, *behaviours: Behaviour) -> None:
        self._server.behaviours = list(behaviours)

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self._server.requests

    @property
    def times(self) -> list[float]:
        return self._server.times

    @property
    def active_requests(self) -> int:
        return self._server.active_requests

    @property
    def max_concurrent_requests(self) -> int:
        return self._server.max_active_requests


class SilentServer:
    """Accepts connections (in the system's backlog) and never reads or replies."""

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
