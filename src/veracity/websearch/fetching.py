"""Fetches one page from the web, guarded: each hop's addresses are vetted, and only those are connected to.

No cookies, no credentials, no proxy, nothing from the environment; no more bytes, packed or unpacked, and no more
seconds than allowed. Knows nothing about searching, or what a page says.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from urllib.parse import urljoin

import httpcore
import httpx

from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.settings import WebSettings
from veracity.version import __version__
from veracity.websearch.addresses import Place, RefusedAddressError, place_of, why_refused
from veracity.websearch.connecting import PinnedBackend
from veracity.websearch.resolving import Resolve, Resolver
from veracity.websearch.unpacking import UNPACKERS, TooMuch

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
