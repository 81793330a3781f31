"""Checks that no URL or redirect can make the fetcher connect to a private address.

    python -m benchmarks.ssrf --data DIRECTORY

Reads the rows of kind `ssrf_url` from `safety.items.jsonl` in the directory (default: VERACITY_DATA). Fetches each URL
in several ways: unchanged; with names that resolve to a private address, alone or after a public one; with names that
are public when checked and private when resolved again (DNS rebinding); and as the target of a redirect. Every
connection except to the redirecting server is recorded and refused before it is made. "Other" counts connections to
public addresses, which are allowed. "Unreachable" counts unknown names, and those connections. `http:127.0.0.1/` as a
redirect is a path of the same site.
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote_to_bytes

import httpx

from benchmarks.retrieval.sets import data_folder
from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.settings import WebSettings
from veracity.websearch.addresses import RefusedAddressError, is_public, refusal_reason
from veracity.websearch.fetch import Fetcher, Resolve, Resolver, Vet

PUBLIC = "93.184.215.14"
PRIVATE = ("127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "::ffff:169.254.169.254", "fd00:ec2::254")


class Recorder:
    """Records and refuses all connections except to the redirecting server."""

    def __init__(self, own: tuple[str, int]) -> None:
        self.own = own
        self.private: list[str] = []
        self.other: list[str] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        with patch("socket.socket.connect", self._guarded(socket.socket.connect)):
            yield

    def _guarded(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(stream: socket.socket, address: Any) -> Any:
            if stream.family not in (socket.AF_INET, socket.AF_INET6) or address[:2] == self.own:
                return connect(stream, address)
            public = is_public(ip_address(str(address[0])))
            (self.other if public else self.private).append(str(address[0]))
            raise ConnectionRefusedError

        return guarded


class Redirecting(BaseHTTPRequestHandler):
    """`/?URL` redirects to the URL."""

    def do_GET(self) -> None:
        self.send_response(302)
        self.wfile.write(b"".join(getattr(self, "_headers_buffer", [])))
        self._headers_buffer: list[bytes] = []
        self.wfile.write(b"Location: " + unquote_to_bytes(self.path.partition("?")[2]) + b"\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def names_resolve_to(*answers: list[str]) -> Resolve:
    """Returns the answers in order for each name, then repeats the last."""
    lookups: Counter[str] = Counter()

    def resolve(host: str, port: int, deadline: Deadline) -> list[str]:
        try:
            return [str(ip_address(host))]
        except ValueError:
            lookups[host] += 1
            return answers[min(lookups[host], len(answers)) - 1]

    return resolve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--seconds", type=float, default=2.0, help="per page")
    arguments = parser.parse_args()
    urls = _urls(data_folder(arguments.data) / "safety.items.jsonl")
    server = HTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port, settings = server.server_address[1], WebSettings(page_seconds=arguments.seconds)
    system = Resolver()
    plain: dict[str, Callable[[], Resolve]] = {
        "unchanged": lambda: system,
        **{f"names resolve to {address}": partial(names_resolve_to, [address]) for address in PRIVATE},
        f"names resolve to {PUBLIC} and 10.0.0.1": partial(names_resolve_to, [PUBLIC, "10.0.0.1"]),
        "names are public first, then private": partial(names_resolve_to, [PUBLIC], ["127.0.0.1"]),
    }
    print(f"{len(urls)} URLs\n\n| way | refused | unreachable | fetched | connections: private | other |")
    print("|---|---:|---:|---:|---:|---:|")
    trusted, start = httpx.create_ssl_context(), f"http://start.example.com:{port}/?{{}}"
    for way, resolve in plain.items():
        make = partial(_fetcher, settings, refusal_reason, resolve, trusted)
        _show(way, urls, make, Recorder(("127.0.0.1", port)), "{}")

    def vet(address: str, at: int) -> str:
        return "" if (address, at) == ("127.0.0.1", port) else refusal_reason(address, at)

    make = partial(_fetcher, settings, vet, partial(names_resolve_to, ["127.0.0.1"]), trusted)
    _show("redirected to, names resolve to 127.0.0.1", urls, make, Recorder(("127.0.0.1", port)), start)
    server.shutdown()


def _fetcher(settings: WebSettings, vet: Vet, resolve: Callable[[], Resolve], trusted: ssl.SSLContext) -> Fetcher:
    """A new one per URL, so that a resolver with several answers starts again."""
    return Fetcher(settings, vet=vet, resolve=resolve(), trusted=trusted)


def _urls(path: Path) -> list[str]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row["text"] for row in rows if row["kind"] == "ssrf_url"]


def _show(way: str, urls: list[str], make: Callable[[], Fetcher], recorder: Recorder, form: str) -> None:
    outcomes: Counter[str] = Counter()
    with recorder.watching():
        for url in urls:
            outcomes[_outcome(make(), form.format(_percent_encode(url) if "?" in form else url))] += 1
    counts = " | ".join(str(outcomes[name]) for name in ("refused", "unreachable", "fetched"))
    print(f"| {way} | {counts} | {len(recorder.private)} | {len(recorder.other)} |", flush=True)
    if recorder.private:
        print(f"\nConnected to: {', '.join(recorder.private)}")


def _percent_encode(url: str) -> str:
    """Encodes every byte, so that our checks see the URL only when it returns as a redirect."""
    return "".join(f"%{byte:02x}" for byte in url.encode())


def _outcome(fetcher: Fetcher, url: str) -> str:
    try:
        fetcher.fetch(url, Deadline.within(30))
    except RefusedAddressError:
        return "refused"
    except WebSearchError:
        return "unreachable"
    return "fetched"


if __name__ == "__main__":
    main()
