"""`veracity serve`: startup, shutdown, crashes and connection limits."""

import asyncio
import contextlib
import logging
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from tests.loopback import LoopbackServer, after, text
from tests.runs.scripts import GOOD, QUESTION
from tests.server.events import Event, events_of, read_events
from tests.server.processes import TOKEN, Process
from veracity.engine import Veracity
from veracity.server import serve
from veracity.server.app import make_app
from veracity.server.serve import Connection, Server, max_connections
from veracity.settings import Settings

NO_EMBEDDER = Settings.model_validate({"models": {"embedder": "none"}})


@pytest.fixture
def root(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "workspace"))


def refusal(root: Path, *options: str, **variables: str) -> str:
    process = Process(root, *options, token="", **variables)
    code, printed, errors = process.ended()
    assert (code, printed) == (2, "")
    assert errors.count("\n") == 1 and errors.startswith("veracity: ")
    return errors


def test_the_printed_address_works_and_sigterm_stops_the_server(root: Path) -> None:
    with Process(root, token="") as process:
        assert len(process.token) >= 43 and process.url.startswith("http://127.0.0.1:")
        with process.client() as client:
            assert client.get("/api/me").json()["role"] == "admin"
            assert client.post("/api/ask", json={"question": QUESTION}).json()["status"] == "answered"
        process.tell(signal.SIGTERM)
        code, _, errors = process.ended()
    assert (code, errors) == (0, "")
    assert process.token not in errors


def test_a_public_host_needs_a_user_with_a_token(root: Path) -> None:
    message = refusal(root, "--host", "0.0.0.0")
    assert "veracity users add" in message and "VERACITY_TOKEN" in message
    with Veracity(root, settings=NO_EMBEDDER) as engine:
        token = engine.users.add("ann", "admin")
    with Process(root, "--host", "0.0.0.0", token="") as process:
        assert "#token" not in process.printed
        url = process.url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/api/me", timeout=180, trust_env=False).status_code == 401
        headers = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{url}/api/me", headers=headers, timeout=180, trust_env=False).json()["user"] == "ann"


def test_a_weak_token_is_refused_and_not_shown(root: Path) -> None:
    message = refusal(root, VERACITY_TOKEN="hunter2")
    assert "VERACITY_TOKEN" in message and "hunter2" not in message


def test_unavailable_addresses_are_reported(root: Path) -> None:
    with Process(root) as process:
        port = process.url.rpartition(":")[2]
        assert f"port {port}" in refusal(root, "--port", port)
    assert "cannot listen" in refusal(root, "--host", "no-such-host.invalid", VERACITY_TOKEN=TOKEN)


def test_a_missing_workspace_is_reported(tmp_path: Path) -> None:
    assert "There is no workspace" in refusal(tmp_path / "nothing")


def _stands(client: httpx.Client, **expected: object) -> bool:
    found = client.get("/api/documents/changes").json()
    return all(found[name] == value for name, value in expected.items())


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def slow_writer(server: LoopbackServer, seconds: float) -> dict[str, str]:
    """A slow model for a server in another process."""
    server.respond_with(after(seconds, text(GOOD)))
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x", "VERACITY_MODELS__WRITER": "openai-chat:slow"}


def asked(process: Process, until: str) -> list[Event]:
    seen: list[Event] = []
    with (
        process.client() as client,
        client.stream(
            "POST", "/api/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}
        ) as response,
    ):
        for event in read_events(response):
            seen.append(event)
            if event.data.get("name") == until:
                break
    return seen


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_loses_no_run(root: Path, server: LoopbackServer, sign: signal.Signals) -> None:
    variables = slow_writer(server, 3)
    with Process(root, VERACITY_SERVER__GRACE="0", **variables) as process:
        seen = asked(process, "generate_answer")
        process.tell(sign)
        code, _, _ = process.ended()
        assert code == (-signal.SIGKILL if sign == signal.SIGKILL else 0)
    server.reset()
    with Process(root, **slow_writer(server, 0)) as again, again.client() as client:
        path = f"/api/runs/{seen[0].data['run_id']}/events"
        rest = events_of(client, path, headers={"Last-Event-ID": seen[-1].id})
    assert rest[-1].data["answer"]["text"] == GOOD
    steps = [event.data["name"] for event in [*seen, *rest] if event.kind == "finished"]
    assert steps.count("decide_route") == steps.count("generate_answer") == 1


