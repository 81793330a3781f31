"""A SearXNG server on loopback. Its pages cannot be reached, so its snippets are used instead."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


class SearchServer(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.results: list[dict[str, str]] = []
        self.status = 200

    def finds(self, *snippets: str) -> None:
        self.results = [
            {"url": f"https://site{number}.example/page", "title": f"Page {number}", "content": snippet}
            for number, snippet in enumerate(snippets, 1)
        ]

    @property
    def settings(self) -> dict[str, Any]:
        return {"provider": "searxng", "searxng_url": f"http://127.0.0.1:{self.server_port}"}

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: SearchServer

    def do_GET(self) -> None:
        self.server.asked.append(parse_qs(urlsplit(self.path).query).get("q", [""])[0])
        body = json.dumps({"results": self.server.results}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""
