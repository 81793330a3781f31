"""A web server on loopback whose paths behave as they are told, also badly."""

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
from veracity.websearch.addresses import why_refused
from veracity.websearch.fetch import Resolve

Behaviour = Callable[["Handler"], None]
HTML = "text/html"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]  # their names in lower case
    body: bytes


def sends(content: bytes | str, kind: str = HTML, status: int = 200, **headers: str) -> Behaviour:
    data = content.encode() if isinstance(content, str) else content

    def respond(handler: Handler) -> None:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.begin(status, {"Content-Type": kind, "Content-Length": str(len(data)), **told})
        handler.wfile.write(data)

    return respond


def unmeasured(content: bytes, **headers: str) -> Behaviour:
    """Ends when the connection does, and nobody is told before."""

    def respond(handler: Handler) -> None:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.begin(200, {"Content-Type": HTML, "Connection": "close", **told})
        handler.wfile.write(content)

    return respond


def packed(content: bytes) -> Behaviour:
    return sends(gzip.compress(content), Content_Encoding="gzip")


def answers(value: Any, status: int = 200, **headers: str) -> Behaviour:
    return sends(json.dumps(value), "application/json", status, **headers)


def redirects(location: str, status: int = 302, **headers: str) -> Behaviour:
    return sends("", status=status, Location=location, **headers)


def hangs(handler: Handler) -> None:
    handler.server.stopping.wait(30)


def drips(handler: Handler) -> None:
    """A byte of the body now and then: each read succeeds, and it never ends."""
    handler.begin(200, {"Content-Type": HTML, "Content-Length": "100000"})
    handler.keep_sending(b" ", every=0.02)


def drips_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    handler.keep_sending(b"x", every=0.02)


def endless(handler: Handler) -> None:
    """As fast as it can, without a length."""
    handler.begin(200, {"Content-Type": HTML, "Connection": "close"})
    handler.keep_sending(b" " * 65536, every=0)


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.close()


def not_found(handler: Handler) -> None:
    sends("Not found.", status=404)(handler)


class WebServer(ThreadingHTTPServer):
    """Under names of the tests' choosing: `resolve` leads every name here, `vet` lets nobody in anywhere else."""

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
        return "" if (address, port) == ("127.0.0.1", self.port) else why_refused(address, port)

    def resolve(self, host: str, port: int, deadline: Deadline) -> list[str]:
        self.asked.append(host)
        return ["127.0.0.1"]

    def protect(self, certificate: str, key: str, names: list[str | None]) -> None:
        """Speak TLS; `names` records which server the clients asked for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.sni_callback = lambda _, name, __: names.append(name)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""

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
        end = time.monotonic() + 30
        while time.monotonic() < end and not self.server.stopping.wait(every):
            try:
                self.wfile.write(data)
            except OSError:
                return

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def leads_to(**addresses: list[str]) -> Resolve:
    """A resolver that knows these names (with _ for their dots) and no other."""

    def resolve(host: str, port: int, deadline: Deadline) -> list[str]:
        if (name := host.replace(".", "_")) not in addresses:
            raise OSError("no such name")
        return addresses[name]

    return resolve
