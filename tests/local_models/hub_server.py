"""A hub on the loopback interface: lists the files of a model and serves them, with ranges and redirects."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

REVISION = "0123456789abcdef0123456789abcdef01234567"


def entry_of(path: Path, name: str) -> dict[str, Any]:
    """As the hub lists a file: large ones with their SHA-256, small ones with Git's hash."""
    content = path.read_bytes()
    if name.endswith(".onnx"):
        return {
            "rfilename": name,
            "size": 130,
            "lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)},
        }
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return {"rfilename": name, "size": len(content), "blobId": blob}


class HubServer:
    """Serves one model from a folder. `change` may alter the list; `cut_after` ends the next large file early."""

    def __init__(self, folder: Path, name: str, licence: str = "mit") -> None:
        self.folder, self.name, self.licence = folder, name, licence
        self.requests: list[tuple[str, str]] = []
        self.change: Callable[[list[dict[str, Any]]], None] = lambda _: None
        self.cut_after = 0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.requests.append((self.path, self.headers.get("Range", "")))
                hub.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        files = f"/{self.name}/resolve/{REVISION}/"
        if path.startswith(f"/api/models/{self.name}/revision/"):
            self._send_list(handler)
        elif path.startswith(files):  # large files are in a storage of their own
            handler.send_response(302)
            handler.send_header("Location", f"/storage/{path.removeprefix(files)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        elif path.startswith("/storage/"):
            self._send_file(handler, (self.folder / path.removeprefix("/storage/")).read_bytes())
        else:
            handler.send_error(404)

    def _send_list(self, handler: BaseHTTPRequestHandler) -> None:
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        entries = [entry_of(path, path.relative_to(self.folder).as_posix()) for path in found]
        self.change(entries)
        document = {"sha": REVISION, "cardData": {"license": self.licence}, "siblings": entries}
        content = json.dumps(document).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _send_file(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        is_cut = 0 < self.cut_after < len(content)
        handler.wfile.write(content[start : self.cut_after] if is_cut else content[start:])
        if is_cut:
            self.cut_after = 0
            handler.close_connection = True
