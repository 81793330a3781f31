"""Fetches one page from the web. Every hop's IP addresses are checked, and only the checked ones are connected to.

Uses no cookies, credentials, proxies or settings of the environment. Caps the bytes, compressed and decompressed, and
the seconds. httpcore instead of `providers.http`, since httpx cannot pin a connection to an IP address.
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
from veracity.providers.errors import Failure
from veracity.settings import WebSettings
from veracity.version import __version__
from veracity.websearch.addresses import PageURL, RefusedAddressError, parse_page_url, refusal_reason
from veracity.workers import ThreadLocals, Workers

CONNECT_SECONDS = 3.0  # before the next IP address is tried, if there is another
MAX_REDIRECTS = 5
MAX_RESOLVER_THREADS = 16  # the system's resolver cannot be interrupted; at most so many hang
REDIRECT_STATUSES = (301, 302, 303, 307, 308)
MEDIA_TYPES = ("text/html", "application/xhtml+xml", "text/plain", "application/pdf")
USER_AGENT = f"Mozilla/5.0 (compatible; Veracity/{__version__}; opens single pages for its user)"
HEADERS = [
    ("User-Agent", USER_AGENT),
    ("Accept", ", ".join(MEDIA_TYPES)),
    ("Accept-Encoding", "gzip"),
    ("Connection", "close"),
]
ENCODINGS = ("", "identity", "gzip", "x-gzip")
GZIP = 16 + zlib.MAX_WBITS
CONNECTION_ERRORS = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    OSError,
)

Vet = Callable[[str, int], str]
"""Why an IP address and port may not be connected to; empty if they may."""
Resolve = Callable[[str, int, Deadline], list[str]]
"""The IP addresses of a host. Raises OSError if it has none, TimeoutError after the deadline."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A server's response. `url` is the final URL, after redirects; `charset` is the server's and may be empty."""

    url: str
    media_type: str
    charset: str
    content: bytes