def test_another_server_resumes_the_runs_of_a_crashed_one(root: Path, server: LoopbackServer) -> None:
    variables = slow_writer(server, 4)
    with Process(root, **variables) as dies, Process(root, **variables) as lives, lives.client() as client:
        seen = asked(dies, "generate_answer")
        dies.tell(signal.SIGKILL)
        dies.ended()
        threading.Timer(0.1, server.reset).start()
        rest = events_of(client, f"/api/runs/{seen[0].data['run_id']}/events", headers={"Last-Event-ID": seen[-1].id})
    assert rest[-1].kind == "answer"


@pytest.mark.parametrize("sign", [signal.SIGINT])
def test_a_stop_ends_waiting_uploads_and_loses_none(root: Path, sign: signal.Signals) -> None:
    """Quickly and without output on stderr. The next server finishes the upload."""
    long = "\n\n".join(f"储物柜 {number} 在走廊 {number % 7}。 Locker {number} is blue." for number in range(300_000))
    answers: dict[str, httpx.Response] = {}

    def send(name: str, accept: str) -> None:
        with process.client() as client:
            files = {"files": (name, long.encode())}
            answers[name] = client.post("/api/documents", files=files, headers={"Accept": accept})

    with Process(root) as process, process.client() as client:
        waiting = {"储物柜.txt": "*/*", "ロッカー.txt": "text/event-stream"}
        threads = [threading.Thread(target=send, args=item) for item in waiting.items()]
        for number, thread in enumerate(threads):
            thread.start()
            _until(partial(_stands, client, under_way=True, waiting=number))
        process.tell(sign)
        for thread in threads:
            thread.join(20)  # much less than reading the files takes
            assert not thread.is_alive()
        code, _, errors = process.ended()
        assert (code, errors) == (0, "")
    refused = answers["储物柜.txt"]
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "Stopping")
    assert 'event: failed\ndata: {"kind": "failed", "problem": "The server is stopping' in answers["ロッカー.txt"].text
    with Process(root) as again, again.client() as client:
        _until(partial(_stands, client, under_way=True, what="upload", name="储物柜.txt"))


ServerOf = Callable[[Veracity], tuple[Server, threading.Thread]]


@pytest.fixture
def server_of() -> Iterator[ServerOf]:
    """A server like that of `veracity serve`, for a thread of this process."""
    with contextlib.ExitStack() as stack:

        def made(engine: Veracity) -> tuple[Server, threading.Thread]:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            server = Server(make_app(engine, TOKEN), engine.settings.server, lambda: None)
            server.config.timeout_graceful_shutdown = 0
            thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
            return server, thread

        yield made


def test_a_stop_before_startup_is_honoured(root: Path, server_of: ServerOf) -> None:
    with Veracity(root, settings=NO_EMBEDDER) as engine:
        server, thread = server_of(engine)
        server.handle_exit(signal.SIGTERM, None)
        thread.start()
        thread.join(20)
        assert server.started and not thread.is_alive()


