"""A loopback web server with a configurable response, valid or not, per path."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from veracity.deadlines import Deadline
from veracity.websearch.addresses import refusal_reason
from veracity.websearch.fetch import Resolve

Behaviour = Callable[["Handler"], None]
HTML = "text/html"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]  # their names in lower case
    body: bytes


def send(content: bytes | str, kind: str = HTML, status: int = 200, **headers: str) -> Behaviour:
    data = content.encode() if isinstance(content, str) else content

    def respond(handler: Handler) -> None:
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.begin(status, {"Content-Type": kind, "Content-Length": str(len(data)), **sent_headers})
        handler.wfile.write(data)

    return respond


def send_without_length(content: bytes, **headers: str) -> Behaviour:
    """Send a body without Content-Length, which ends when the connection closes."""

    def respond(handler: Handler) -> None:
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.begin(200, {"Content-Type": HTML, "Connection": "close", **sent_headers})
        handler.wfile.write(content)

    return respond


def send_gzip(content: bytes) -> Behaviour:
    return send(gzip.compress(content), Content_Encoding="gzip")


def send_json(value: Any, status: int = 200, **headers: str) -> Behaviour:
    return send(json.dumps(value), "application/json", status, **headers)


def redirect(location: str, status: int = 302, **headers: str) -> Behaviour:
    return send("", status=status, Location=location, **headers)


def hang(handler: Handler) -> None:
    handler.server.stopping.wait(600)


def drip_bytes(handler: Handler) -> None:
    """Send the body byte by byte: each read succeeds, and the response never ends."""
    handler.begin(200, {"Content-Type": HTML, "Content-Length": "100000"})
    handler.keep_sending(b" ", every=0.02)


def drip_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    handler.keep_sending(b"x", every=0.02)


def send_endlessly(handler: Handler) -> None:
    """Send an endless body without Content-Length."""
    handler.begin(200, {"Content-Type": HTML, "Connection": "close"})
    handler.keep_sending(b" " * 65536, every=0)


def disconnect(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.close()


def not_found(handler: Handler) -> None:
    send("Not found.", status=404)(handler)


class WebServer(ThreadingHTTPServer):
    """`resolve` maps every name to this server; `vet` allows no other private address."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.stopping = threading.Event()
        self.pages: dict[str, Behaviour] = {}
        self.requests: list[Request] = []
        self.asked: list[str] = []  # names that were resolved

    @property
    def port(self) -> int:
        return self.server_address[1]

    def url(self, path: str, host: str = "news.example.com", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def vet(self, address: str, port: int) -> str:
        return "" if (address, port) == ("127.0.0.1", self.port) else refusal_reason(address, port)

    def resolve(self, host: str, port: int, deadline: Deadline) -> list[str]:
        self.asked.append(host)
        return ["127.0.0.1"]

    def enable_tls(self, certificate: str, key: str, names: list[str | None]) -> None:
        """Serve over TLS; `names` records the server names that clients request."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.sni_callback = lambda _, name, __: names.append(name)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignored: tests disconnect on purpose."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: WebServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.command, self.path, headers, body))
        pages = self.server.pages
        pages.get(self.path.partition("?")[0], pages.get("*", not_found))(self)

    do_POST = do_GET

    def begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def keep_sending(self, data: bytes, every: float) -> None:
        end = time.monotonic() + 600
        while time.monotonic() < end and not self.server.stopping.wait(every):
            try:
                self.wfile.write(data)
            except OSError:
                return

    def log_message(self, format: str, *args: Any) -> None:
        """Disabled."""


def resolver_for(**addresses: list[str]) -> Resolve:
    """A resolver for these names only (with _ for dots)."""

    def resolve(host: str, port: int, deadline: Deadline) -> list[str]:
        if (name := host.replace(".", "_")) not in addresses:
            raise OSError("no such name")
        return addresses[name]

    return resolve
