"""A page of the server's own components and policy, in a real browser, that shows any text and tells what came of it.

Knows nothing about which texts are hostile, and needs no workspace: only files of the page are served.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, Route, sync_playwright

from veracity.server.middleware import POLICY
from veracity.server.static_files import STATIC

SCRIPT = Path(__file__).with_suffix(".js")
DOCUMENT = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>loading</title>
<link rel="stylesheet" href="/static/base.css"><link rel="stylesheet" href="/static/answer.css">
<script type="module" src="/stage.js"></script></head><body><div id="root"></div></body></html>"""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def installed_browser() -> str | None:
    """None where there is none: then playwright looks for its own."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/":
            self._send(DOCUMENT.encode(), "text/html; charset=utf-8")
        elif self.path == "/stage.js":
            self._send(SCRIPT.read_bytes(), "text/javascript; charset=utf-8")
        elif self.path.startswith("/static/"):
            self.path = self.path.removeprefix("/static")
            super().do_GET()
        else:
            self._send(b"", "image/x-icon")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Stage:
    """A page that is ready, and all that happened around it."""

    page: Page
    origin: str
    left: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def show(self, texts: Sequence[str]) -> dict[str, Any]:
        """Each as a draft cut at every character, and in every place of an answer: what is not ours, what happened."""
        told: dict[str, Any] = self.page.evaluate("(texts) => window.stage.staged(texts)", list(texts))
        self.page.wait_for_timeout(100)  # for what would load or run a moment later
        return told | self.happened()

    def happened(self) -> dict[str, Any]:
        seen = self.page.evaluate("() => ({ran: window.stage.seen.ran, violations: window.stage.seen.violations})")
        moved = [] if self.page.url == f"{self.origin}/" else [self.page.url]
        return {**seen, "left": self.left, "troubles": self.troubles + moved}

    def watch(self) -> None:
        self.page.route("**/*", self._let_through)
        self.page.on("dialog", self._dismiss)
        self.page.on("popup", lambda popup: self.troubles.append(f"window {popup.url}"))
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))

    def _hear(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.troubles.append(line.text)

    def _let_through(self, route: Route, request: Request) -> None:
        if request.url.startswith(f"{self.origin}/"):
            route.continue_()
        else:
            self.left.append(request.url)
            route.abort()

    def _dismiss(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog {dialog.message}")
        dialog.dismiss()


@contextmanager
def staged() -> Iterator[Stage]:
    """In a browser of its own."""
    with serving_files() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=["--no-sandbox"])
        try:
            yield opened(browser, origin)
        finally:
            browser.close()


@contextmanager
def staged_in(browser: Browser) -> Iterator[Stage]:
    with serving_files() as origin:
        stage = opened(browser, origin)
        yield stage
        stage.page.close()


def opened(browser: Browser, origin: str) -> Stage:
    stage = Stage(browser.new_page(locale="en"), origin)
    stage.watch()
    stage.page.goto(f"{origin}/")
    stage.page.wait_for_function("document.title === 'ready'")
    return stage


@contextmanager
def serving_files() -> Iterator[str]:
    def handler(*arguments: Any) -> Handler:
        return Handler(*arguments, directory=str(STATIC))

    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
