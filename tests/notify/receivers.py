"""A webhook and a mail server on loopback, which keep what they get."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """`statuses` are the answers to the next requests; then 204."""

    port: int = 0
    statuses: list[int] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    mails: list[EmailMessage] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def webhook() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        yield from _serve(server, receiver)


@contextmanager
def mail_server() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 ready")
            while line := self.rfile.readline().decode().strip():
                match line.split(" ")[0].upper():
                    case "EHLO" | "HELO":
                        self._say("250 hello")
                    case "DATA":
                        self._say("354 go on")
                        lines = iter(self.rfile.readline, b".\r\n")
                        message = message_from_bytes(b"".join(lines), policy=policy.default)
                        receiver.mails.append(message)
                        self._say("250 accepted")
                    case "QUIT":
                        self._say("221 bye")
                        return
                    case _:
                        self._say("250 fine")

        def _say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        yield from _serve(server, receiver)


def _serve(server: socketserver.TCPServer, receiver: Receiver) -> Iterator[Receiver]:
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
