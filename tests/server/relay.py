"""A relay in front of a server, which can be taken down and put up again: browsers are refused as by a dead server."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Self
from urllib.parse import urlsplit

CHUNK_BYTES = 65536


class Relay:
    def __init__(self, url: str) -> None:
        self._target = (urlsplit(url).hostname, urlsplit(url).port)
        self._listening: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._port = 0
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()
        return self

    def down(self) -> None:
        for one in [*filter(None, [self._listening]), *self._open]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # wakes the threads that read from it
            one.close()
        self._open.clear()

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(self._target)
                self._open |= {client, server}
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=pair, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def relaying(url: str) -> Iterator[Relay]:
    relay = Relay(url)
    try:
        yield relay
    finally:
        relay.down()
