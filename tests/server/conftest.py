"""Servers on loopback over engines whose models follow a script, and browsers that look at them."""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.runs.conftest import MakeEngine, engine_with, filled, gated, root, website
from veracity.engine import Veracity
from veracity.models import Role
from veracity.server.app import make_app
from veracity.server.static_files import files

__all__ = ["MakeEngine", "engine_with", "filled", "gated", "root", "website"]

TOKEN = "the-token-of-these-tests"
PATIENCE = 90_000  # milliseconds: the first question of a process takes its time on a busy machine
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


@dataclass
class Served:
    """A running server. `client()` speaks for "local", the admin; `client(role="asker")` for a new user."""

    url: str
    engine: Veracity
    app: Any
    _clients: list[httpx.Client] = field(default_factory=list)
    _users: int = 0

    @property
    def page_url(self) -> str:
        return f"{self.url}/#token={TOKEN}"

    def token(self, role: Role, name: str = "") -> str:
        self._users += 1
        return self.engine.users.add(name or f"{role}{self._users}", role)

    def client(self, *, role: Role | None = None, name: str = "", token: str | None = None) -> httpx.Client:
        given = token if token is not None else self.token(role, name) if role else TOKEN
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=180, trust_env=False, verify=False)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for client in self._clients:
            client.close()


Serve = Callable[[Veracity], Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(engine)`: over real HTTP, until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda engine: stack.enter_context(serving(engine))


@contextlib.contextmanager
def serving(engine: Veracity, *, works: bool = True) -> Iterator[Served]:
    app = make_app(engine, TOKEN, works=works)
    server = uvicorn.Server(
        uvicorn.Config(
            timeout_graceful_shutdown=1,
            app=app,
            port=0,
            log_level="warning",
            access_log=False,
            ws="none",
            server_header=False,
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 20
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    served = Served(f"http://127.0.0.1:{port}", engine, app)
    try:
        yield served
    finally:
        served.close()
        app.state.live.stop(grace=5)
        app.state.feed.stop()
        server.should_exit = True
        thread.join(timeout=20)


def chromium_path(of_playwright: str) -> str:
    """That of this machine, else the one that Playwright installed."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = os.environ.get("VERACITY_CHROMIUM") or next(filter(None, map(shutil.which, names)), of_playwright)
    if not Path(found).exists():
        pytest.fail("There is no Chromium: scripts/install_chromium.sh installs one.")
    return found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """For one file: while it is there, no other code of this thread can run an event loop."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        path = chromium_path(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """What a browser did that it should not: `problems` must be empty when the test ends."""

    problems: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)  # parts of console messages that a test provokes

    def watch(self, page: Page) -> None:
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(f"error in the page: {error}"))
        page.on("request", self._requested)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(part in message.text for part in self.allowed):
            self.problems.append(f"console: {message.text}")

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname != "127.0.0.1":
            self.problems.append(f"left the origin: {request.url}")


OpenPage = Callable[..., Page]
MODULES = f"/static/{files().version}"  # single modules, for their functions; the page has instances of its own


@pytest.fixture
def watched() -> Iterator[Watched]:
    one = Watched()
    yield one
    assert one.problems == []


@pytest.fixture
def open_page(chromium: Browser, watched: Watched) -> Iterator[OpenPage]:
    """`open_page(served, "#/inbox", token=…, locale="ja-JP", width=360)`: a browser of its own, signed in."""
    contexts: list[BrowserContext] = []

    def open_it(
        served: Served,
        route: str = "#/",
        *,
        token: str = TOKEN,
        locale: str = "en-GB",
        width: int = 1280,
        height: int = 800,
        theme: Any = "light",
    ) -> Page:
        context = chromium.new_context(
            locale=locale, viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        watched.watch(page)
        page.goto(f"{served.url}/#token={token}")
        page.locator(".shell").wait_for(state="attached")  # signed in, and the token is out of the address
        if route != "#/":
            page.goto(f"{served.url}/{route}")
        return page

    yield open_it
    for context in contexts:
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")  # a handler that is at it still would fail in the next test
        context.close()
