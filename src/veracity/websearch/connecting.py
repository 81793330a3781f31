"""Connections to addresses that were chosen beforehand, with one time limit for all that is said over them.

The name in the URL stays what TLS verifies and the server is told; it is not looked up again. Every read and write
gets the time that is left, so a server that sends a byte now and then gains nothing. Knows nothing about HTTP.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore

from veracity.deadlines import Deadline

ONE_ADDRESS = 3.0  # seconds before the next address is tried, if there is one


class PinnedBackend(httpcore.NetworkBackend):
    def __init__(self, addresses: Sequence[str], deadline: Deadline) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        *others, last = self._addresses
        for address in others:
            try:
                return self._connected(address, port, self._deadline.or_within(ONE_ADDRESS), socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connected(last, port, self._deadline, socket_options)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        raise httpcore.UnsupportedProtocol("pages are not fetched from sockets of this machine")

    def _connected(
        self, address: str, port: int, until: Deadline, socket_options: Iterable[Any] | None
    ) -> httpcore.NetworkStream:
        if until.has_passed:
            raise httpcore.ConnectTimeout
        stream = self._backend.connect_tcp(address, port, timeout=until.left, socket_options=socket_options)
        return TimedStream(stream, self._deadline)


class TimedStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._left(httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._left(httpcore.ConnectTimeout)
        return TimedStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _left(self, timed_out: type[Exception]) -> float:
        if self._deadline.has_passed:
            raise timed_out("the time is up")
        return self._deadline.left