class Fetcher:
    """The keyword arguments are for tests."""

    def __init__(
        self,
        settings: WebSettings,
        *,
        vet: Vet = refusal_reason,
        resolve: Resolve | None = None,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._seconds = settings.page_seconds
        self._max_bytes = int(settings.page_megabytes * 1_000_000)
        self._vet = vet
        self._resolve = resolve or Resolver()
        self._trusted = trusted or httpx.create_ssl_context(trust_env=False)

    def fetch(self, url: str, deadline: Deadline) -> FetchedPage:
        """Raises WebSearchError, and RefusedAddressError if an address may not be fetched from."""
        deadline = deadline.capped_at(self._seconds)
        page = parse_page_url(url)
        for _ in range(1 + MAX_REDIRECTS):
            response = self._request(page, deadline)
            if isinstance(response, FetchedPage):
                return response
            page = _redirect(page, response)
        raise WebSearchError(f"The page {page.quoted} was not opened: it redirects more than {MAX_REDIRECTS} times.")

    def close(self) -> None:
        if isinstance(self._resolve, Resolver):
            self._resolve.close()

    def _request(self, page: PageURL, deadline: Deadline) -> FetchedPage | str:
        """The page, or the location it redirects to."""
        try:
            return self._get(page, self._checked_addresses(page, deadline), deadline)
        except CONNECTION_ERRORS as problem:
            message = Failure.from_exception(problem).sentence(f"The page {page.quoted}", fix="")
        except zlib.error:
            message = f"The page {page.quoted} arrived damaged."
        except TooLargeError:
            message = f"The page {page.quoted} is larger than {self._max_bytes / 1_000_000:g} MB."
        raise WebSearchError(message)

    def _checked_addresses(self, page: PageURL, deadline: Deadline) -> list[str]:
        """A single refused IP address disqualifies the host."""
        try:
            addresses = self._resolve(page.host, page.port, deadline)
        except TimeoutError:
            raise
        except OSError:
            addresses = []
        if not addresses:
            raise WebSearchError(f"The page {page.quoted} cannot be reached: its host has no address.")
        for address in addresses:
            if reason := self._vet(address, page.port):
                raise RefusedAddressError(f"The page {page.quoted} was not opened: {reason}.")
        return sorted(addresses, key=lambda address: ":" in address)  # IPv6 last: it fails more often

    def _get(self, page: PageURL, addresses: list[str], deadline: Deadline) -> FetchedPage | str:
        url = httpcore.URL(scheme=page.scheme, host=page.host, port=page.port, target=page.target)
        headers: list[tuple[str | bytes, str | bytes]] = [("Host", page.authority), *HEADERS]
        backend = PinnedBackend(addresses, deadline)
        with (
            httpcore.ConnectionPool(ssl_context=self._trusted, network_backend=backend, retries=0) as pool,
            pool.stream("GET", url, headers=headers) as response,
        ):
            received = {name.decode("latin-1").lower(): _decode_header(value) for name, value in response.headers}
            if response.status in REDIRECT_STATUSES and received.get("location"):
                return received["location"]
            if response.status != 200:
                raise WebSearchError(f"The page {page.quoted} is not available: HTTP {response.status}.")
            media_type, charset = _content_type(received.get("content-type", ""))
            if media_type not in MEDIA_TYPES:
                raise WebSearchError(f"The page {page.quoted} was not read: it is neither HTML, text nor PDF.")
            return FetchedPage(page.url, media_type, charset, self._read(page, received, response))

    def _read(self, page: PageURL, headers: dict[str, str], response: httpcore.Response) -> bytes:
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ENCODINGS:
            raise WebSearchError(f"The page {page.quoted} was not read: its compression was not requested.")
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._max_bytes:
            raise TooLargeError
        decoder = GzipDecoder(self._max_bytes) if "gzip" in encoding else None
        left, content = self._max_bytes, bytearray()
        for chunk in response.iter_stream():
            left -= len(chunk)
            if left < 0:
                raise TooLargeError
            content += decoder.feed(chunk) if decoder else chunk
        return bytes(content)


class Resolver:
    """The system's resolver, on threads, so that a caller can stop waiting for it."""

    def __init__(self) -> None:
        self._workers = Workers(MAX_RESOLVER_THREADS, "veracity-resolving")

    def __call__(self, host: str, port: int, deadline: Deadline) -> list[str]:
        future = self._workers.submit(partial(_resolve, host, port))
        wait([future], deadline.left)
        if not future.done():
            future.cancel()
            raise TimeoutError
        addresses: list[str] = future.result()
        return addresses

    def close(self) -> None:
        self._workers.close(0)


class PinnedBackend(httpcore.NetworkBackend):
    """Connects to the given IP addresses only, whatever the host name resolves to by then."""

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
                return self._connect(address, port, self._deadline.capped_at(CONNECT_SECONDS), socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(last, port, self._deadline, socket_options)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        raise httpcore.UnsupportedProtocol("pages are not fetched from Unix sockets")

    def _connect(
        self, address: str, port: int, deadline: Deadline, socket_options: Iterable[Any] | None
    ) -> httpcore.NetworkStream:
        if deadline.has_passed:
            raise httpcore.ConnectTimeout
        stream = self._backend.connect_tcp(address, port, timeout=deadline.left, socket_options=socket_options)
        return TimedStream(stream, self._deadline)


class TimedStream(httpcore.NetworkStream):
    """Applies one deadline to all reads and writes."""

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
            raise timed_out("the deadline has passed")
        return self._deadline.left


class TooLargeError(Exception):
    pass


class GzipDecoder:
    """Raises zlib.error for damaged data."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._decompressor = zlib.decompressobj(GZIP)

    def feed(self, data: bytes) -> bytes:
        pieces = []
        while data:
            piece = self._decompressor.decompress(data, self._left + 1)
            self._left -= len(piece)
            if self._left < 0:
                raise TooLargeError
            pieces.append(piece)
            data = self._decompressor.unused_data
            if self._decompressor.eof:  # another member may follow
                self._decompressor = zlib.decompressobj(GZIP)
        return b"".join(pieces)


def _resolve(host: str, port: int, _: ThreadLocals) -> list[str]:
    """Runs on a worker."""
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label too long for DNS
        raise OSError("no such name") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


def _redirect(page: PageURL, location: str) -> PageURL:
    try:
        target = parse_page_url(urljoin(page.url, location.strip()))
    except ValueError:  # unbalanced brackets
        raise RefusedAddressError(f"The page {page.quoted} was not opened: it redirects to an invalid URL.") from None
    if page.scheme == "https" and target.scheme != "https":
        raise WebSearchError(f"The page {page.quoted} was not opened: it redirects from https to http.")
    return target


def _content_type(header: str) -> tuple[str, str]:
    """Media type and charset."""
    message = Message()
    message["content-type"] = "".join(character for character in header if character.isprintable())
    charset = message.get_param("charset", "")
    return header.partition(";")[0].strip().lower(), charset if isinstance(charset, str) else ""


def _decode_header(value: bytes) -> str:
    """Locations that are not percent-encoded are mostly UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
