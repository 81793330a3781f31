"""A loopback server for models, embeddings and reranking that records each request with its headers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Self

from tests.embedding.embedding_server import vector_response
from tests.loopback import Handler, LoopbackServer, reply_with
from tests.reranking.rerank_server import ranking_response


@dataclass(frozen=True)
class Recorded:
    path: str
    headers: dict[str, str]  # names in lower case
    model: str


@dataclass
class RecordingServer:
    """`replies` maps the name of a model to its reply: text, or a value that is sent as JSON."""

    replies: dict[str, Any] = field(default_factory=dict)
    recorded: list[Recorded] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = LoopbackServer().__enter__()
        self._server.respond_with(self._respond)
        self.url = self._server.url
        return self

    def __exit__(self, *problem: object) -> None:
        self._server.__exit__(*problem)

    @property
    def models(self) -> set[str]:
        return {request.model for request in self.recorded}

    @property
    def keys(self) -> set[str | None]:
        return {request.headers.get("authorization") for request in self.recorded}

    def _respond(self, handler: Handler, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.recorded.append(Recorded(handler.path, headers, body["model"]))
        if handler.path.endswith("/embeddings"):
            vector_response()(handler, body)
        elif handler.path.endswith("/rerank"):
            ranking_response()(handler, body)
        else:
            reply = self.replies[body["model"]]
            reply_with(reply if isinstance(reply, str) else json.dumps(reply))(handler, body)
