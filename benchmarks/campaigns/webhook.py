"""A webhook that keeps which announcements it got, and the invariant that each was delivered with one id."""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.campaigns.records import ApprovalRow

SECRET_VARIABLE = "VERACITY_WEBHOOK_SECRET"


class Received:
    """The ids of deliveries by approval and event, and how many requests there were."""

    def __init__(self) -> None:
        self.ids: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.requests = 0
        self.url = ""

    def check(self, approvals: list[ApprovalRow]) -> Iterator[str]:
        """Each draft and each decision on it was announced, and never with two ids. Call it at the end."""
        for approval in approvals:
            ended = "approval.expired" if approval.state == "expired" else "approval.decided"
            for event in ("approval.pending", ended):
                ids = self.ids[approval.approval_id, event]
                if len(ids) != 1:
                    yield f"{approval.approval_id}: {event} was delivered with {len(ids)} ids"


@contextmanager
def receiving() -> Iterator[Received]:
    """A server on loopback. Processes that start during the block know its secret."""
    received, lock = Received(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                received.requests += 1
                received.ids[event["data"]["approval_id"], event["type"]].add(self.headers["webhook-id"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    os.environ[SECRET_VARIABLE] = "the secret of the campaigns"
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield received
        finally:
            server.shutdown()
            thread.join()
            del os.environ[SECRET_VARIABLE]
