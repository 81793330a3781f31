"""A browser page that renders any text with the page's components, under the server's Content-Security-Policy.

It needs no workspace: only the page's static files are served.
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

from veracity.server.middleware import CONTENT_POLICY
from veracity.server.static_files import STATIC

SCRIPT = Path(__file__).with_suffix(".js")
DOCUMENT = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>loading</title>
<link rel="stylesheet" href="/static/lib/base.css"><link rel="stylesheet" href="/static/answer/answer.css">
<script src="/static/boot.js"></script><script type="module" src="/stage.js"></script></head>
<body><div id="root"></div></body></html>"""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def installed_browser() -> str | None:
    """None makes Playwright use its own browser."""
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
        self.send_header("Content-Security-Policy", CONTENT_POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Stage:
    """A page that is ready, and what happened in it."""

    page: Page
    origin: str
    left: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def show(self, texts: Sequence[str]) -> dict[str, Any]:
        """Render each text as a draft cut at every character, and in every place of an answer; return what happened."""
        result: dict[str, Any] = self.page.evaluate("(texts) => window.stage.staged(texts)", list(texts))
        self.page.wait_for_timeout(100)  # scripts and requests may follow a moment later
        return result | self.happened()

    def happened(self) -> dict[str, Any]:
        seen = self.page.evaluate("() => ({ran: window.stage.seen.ran, violations: window.stage.seen.violations})")
        moved = [] if self.page.url == f"{self.origin}/" else [self.page.url]
        return {**seen, "left": self.left, "troubles": self.troubles + moved}

    def watch(self) -> None:
        self.page.route("**/*", self._allow_own_origin)
        self.page.on("dialog", self._dismiss)
        self.page.on("popup", lambda popup: self.troubles.append(f"window {popup.url}"))
        self.page.on("console", self._log_error)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))

    def _log_error(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.troubles.append(line.text)

    def _allow_own_origin(self, route: Route, request: Request) -> None:
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
    """A stage in its own browser."""
    with serving_files() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=["--no-sandbox"])
        try:
            yield open_stage(browser, origin)
        finally:
            browser.close()


@contextmanager
def staged_in(browser: Browser) -> Iterator[Stage]:
    with serving_files() as origin:
        stage = open_stage(browser, origin)
        yield stage
        stage.page.close()


def open_stage(browser: Browser, origin: str) -> Stage:
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
