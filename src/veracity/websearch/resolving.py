"""Finds the addresses of a name within a deadline. Knows nothing about which of them are good."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import wait
from functools import partial

from veracity.deadlines import Deadline
from veracity.workers import Belongings, Workers

AT_ONCE = 16  # the system's resolver cannot be interrupted: so many that hang, and no more, can be left behind

Resolve = Callable[[str, int, Deadline], list[str]]


class Resolver:
    """Raises OSError where nothing is found, TimeoutError where that takes too long."""

    def __init__(self) -> None:
        self._workers = Workers(AT_ONCE, "veracity-resolving")

    def __call__(self, host: str, port: int, deadline: Deadline) -> list[str]:
        future = self._workers.submit(partial(_found, host, port))
        wait([future], deadline.left)
        if not future.done():
            future.cancel()
            raise TimeoutError
        found: list[str] = future.result()
        return found

    def close(self) -> None:
        self._workers.close(0)


def _found(host: str, port: int, _: Belongings) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is too long for DNS
        raise OSError("no such name") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