def test_a_hanging_request_gets_503_and_does_not_block_the_exit(
    root: Path, server_of: ServerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, goes_on, ended = threading.Event(), threading.Event(), list[int]()

    def hang(*_: Any, **__: Any) -> None:
        asked.set()
        assert goes_on.wait(60)

    monkeypatch.setattr(serve, "SHUTDOWN_SECONDS", 0.1)
    monkeypatch.setattr("os._exit", ended.append)
    with Veracity(root, settings=NO_EMBEDDER) as engine, ThreadPoolExecutor() as others:
        monkeypatch.setattr(engine, "search", hang)
        server, thread = server_of(engine)
        thread.start()
        _until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        searched = others.submit(
            httpx.post,
            f"http://127.0.0.1:{port}/api/search",
            json={"query": "年假"},
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=180,
            trust_env=False,
        )
        assert asked.wait(20)
        server.handle_exit(signal.SIGTERM, None)
        response = searched.result(20)
        thread.join(20)
        serve._end_threads(server.config.app)  # type: ignore[arg-type]
        goes_on.set()
    assert (response.status_code, response.json()["error"]["kind"]) == (503, "Stopping")
    assert int(response.headers["retry-after"]) > 0
    assert ended == [0]


def _left_open(port: int, said: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=10)
    made.sendall(said)
    return made


def _asked_of_known(server: Server) -> list[bool]:
    connections = list(server.server_state.connections)
    return sorted(item.is_active for item in connections if isinstance(item, Connection) and item.has_token)


def test_users_are_served_however_many_connections_others_hold_open(
    root: Path, server_of: ServerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "max_connections", 6)
    idle = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    slow = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
    with Veracity(root, settings=NO_EMBEDDER) as engine, contextlib.ExitStack() as stack:
        server, thread = server_of(engine)
        thread.start()
        stack.callback(thread.join, 20)
        stack.callback(server.handle_exit, signal.SIGTERM, None)
        _until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        headers = {"Authorization": f"Bearer {TOKEN}"}
        ann, ben = (
            stack.enter_context(
                httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=180, trust_env=False)
            )
            for _ in range(2)
        )
        assert ann.get("/api/me").status_code == 200
        with ann.stream("GET", "/api/events") as events:
            heard = read_events(events)
            assert next(heard).kind == "hello"
            strangers = [stack.enter_context(_left_open(port, said)) for said in (b"", idle, slow, idle * 9) * 5]
            assert ben.get("/api/me").status_code == 200
            with contextlib.suppress(ConnectionError):  # evicted without a response
                assert strangers[0].recv(10) == b""
            _until(lambda: len(server.server_state.connections) <= 6)
            _until(lambda: _asked_of_known(server) == [False, True])  # active streams are not evicted


def test_a_websocket_request_is_answered_without_advice_in_the_log(
    root: Path, server_of: ServerOf, caplog: pytest.LogCaptureFixture
) -> None:
    asked = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with Veracity(root, settings=NO_EMBEDDER) as engine, contextlib.ExitStack() as stack:
        server, thread = server_of(engine)
        thread.start()
        stack.callback(thread.join, 20)
        stack.callback(server.handle_exit, signal.SIGTERM, None)
        _until(lambda: server.started)
        logging.getLogger("uvicorn").propagate = True
        port = server.servers[0].sockets[0].getsockname()[1]
        with _left_open(port, asked) as connection:
            assert connection.recv(12) == b"HTTP/1.1 401"
    assert "upgrade" not in caplog.text.lower() and "websockets" not in caplog.text


SHORT = 0.5  # the time limit for headers
WHOLE = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Responds slowly."""
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
        patch.setattr(serve, "HEADER_SECONDS", SHORT)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True
        thread.join()


def _connected(port: int, said: bytes) -> socket.socket:
    """A connection on which this was sent in time, however busy the machine is."""
    for _ in range(20):
        begun = time.monotonic()
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        connection.sendall(said)
        if time.monotonic() - begun < SHORT / 2:
            return connection
        connection.close()
    raise AssertionError("The machine is too busy.")


def _asked(connection: socket.socket) -> None:
    time.sleep(1.2 * SHORT)  # the body may come later than the headers
    connection.sendall(b"hi")
    received = b""
    while not received.endswith(b"done"):
        piece = connection.recv(1000)
        assert piece, received
        received += piece


@pytest.mark.parametrize(("asks_first", "said"), [(False, b""), (False, b"GET /asked"), (True, b"GET /asked")])
def test_idle_and_slow_connections_are_closed(port: int, asks_first: bool, said: bytes) -> None:
    with _connected(port, WHOLE if asks_first else b"") as connection:
        if asks_first:
            _asked(connection)
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for number in range(len(said)):  # byte by byte
                connection.sendall(said[number : number + 1])
                time.sleep(SHORT / 5)
            assert connection.recv(1000) == b""
        assert time.monotonic() - begun < 20  # far less than the keep-alive of 75 seconds


def test_connections_use_at_most_half_of_the_files() -> None:
    assert max_connections(500) <= 1000
    assert max_connections(1) <= 501
