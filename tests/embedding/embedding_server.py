"""Responses of the loopback server at /v1/embeddings. Errors, delays and hang-ups are in `tests.loopback`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from tests.loopback import Behaviour, Handler

DIMENSIONS = 8

Vector = list[Any]


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A distinct vector per text; not a unit vector."""
    return [1.0 + byte for byte in hashlib.sha256(text.encode()).digest()[:dimensions]]


def vector_response(dimensions: int = DIMENSIONS) -> Behaviour:
    """A correct response."""
    return response_of(lambda texts: [vector_of(text, dimensions) for text in texts])


def response_of(make: Callable[[list[str]], list[Any]]) -> Behaviour:
    """A response with the data that `make` returns instead of the vectors."""

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        data = [
            {"object": "embedding", "index": number, "embedding": vector}
            for number, vector in enumerate(make(body["input"]))
        ]
        usage = {"prompt_tokens": 10, "total_tokens": 10}
        handler.send(200, {"object": "list", "model": body["model"], "data": data, "usage": usage}, {})

    return respond


def too_few(texts: list[str]) -> list[Vector]:
    return [vector_of(text) for text in texts][:-1]


def ragged(texts: list[str]) -> list[Vector]:
    return [vector_of(text, 3 + number) for number, text in enumerate(texts)]


def all_null(texts: list[str]) -> list[Vector]:
    return [[None] * DIMENSIONS for _ in texts]


def not_a_number(texts: list[str]) -> list[Vector]:
    return [[float("nan"), *vector_of(text)[1:]] for text in texts]


def infinite(texts: list[str]) -> list[Vector]:
    return [[float("inf"), *vector_of(text)[1:]] for text in texts]


def all_zero(texts: list[str]) -> list[Vector]:
    return [[0.0] * DIMENSIONS for _ in texts]


def empty(texts: list[str]) -> list[Vector]:
    return [[] for _ in texts]


def words(texts: list[str]) -> list[Vector]:
    return [["one", "two"] for _ in texts]


def not_vectors(texts: list[str]) -> list[Any]:
    return ["@@@" for _ in texts]


def huge(texts: list[str]) -> list[Vector]:
    """Large numbers, which are valid."""
    return [[number * 1e300 for number in vector_of(text)] for text in texts]
