"""Decides which URLs, host names and IP addresses pages may be fetched from.

IP addresses are judged by themselves, whatever the name. Addresses that embed another one (IPv4 in IPv6, tunnels,
translators) are all refused: no page that a search finds needs them.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import quote, urlsplit

import idna

from veracity.errors import WebSearchError
from veracity.secrets import presentable

MAX_URL_LENGTH = 2000
MAX_SHOWN_LENGTH = 120
PORTS = {"http": 80, "https": 443}
WEB_PORTS = frozenset((80, 443, 8000, 8080, 8443))
OTHER_DOTS = "\u3002\uff0e\uff61"  # some parsers take them for dots

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# Top-level domains that no public site has, whatever a resolver says.
_PRIVATE_NAMES = frozenset(
    ("localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "arpa", "onion",
     "test", "invalid", "alt")
)  # fmt: skip
_NOT_PUBLIC_4 = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata service
            "127.0.0.0/8",
            "168.63.129.16/32",  # a public address, but Azure's host services answer there
            "169.254.0.0/16",  # link-local, and the metadata service of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
_PUBLIC_6 = ip_network("2000::/3")  # excludes loopback, embedded IPv4, local, multicast and unassigned
_NOT_PUBLIC_6 = tuple(
    map(
        ip_network,
        (
            "2001::/23",  # Teredo, benchmarks and other protocols
            "2001:db8::/32",
            "2002::/16",  # 6to4
            "3ffe::/16",
            "3fff::/20",
        ),
    )
)


class RefusedAddressError(WebSearchError):
    """No page may be fetched from this address."""


@dataclass(frozen=True, slots=True)
class PageURL:
    """A well-formed URL of a page. `host` is ASCII, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    target: str  # path and query

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def quoted(self) -> str:
        return quote_url(self.url)


def quote_url(url: str) -> str:
    """For error messages."""
    return f'"{presentable(url, MAX_SHOWN_LENGTH)}"'


def parse_page_url(url: str) -> PageURL:
    """Raises RefusedAddressError. Strict where parsers disagree about which host a URL names."""
    if not url.isprintable() or len(url) > MAX_URL_LENGTH or " " in url or "\\" in url:
        raise _refused(url, "it is not a valid URL")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        target = _percent_encode(parts.path or "/") + (f"?{_percent_encode(parts.query)}" if parts.query else "")
    except ValueError:  # a bad port, unbalanced brackets, a lone surrogate
        raise _refused(url, "it is not a valid URL") from None
    if parts.scheme not in PORTS:
        raise _refused(url, "only http and https are fetched")
    if "@" in parts.netloc:
        raise _refused(url, "it contains a user name or password")
    if not host or port == 0 or "%" in parts.netloc or unicodedata.normalize("NFKC", parts.netloc) != parts.netloc:
        raise _refused(url, "its host name is not valid")
    name = _normalize_address(host) if parts.netloc.startswith("[") else _normalize_name(host)
    if not name:
        raise _refused(url, "its host is not a public site")
    return PageURL(parts.scheme, name, PORTS[parts.scheme] if port is None else port, target)


def refusal_reason(address: str, port: int) -> str:
    """Why no page may be fetched from an IP address and port; empty if it is allowed."""
    if port not in WEB_PORTS:
        return f"its port ({port}) is not a web port"
    try:
        parsed = ip_address(address)
    except ValueError:
        return "its host does not resolve to an IP address"
    return "" if is_public(parsed) else "its host resolves to an address that is not public"


def is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return (
        address.scope_id is None
        and address in _PUBLIC_6
        and not any(address in network for network in _NOT_PUBLIC_6)
        and address.is_global  # also knows ranges reserved later
    )


def _normalize_name(host: str) -> str:
    """The name in ASCII without a trailing dot; empty if no public site can have it."""
    if any(dot in host for dot in OTHER_DOTS):
        return ""
    try:
        name = host if host.isascii() else idna.encode(host, std3_rules=True).decode("ascii")
    except UnicodeError:
        return ""
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # an IP address, or what some parsers take for one
        return _normalize_address(name)
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        return ""
    return "" if len(labels) < 2 or labels[-1] in _PRIVATE_NAMES else name


def _normalize_address(host: str) -> str:
    """In canonical form; empty for decimal, octal, hexadecimal and shortened forms."""
    try:
        return str(ip_address(host))
    except ValueError:
        return ""


def _percent_encode(part: str) -> str:
    return quote(part, safe="/%:@!$&'()*+,;=~?[]")


def _refused(url: str, reason: str) -> RefusedAddressError:
    return RefusedAddressError(f"The page {quote_url(url)} was not opened: {reason}.")
