"""An OpenAI-compatible chat server on loopback that behaves as it is told, one behaviour per request."""

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
    """A right answer, as a tool call or as JSON text, whichever was asked for."""
    return says(json.dumps({"reason": reason, "score": score}))


def says(content: str, finish_reason: str = "stop", **message: Any) -> Behaviour:
    """Whatever content, in the place where a structured answer belongs."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.complete(body, content, finish_reason, message)

    return respond


def text(content: str) -> Behaviour:
    """Plain text although a tool call was asked for."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.complete({**body, "tools": None}, content, "stop", {})

    return respond


def calls_tools(*calls: tuple[str, str]) -> Behaviour:
    """Any tool calls, as (name, arguments), whatever was asked for."""
    listed = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls)
    ]
    return says("", tool_calls=listed)


def refuses(handler: Handler, body: dict[str, Any]) -> None:
    handler.complete(body, "", "stop", {"refusal": "I cannot help with that.", "tool_calls": None})


def status(code: int, body: Any = None, **headers: str) -> Behaviour:
    def respond(handler: Handler, _: dict[str, Any]) -> None:
        error = body if body is not None else {"error": {"message": f"status {code}", "type": "test"}}
        handler.send(code, error, {name.replace("_", "-"): value for name, value in headers.items()})

    return respond


def raw(content: bytes, **headers: str) -> Behaviour:
    """Any bytes, status 200."""

    def respond(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_bytes(200, content, {name.replace("_", "-"): value for name, value in headers.items()})

    return respond


def promises_more(handler: Handler, _: dict[str, Any]) -> None:
    """Says that its body is longer than it is, and hangs up."""
    handler.send_bytes(200, b'{"id": "1"}', {"Content-Length": "5000"})
    handler.close_connection = True


def redirects(handler: Handler, _: dict[str, Any]) -> None:
    """To itself, for ever."""
    handler.send(307, {}, {"Location": handler.path})


def after(seconds: float, behaviour: Behaviour) -> Behaviour:
    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.server.stopping.wait(seconds)
        behaviour(handler, body)

    return respond


def hangs(seconds: float = 30) -> Behaviour:
    def respond(handler: Handler, _: dict[str, Any]) -> None:
        handler.server.stopping.wait(seconds)

    return respond


def drips(seconds: float = 30, every: float = 0.02) -> Behaviour:
    """A byte now and then: each read succeeds, the answer never ends."""

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


def closes(handler: Handler, _: dict[str, Any]) -> None:
    """Hangs up without a word."""
    handler.close_connection = True
    handler.connection.close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.turn = threading.Lock()
        self.stopping = threading.Event()
        self.under_way = 0
        self.forget()

    def forget(self) -> None:
        """Behave as if new. Whoever still hangs or drips stops."""
        self.stopping.set()
        self.stopping = threading.Event()
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.behaviours: list[Behaviour] = []
        self.most_under_way = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.turn:
            number = len(self.server.requests)
            self.server.requests.append(body)
            self.server.times.append(time.monotonic())
            self.server.under_way += 1
            self.server.most_under_way = max(self.server.most_under_way, self.server.under_way)
        behaviours = self.server.behaviours or [verdict()]
        try:
            behaviours[min(number, len(behaviours) - 1)](self, body)
        finally:
            with self.server.turn:
                self.server.under_way -= 1

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
        """Quiet."""


class LoopbackServer:
    """`behaves(a, b, c)`: the first request gets a, the second b, the third and all later ones c."""

    def __enter__(self) -> Self:
        self._server = Server()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def forget(self) -> None:
        self._server.forget()

    def behaves(self, *behaviours: Behaviour) -> None:
        self._server.behaviours = list(behaviours)

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self._server.requests

    @property
    def times(self) -> list[float]:
        return self._server.times

    @property
    def most_at_once(self) -> int:
        return self._server.most_under_way


class SilentServer:
    """Lets everybody connect, reads nothing and says nothing: the system accepts, up to its backlog, on our behalf."""

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
