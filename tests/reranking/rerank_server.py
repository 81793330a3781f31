"""Responses of the loopback server at /rerank. Errors, delays and hang-ups are in `tests.loopback`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.loopback import Behaviour, Handler

Entry = dict[str, Any]


def score_of(passage: str) -> float:
    """Distinct for every passage of the tests."""
    return len(passage) + ord(passage[-1]) / 100_000


def ranking_response(place: str | None = "results", score: str = "relevance_score") -> Behaviour:
    """A correct response, the best passage first."""
    return response_of(lambda entries: entries, place, score)


def response_of(
    change: Callable[[list[Entry]], list[Any]], place: str | None = "results", score: str = "relevance_score"
) -> Behaviour:
    """The entries changed by `change`, under the field `place`, or as a bare list if it is None."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        entries = [{"index": number, score: score_of(passage)} for number, passage in enumerate(body["documents"])]
        entries = change(sorted(entries, key=lambda entry: -entry[score]))
        handler.send(200, entries if place is None else {"id": "1", "model": body["model"], place: entries}, {})

    return respond


def record_requests(seen: list[tuple[str, dict[str, str]]], behaviour: Behaviour) -> Behaviour:
    """Records the path, and the headers in lower case."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        seen.append((handler.path, {name.lower(): value for name, value in handler.headers.items()}))
        behaviour(handler, body)

    return respond


def drip_headers(handler: Handler, _: dict[str, Any]) -> None:
    """Send header bytes without ever completing a line."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Endless: ")
    stopping = handler.server.stopping
    while not stopping.wait(0.02):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def too_few(entries: list[Entry]) -> list[Entry]:
    return entries[:-1]


def too_many(entries: list[Entry]) -> list[Entry]:
    return [*entries, {"index": len(entries), "relevance_score": 0.5}]


def duplicate_index(entries: list[Entry]) -> list[Entry]:
    return [*entries[:-1], entries[0]]


def repeated_entry(entries: list[Entry]) -> list[Entry]:
    return [*entries, entries[0]]


def changed_entry(**fields: Any) -> Behaviour:
    """Replace fields of the first entry; a field that is None is removed."""

    def change(entries: list[Entry]) -> list[Entry]:
        first = {name: value for name, value in {**entries[0], **fields}.items() if value is not None}
        return [first, *entries[1:]]

    return response_of(change)
