"""The loopback server, answering /rerank: what it sends where the tests of the reranker want something special.

Errors, delays and hang-ups are those of `tests.loopback`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.loopback import Behaviour, Handler

Entry = dict[str, Any]


def score_of(passage: str) -> float:
    """Another one for every passage of the tests."""
    return len(passage) + ord(passage[-1]) / 100_000


def reranks(place: str | None = "results", score: str = "relevance_score") -> Behaviour:
    """A right answer, the best passage first, as a service sorts them."""
    return answers(lambda entries: entries, place, score)


def answers(
    change: Callable[[list[Entry]], list[Any]], place: str | None = "results", score: str = "relevance_score"
) -> Behaviour:
    """Whatever is made of the right entries, in the place where they belong; None: no document around them."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        entries = [{"index": number, score: score_of(passage)} for number, passage in enumerate(body["documents"])]
        entries = change(sorted(entries, key=lambda entry: -entry[score]))
        handler.send(200, entries if place is None else {"id": "1", "model": body["model"], place: entries}, {})

    return respond


def records(seen: list[tuple[str, dict[str, str]]], behaviour: Behaviour) -> Behaviour:
    """Notes the path and the headers, their names in small letters."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        seen.append((handler.path, {name.lower(): value for name, value in handler.headers.items()}))
        behaviour(handler, body)

    return respond


def drips_headers(handler: Handler, _: dict[str, Any]) -> None:
    """A byte now and then, and never a whole line."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Endless: ")
    stopping = handler.server.stopping
    while not stopping.wait(0.02):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def one_too_few(entries: list[Entry]) -> list[Entry]:
    return entries[:-1]


def one_too_many(entries: list[Entry]) -> list[Entry]:
    return [*entries, {"index": len(entries), "relevance_score": 0.5}]


def one_twice(entries: list[Entry]) -> list[Entry]:
    return [*entries[:-1], entries[0]]


def one_repeated(entries: list[Entry]) -> list[Entry]:
    return [*entries, entries[0]]


def changed(**fields: Any) -> Behaviour:
    """The first entry has these fields instead; a field that is None is missing."""

    def change(entries: list[Entry]) -> list[Entry]:
        first = {name: value for name, value in {**entries[0], **fields}.items() if value is not None}
        return [first, *entries[1:]]

    return answers(change)
