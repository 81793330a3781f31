"""Where on the web a page may be fetched from: vets URLs, names and addresses.

Addresses are judged as they are, whatever a name promises. What lies inside another address (IPv4 in IPv6, tunnels,
translators) is refused whole: no page that a search finds needs it. Knows nothing about how a page is fetched.
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

LONGEST_URL = 2000
LONGEST_SHOWN = 120
PORTS = {"http": 80, "https": 443}
OPEN_PORTS = frozenset((80, 443, 8000, 8080, 8443))  # others are not those of web sites
OTHER_DOTS = "\u3002\uff0e\uff61"  # which some parsers take for dots

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# Names that are never those of public sites, whatever a resolver makes of them.
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
            "100.64.0.0/10",  # carriers' own, and the metadata of Alibaba
            "127.0.0.0/8",
            "168.63.129.16/32",  # public by its number; Azure answers its machines there
            "169.254.0.0/16",  # link-local, and the metadata of most clouds
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
_PUBLIC_6 = ip_network("2000::/3")  # the rest: loopback, mapped and translated IPv4, local, multicast, not assigned
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
    """The page lies where none may be fetched from."""


@dataclass(frozen=True, slots=True)
class Place:
    """A URL that can be fetched as far as its form tells. `host` is ASCII; an IPv6 address stands without brackets."""

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
    def shown(self) -> str:
        return shown(self.url)


def shown(url: str) -> str:
    return f'"{presentable(url, LONGEST_SHOWN)}"'


def place_of(url: str) -> Place:
    """Strict where parsers disagree: what one of them could take for another host is refused."""
    if not url.isprintable() or len(url) > LONGEST_URL or " " in url or "\\" in url:
        raise _refused(url, "it is not written as an address is")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        target = _quoted(parts.path or "/") + (f"?{_quoted(parts.query)}" if parts.query else "")
    except ValueError:  # a port that is none, brackets that do not match, half a character
        raise _refused(url, "it is not written as an address is") from None
    if parts.scheme not in PORTS:
        raise _refused(url, "only http and https are fetched")
    if "@" in parts.netloc:
        raise _refused(url, "it holds a name or a password")
    if not host or port == 0 or "%" in parts.netloc or unicodedata.normalize("NFKC", parts.netloc) != parts.netloc:
        raise _refused(url, "its host is not written as a host is")
    name = _address(host) if parts.netloc.startswith("[") else _name(host)
    if not name:
        raise _refused(url, "its host is not that of a public site")
    return Place(parts.scheme, name, PORTS[parts.scheme] if port is None else port, target)


def why_refused(address: str, port: int) -> str:
    """Why no page may be fetched from there; empty where one may."""
    if port not in OPEN_PORTS:
        return f"its port ({port}) is not one of web sites"
    try:
        found = ip_address(address)
    except ValueError:
        return "what it leads to is no address"
    return "" if is_public(found) else "it leads to an address that is not public"


def is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return (
        address.scope_id is None
        and address in _PUBLIC_6
        and not any(address in network for network in _NOT_PUBLIC_6)
        and address.is_global  # what was reserved since this was written
    )


def _name(host: str) -> str:
    """In ASCII, without the dot at its end; empty for what cannot be a public site's."""
    if any(dot in host for dot in OTHER_DOTS):
        return ""
    try:
        name = host if host.isascii() else idna.encode(host, std3_rules=True).decode("ascii")
    except UnicodeError:
        return ""
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # an address, or what some parser takes for one
        return _address(name)
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        return ""
    return "" if len(labels) < 2 or labels[-1] in _PRIVATE_NAMES else name


def _address(host: str) -> str:
    """As it is usually written; empty for decimal, octal, hexadecimal and shortened forms."""
    try:
        return str(ip_address(host))
    except ValueError:
        return ""


def _quoted(part: str) -> str:
    return quote(part, safe="/%:@!$&'()*+,;=~?[]")


def _refused(url: str, why: str) -> RefusedAddressError:
    return RefusedAddressError(f"The page {shown(url)} was not opened: {why}.")
