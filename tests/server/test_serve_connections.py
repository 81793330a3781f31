"""Connections on which nothing is asked, or too slowly, are closed; what is under way is left alone."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from veracity.server import serve
from veracity.server.serve import NO_FILES, Connection, Quiet, most_connections

SHORT = 0.5  # seconds in which what is asked must be said
WHOLE = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Takes its time, as an answer does."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"do", "more_body": True})
    await asyncio.sleep(1.2 * SHORT)
    await send({"type": "http.response.body", "body": b"ne"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = uvicorn.Server(uvicorn.Config(_app, port=0, http=Connection, lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serve, "HEADERS", SHORT)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True
        thread.join()


def _connected(port: int, said: bytes) -> socket.socket:
    """And this said in time, however busy the machine is."""
    for _ in range(20):
        begun = time.monotonic()
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        connection.sendall(said)
        if time.monotonic() - begun < SHORT / 2:
            return connection
        connection.close()
    raise AssertionError("The machine is too busy.")


def _asked(connection: socket.socket) -> None:
    time.sleep(1.2 * SHORT)  # the rest of a request may come later than its headers
    connection.sendall(b"hi")
    received = b""
    while not received.endswith(b"done"):
        piece = connection.recv(1000)
        assert piece, received
        received += piece


@pytest.mark.parametrize(("asks_first", "said"), [(False, b""), (False, b"GET /asked"), (True, b"GET /asked")])
def test_who_does_not_say_what_he_wants_is_sent_away(port: int, asks_first: bool, said: bytes) -> None:
    with _connected(port, WHOLE if asks_first else b"") as connection:
        if asks_first:
            _asked(connection)
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for number in range(len(said)):  # a letter at a time
                connection.sendall(said[number : number + 1])
                time.sleep(SHORT / 5)
            assert connection.recv(1000) == b""
        assert time.monotonic() - begun < 20  # what is kept alive has 75 seconds


def test_half_of_the_files_are_left_for_all_else() -> None:
    assert most_connections(500) <= 1000
    assert most_connections(1) <= 501


def test_that_files_are_short_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    loop, quiet = asyncio.new_event_loop(), Quiet()
    for _ in range(100):
        quiet(loop, {"message": NO_FILES, "exception": OSError(24, "Too many open files")})
    assert len(caplog.messages) == 1 and "no more files" in caplog.text
    quiet(loop, {"message": "another"})
    assert caplog.messages[1:] == ["another"]
    loop.close()
