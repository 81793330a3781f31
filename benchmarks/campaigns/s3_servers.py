"""S3 servers on the loopback interface: moto and s3rver, and a proxy that interferes with requests.

moto has its own virtual environment (`make .venv-moto/installed`), because its dependencies clash with LanceDB's.
s3rver comes from npm (`make s3rver`).
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Literal, Self
from urllib.parse import urlsplit

MOTO = Path(__file__).parents[2] / ".venv-moto" / "bin" / "moto_server"
S3RVER = Path(__file__).parents[2] / ".s3rver" / "node_modules" / ".bin" / "s3rver"
NOT_INSTALLED = "moto is not installed: run make .venv-moto/installed"
START_SECONDS = 60.0
BUCKET = "veracity-test"
# moto's threads test the condition of a put and store the object in two steps: on a busy machine two puts would win.
ATOMIC_MOTO = """
import sys, threading
from moto import server
lock, call = threading.Lock(), server.DomainDispatcherApplication.__call__
def call_alone(app, environ, start_response):
    if environ["REQUEST_METHOD"] not in ("PUT", "POST"):
        return call(app, environ, start_response)
    with lock:
        return call(app, environ, start_response)
server.DomainDispatcherApplication.__call__ = call_alone
server.main(sys.argv[1:])
"""
# moto accepts any keys. They are read from the environment, as with any other server.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "loopback-key-id",
    "AWS_SECRET_ACCESS_KEY": "loopback-secret-key",
    "AWS_REGION": "us-east-1",
    "NO_PROXY": "127.0.0.1",
}
HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "date", "server")

Moment = Literal["before", "after", "late"]
MOMENTS: tuple[Moment, ...] = ("before", "after", "late")


def is_moto_installed() -> bool:
    return MOTO.exists()


class LocalServer:
    """A server in a process of its own, with one empty bucket. Use it as a context manager."""

    def __init__(self, *command: str | Path, **environment: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._command = [*command, "-p", str(self._port)]
        self._environment = environment

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self._environment},
        )
        end = time.monotonic() + START_SECONDS
        while not self._answers():
            if time.monotonic() > end or self._process.poll() is not None:
                self._process.kill()
                raise AssertionError(f"{self._command[0]} did not start")
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        try:
            return self._send("PUT", f"/{BUCKET}") < 500
        except OSError:
            return False

    def _send(self, method: str, path: str, body: bytes = b"") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        connection.request(method, path, body)
        status = connection.getresponse().status
        connection.close()
        return status


class Moto(LocalServer):
    def __init__(self) -> None:
        interpreter = MOTO.with_name("python")
        super().__init__(interpreter, "-c", ATOMIC_MOTO, "-H", "127.0.0.1", AWS_DEFAULT_REGION="us-east-1")

    @contextmanager
    def checking_keys(self) -> Iterator[None]:
        """Makes moto check keys, which it does not do by default. It has no valid ones, so it refuses all."""
        self._send("POST", "/moto-api/reset-auth", b"0")
        try:
            yield
        finally:
            self._send("POST", "/moto-api/reset-auth", b"inf")


class S3rver(LocalServer):
    """Ignores the condition of a put. It knows one pair of keys."""

    environment: ClassVar = {**ENVIRONMENT, "AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}

    def __init__(self, folder: Path) -> None:
        options = ("--no-vhost-buckets", "--configure-bucket", BUCKET)
        super().__init__(S3RVER, "-d", folder, "-a", "127.0.0.1", *options)


@dataclass
class Strike:
    """Kills the client at its `number`-th write request with `part` in its path. It never sees that answered.

    "before": the request is dropped. "after": it is carried out. "late": it is carried out when `release` is set, as if
    the network had delayed it.
    """

    number: int
    moment: Moment
    kill: Callable[[], None]
    part: str = ""
    release: threading.Event = field(default_factory=threading.Event)
    delivered: threading.Event = field(default_factory=threading.Event)
    struck: str = ""  # the request


class Proxy:
    """Forwards requests to a server. `ignore_conditions` removes the header on which LanceDB's commits rely."""

    def __init__(self, target: str, *, ignore_conditions: bool = False) -> None:
        self.target = urlsplit(target).netloc
        self.ignore_conditions = ignore_conditions
        self._strike: Strike | None = None
        self._writes = 0
        self._lock = threading.Lock()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def arm(self, strike: Strike | None) -> None:
        with self._lock:
            self._strike, self._writes = strike, 0

    def strike_for(self, method: str, path: str) -> Strike | None:
        """The strike that is due with this request."""
        with self._lock:
            strike = self._strike
            if strike is None or method not in ("PUT", "POST", "DELETE") or strike.part not in path:
                return None
            self._writes += 1
            if self._writes < strike.number:
                return None
            self._strike = None
            return strike


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Killed clients close their connections at any moment."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each reply waits 40 ms for an acknowledgement
    owner: Proxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        strike = self.owner.strike_for(self.command, self.path)
        if strike is None:
            self._reply(*self._forward(body))
            return
        strike.struck = f"{self.command} {urlsplit(self.path).path}"
        if strike.moment == "after":
            self._forward(body)
        strike.kill()
        if strike.moment == "late":
            strike.release.wait(60)
            self._forward(body)
            strike.delivered.set()
        self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def _forward(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        headers = {
            name: value
            for name, value in self.headers.items()
            if not (self.owner.ignore_conditions and name.lower() == "if-none-match")
        }
        connection = http.client.HTTPConnection(self.owner.target, timeout=60)
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def _reply(self, response: http.client.HTTPResponse, content: bytes) -> None:
        try:
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            length = response.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length or "0")
            self.end_headers()
            self.wfile.write(content)
        except OSError:  # the client was killed
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass
