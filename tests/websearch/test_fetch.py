"""The fetcher against an untrusted server."""

import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.websearch.web_server import (
    WebServer,
    disconnect,
    drip_bytes,
    drip_headers,
    hang,
    redirect,
    resolver_for,
    send,
    send_endlessly,
    send_gzip,
    send_without_length,
)
from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.settings import WebSettings
from veracity.websearch.addresses import RefusedAddressError
from veracity.websearch.fetch import MAX_REDIRECTS, USER_AGENT, Fetcher

SMALL = WebSettings(page_megabytes=0.1, page_seconds=60)
SHORT_TIMEOUT = WebSettings(page_megabytes=0.1, page_seconds=0.3)


@pytest.fixture
def fetcher(web: WebServer) -> Fetcher:
    return Fetcher(SMALL, vet=web.vet, resolve=web.resolve)


def refusal(fetcher: Fetcher, url: str, error: type[WebSearchError] = WebSearchError) -> str:
    with pytest.raises(WebSearchError) as refused:
        fetcher.fetch(url, Deadline.within(300))
    assert type(refused.value) is error
    assert "\n" not in str(refused.value) and str(refused.value).endswith(".")
    return str(refused.value)


def test_page_has_media_type_and_final_url(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {
        "/a": redirect("b?x=東京".encode().decode("latin-1")),
        "/b": send("<p>Hello", "Text/HTML; charset=Shift_JIS"),
    }
    fetched = fetcher.fetch(web.url("/a"), Deadline.within(300))
    assert (fetched.media_type, fetched.charset, fetched.content) == ("text/html", "Shift_JIS", b"<p>Hello")
    assert fetched.url == web.url("/b?x=%E6%9D%B1%E4%BA%AC")
    assert web.requests[0].headers["host"] == f"news.example.com:{web.port}"
    assert web.requests[0].headers["user-agent"] == USER_AGENT


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://127.0.0.2:{port}/",
        "http://127.0.0.1/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://2130706433:{port}/",
        "http://localhost:{port}/",
        "//0/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:{port}/_x",
        "http://name:password@news.example.com:{port}/",
        "http://[",
    ],
)
def test_redirect_to_a_private_address_is_refused(web: WebServer, target: str) -> None:
    """Names resolve to the test server, literal addresses to themselves."""

    def resolve(host: str, port: int, deadline: Deadline) -> list[str]:
        return ["127.0.0.1"] if host == "news.example.com" else [host]

    web.pages = {"/": redirect(target.format(port=web.port)), "*": send("secret")}
    refusal(Fetcher(SMALL, vet=web.vet, resolve=resolve), web.url("/"), RefusedAddressError)
    assert [request.path for request in web.requests] == ["/"]


@pytest.mark.parametrize("bad", ["10.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "not an address"])
def test_single_private_address_disqualifies_a_host(web: WebServer, bad: str) -> None:
    for addresses in (["127.0.0.1", bad], [bad, "127.0.0.1"]):
        fetcher = Fetcher(SMALL, vet=web.vet, resolve=resolver_for(news_example_com=addresses))
        refusal(fetcher, web.url("/"), RefusedAddressError)
    assert web.requests == []


def test_dns_rebinding(web: WebServer) -> None:
    """The checked address is the one connected to, without a second lookup."""
    addresses = iter([["127.0.0.1"], ["169.254.169.254"]])
    web.pages = {"/": send("hello")}
    fetcher = Fetcher(SMALL, vet=web.vet, resolve=lambda *_: next(addresses))
    assert fetcher.fetch(web.url("/"), Deadline.within(300)).content == b"hello"
    assert next(addresses) == ["169.254.169.254"]  # was not looked up
    addresses = iter([["127.0.0.1"], ["169.254.169.254"]])
    web.pages = {"/": redirect("/again")}  # needs a second lookup, which is checked
    refusal(fetcher, web.url("/"), RefusedAddressError)


def test_loopback_is_refused_by_default(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: connected.append(address))
    fetcher = Fetcher(WebSettings())
    for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254", "0", "127.1"):
        refusal(fetcher, f"http://{host}:{web.port}/", RefusedAddressError)
        refusal(fetcher, f"http://{host}/", RefusedAddressError)
    assert connected == []
    fetcher.close()


def test_next_address_is_tried(web: WebServer) -> None:
    web.pages = {"/": send("hello")}
    fetcher = Fetcher(SMALL, vet=lambda *_: "", resolve=resolver_for(news_example_com=["127.0.0.9", "127.0.0.1"]))
    assert fetcher.fetch(web.url("/"), Deadline.within(300)).content == b"hello"


def test_unreachable_hosts_and_status_codes_are_reported(web: WebServer, fetcher: Fetcher) -> None:
    assert "no address" in refusal(Fetcher(SMALL, resolve=resolver_for()), "http://nowhere.example.com/")
    web.pages = {"/": disconnect, "/404": send("", status=404), "/500": send("", status=500)}
    assert "cannot be reached" in refusal(fetcher, web.url("/"))
    assert "HTTP 404" in refusal(fetcher, web.url("/404"))
    assert "HTTP 500" in refusal(fetcher, web.url("/500"))


def test_hanging_resolver_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(600))
    fetcher = Fetcher(SHORT_TIMEOUT)
    assert "in time" in refusal(fetcher, "http://news.example.com/")
    released.set()
    fetcher.close()


@pytest.mark.parametrize("behaviour", [hang, drip_bytes, drip_headers])
def test_slow_server_times_out(web: WebServer, behaviour: Any) -> None:
    web.pages = {"/": behaviour}
    assert "in time" in refusal(Fetcher(SHORT_TIMEOUT, vet=web.vet, resolve=web.resolve), web.url("/"))


def test_deadline_includes_redirects(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {"/": redirect("/slow"), "/slow": drip_bytes}
    with pytest.raises(WebSearchError, match="in time"):
        fetcher.fetch(web.url("/"), Deadline.within(0.3))


def test_too_many_redirects(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {"/": redirect("/")}
    assert "redirects more than" in refusal(fetcher, web.url("/"))
    assert len(web.requests) == 1 + MAX_REDIRECTS


@pytest.mark.parametrize(
    "behaviour",
    [
        send_endlessly,
        send(b" " * 100_001),
        send(b" ", Content_Length="100001"),
        send_gzip(b" " * 100_001),
        send_gzip(bytes(50_000_000)),
        send(gzip.compress(b" " * 60_000) + gzip.compress(b" " * 60_000), Content_Encoding="gzip"),
        send_without_length(gzip.compress(b"") * 6000, Content_Encoding="gzip"),  # decompresses to nothing
    ],
)
def test_size_is_capped_compressed_or_not(web: WebServer, fetcher: Fetcher, behaviour: Any) -> None:
    web.pages = {"/": behaviour}
    assert "larger than 0.1 MB" in refusal(fetcher, web.url("/"))


def test_gzip_bomb_is_not_decompressed(web: WebServer) -> None:
    """300 MB in 300 kB must not take 300 MB of memory."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(300)) + packer.flush()
    web.pages = {"/": send(bomb, Content_Encoding="gzip")}
    fetcher = Fetcher(WebSettings(), vet=web.vet, resolve=web.resolve)
    tracemalloc.start()
    try:
        assert "larger than 5 MB" in refusal(fetcher, web.url("/"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


def test_gzip_pages_are_decompressed(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {
        "/": send_gzip("天気".encode()),
        "/two": send(gzip.compress(b"one ") + gzip.compress(b"two"), Content_Encoding="gzip"),
        "/bad": send(b"not gzip", Content_Encoding="gzip"),
        "/br": send(b"?", Content_Encoding="br"),
        "/twice": send(b"?", Content_Encoding="gzip, gzip"),
    }
    assert fetcher.fetch(web.url("/"), Deadline.within(300)).content.decode() == "天気"
    assert fetcher.fetch(web.url("/two"), Deadline.within(300)).content == b"one two"
    assert "damaged" in refusal(fetcher, web.url("/bad"))
    assert "compression was not requested" in refusal(fetcher, web.url("/br"))
    assert "compression was not requested" in refusal(fetcher, web.url("/twice"))


@pytest.mark.parametrize("kind", ["image/png", "application/json", "application/octet-stream", "", "text/htmlx", ";"])
def test_other_media_types_are_refused(web: WebServer, fetcher: Fetcher, kind: str) -> None:
    web.pages = {"/": send("{}", kind)}
    assert "neither HTML" in refusal(fetcher, web.url("/"))


def test_no_state_is_sent_to_other_origins(web: WebServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cookies, credentials, referrer or ~/.netrc, and no proxy from the environment."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-Zq8rT2vXw9LmN4pBc7Jd")
    web.pages = {
        "/": redirect(web.url("/b", host="other.example.net"), Set_Cookie="session=1", WWW_Authenticate="Basic"),
        "/b": redirect(web.url("/c", host="other.example.net"), 301),
        "/c": send("done"),
    }
    assert fetcher.fetch(web.url("/"), Deadline.within(300)).content == b"done"
    for request in web.requests:
        assert request.headers.keys() == {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert [request.headers["host"].partition(":")[0] for request in web.requests] == [
        "news.example.com",
        "other.example.net",
        "other.example.net",
    ]
    assert web.asked == ["news.example.com", "other.example.net", "other.example.net"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder: Path = tmp_path_factory.mktemp("certificate")
    certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    name = ["-subj", "/CN=news.example.com", "-addext", "subjectAltName=DNS:news.example.com"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out"]
    subprocess.run([*made, certificate, *name], check=True, capture_output=True, timeout=60)
    return certificate, key


@pytest.fixture
def protected(web: WebServer, certificate: tuple[str, str]) -> Iterator[tuple[Fetcher, list[str | None]]]:
    names: list[str | None] = []
    web.enable_tls(*certificate, names)
    trusted = ssl.create_default_context(cafile=certificate[0])
    yield Fetcher(SMALL, vet=web.vet, resolve=web.resolve, trusted=trusted), names


def test_tls_verifies_the_host_name_at_the_checked_address(
    web: WebServer, protected: tuple[Fetcher, list[str | None]]
) -> None:
    fetcher, names = protected
    web.pages = {"/": send("hello"), "/down": redirect(web.url("/"))}
    assert fetcher.fetch(web.url("/", scheme="https"), Deadline.within(300)).content == b"hello"
    assert names == ["news.example.com"]
    assert "certificate" in refusal(fetcher, web.url("/", "other.example.com", "https"))
    assert "from https to http" in refusal(fetcher, web.url("/down", scheme="https"))
    unknown = Fetcher(SMALL, vet=web.vet, resolve=web.resolve)
    assert "certificate" in refusal(unknown, web.url("/", scheme="https"))
    assert [request.path for request in web.requests] == ["/", "/down"]
