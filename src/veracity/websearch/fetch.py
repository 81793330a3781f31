"""Fetches one page from the web, guarded: each hop's addresses are vetted, and only those are connected to.

No cookies, no credentials, no proxy, nothing from the environment; no more bytes, packed or unpacked, and no more
seconds than allowed. Knows nothing about searching, or what a page says.
"""

from __future__ import annotations

import socket
import ssl
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from email.message import Message
from functools import partial
from typing import Any
from urllib.parse import urljoin

import httpcore
import httpx

from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.settings import WebSettings
from veracity.version import __version__
from veracity.websearch.addresses import Place, RefusedAddressError, place_of, why_refused
from veracity.workers import Belongings, Workers

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


GZIP = 16 + zlib.MAX_WBITS


class TooMuch(Exception):
    """More came of it than may."""


class Plain:
    """What is not packed, counted."""

    def __init__(self, most: int) -> None:
        self._left = most

    def feed(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise TooMuch
        return data


class Gzip:
    """Raises zlib.error for what is damaged."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._unpacker = zlib.decompressobj(GZIP)

    def feed(self, data: bytes) -> bytes:
        pieces = []
        while data:
            piece = self._unpacker.decompress(data, self._left + 1)
            self._left -= len(piece)
            if self._left < 0:
                raise TooMuch
            pieces.append(piece)
            data = self._unpacker.unused_data
            if self._unpacker.eof:  # another part may follow
                self._unpacker = zlib.decompressobj(GZIP)
        return b"".join(pieces)


UNPACKERS: dict[str, type[Plain] | type[Gzip]] = {"": Plain, "identity": Plain, "gzip": Gzip, "x-gzip": Gzip}


MOST_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
KINDS = ("text/html", "application/xhtml+xml", "text/plain", "application/pdf")
USER_AGENT = f"Mozilla/5.0 (compatible; Veracity/{__version__}; opens single pages for its user)"
HEADERS = [
    ("User-Agent", USER_AGENT),
    ("Accept", ", ".join(KINDS)),
    ("Accept-Encoding", "gzip"),
    ("Connection", "close"),
]
FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError)

Vet = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server sent. `url` is where it was in the end; `charset` is what the server says, and may be empty."""

    url: str
    kind: str
    charset: str
    content: bytes


class Fetcher:
    """`vet` tells why an address may not be connected to, and is handed in only by tests, as are the other two."""

    def __init__(
        self,
        settings: WebSettings,
        *,
        vet: Vet = why_refused,
        resolve: Resolve | None = None,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._seconds = settings.page_seconds
        self._most = int(settings.page_megabytes * 1_000_000)
        self._vet = vet
        self._resolve = resolve or Resolver()
        self._trusted = trusted or httpx.create_ssl_context(trust_env=False)

    def fetch(self, url: str, deadline: Deadline) -> Fetched:
        deadline = deadline.or_within(self._seconds)
        place = place_of(url)
        for _ in range(1 + MOST_REDIRECTS):
            answer = self._asked(place, deadline)
            if isinstance(answer, Fetched):
                return answer
            place = _followed(place, answer)
        raise WebSearchError(f"The page {place.shown} was not opened: it redirects more than {MOST_REDIRECTS} times.")

    def close(self) -> None:
        if isinstance(self._resolve, Resolver):
            self._resolve.close()

    def _asked(self, place: Place, deadline: Deadline) -> Fetched | str:
        """The page, or where it redirects to."""
        try:
            return self._get(place, self._vetted(place, deadline), deadline)
        except (httpcore.TimeoutException, TimeoutError):
            why = "did not come in time"
        except FAILURES as problem:
            broken = "CERTIFICATE_VERIFY_FAILED" in str(problem)
            why = "has a certificate that cannot be verified" if broken else "cannot be reached"
        except zlib.error:
            why = "came damaged"
        except TooMuch:
            why = f"is larger than {self._most / 1_000_000:g} MB"
        raise WebSearchError(f"The page {place.shown} {why}.")

    def _vetted(self, place: Place, deadline: Deadline) -> list[str]:
        """One bad address among them, and the name is not to be trusted."""
        try:
            addresses = self._resolve(place.host, place.port, deadline)
        except TimeoutError:
            raise
        except OSError:
            addresses = []
        if not addresses:
            raise WebSearchError(f"The page {place.shown} cannot be reached: its host has no address.")
        for address in addresses:
            if why := self._vet(address, place.port):
                raise RefusedAddressError(f"The page {place.shown} was not opened: {why}.")
        return sorted(addresses, key=lambda address: ":" in address)  # IPv6 is the one that is more often broken

    def _get(self, place: Place, addresses: list[str], deadline: Deadline) -> Fetched | str:
        url = httpcore.URL(scheme=place.scheme, host=place.host, port=place.port, target=place.target)
        headers: list[tuple[str | bytes, str | bytes]] = [("Host", place.authority), *HEADERS]
        backend = PinnedBackend(addresses, deadline)
        with (
            httpcore.ConnectionPool(ssl_context=self._trusted, network_backend=backend, retries=0) as pool,
            pool.stream("GET", url, headers=headers) as response,
        ):
            told = {name.decode("latin-1").lower(): _text(value) for name, value in response.headers}
            if response.status in REDIRECTS and told.get("location"):
                return told["location"]
            if response.status != 200:
                raise WebSearchError(f"The page {place.shown} cannot be had: its server says HTTP {response.status}.")
            kind, charset = _kind(told.get("content-type", ""))
            if kind not in KINDS:
                raise WebSearchError(f"The page {place.shown} was not read: it is neither HTML, text nor PDF.")
            return Fetched(place.url, kind, charset, self._content(place, told, response))

    def _content(self, place: Place, told: dict[str, str], response: httpcore.Response) -> bytes:
        encoding = told.get("content-encoding", "").strip().lower()
        if encoding not in UNPACKERS:
            raise WebSearchError(f"The page {place.shown} was not read: it is packed in a way that was not asked for.")
        length = told.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._most:
            raise TooMuch
        unpacker, left, content = UNPACKERS[encoding](self._most), self._most, bytearray()
        for piece in response.iter_stream():
            left -= len(piece)
            if left < 0:
                raise TooMuch
            content += unpacker.feed(piece)
        return bytes(content)


def _followed(place: Place, location: str) -> Place:
    try:
        following = place_of(urljoin(place.url, location.strip()))
    except ValueError:  # brackets that do not match
        raise RefusedAddressError(
            f"The page {place.shown} was not opened: it redirects to what is no address."
        ) from None
    if place.scheme == "https" and following.scheme != "https":
        raise WebSearchError(f"The page {place.shown} was not opened: it redirects to an unprotected connection.")
    return following


def _kind(told: str) -> tuple[str, str]:
    message = Message()
    message["content-type"] = "".join(one for one in told if one.isprintable())
    charset = message.get_param("charset", "")
    return told.partition(";")[0].strip().lower(), charset if isinstance(charset, str) else ""


def _text(value: bytes) -> str:
    """Addresses that are not encoded as they should be are mostly UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
