"""The guarded fetcher, against a server that is not to be trusted."""

import gzip
import shutil
import socket
import ssl
import subprocess
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.websearch.web_server import (
    WebServer,
    drips,
    drips_headers,
    endless,
    hangs,
    hangs_up,
    leads_to,
    packed,
    redirects,
    sends,
    unmeasured,
)
from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.settings import WebSettings
from veracity.websearch.addresses import RefusedAddressError
from veracity.websearch.fetch import MOST_REDIRECTS, USER_AGENT, Fetcher

SMALL = WebSettings(page_megabytes=0.1, page_seconds=5)
IMPATIENT = WebSettings(page_megabytes=0.1, page_seconds=0.3)


@pytest.fixture
def fetcher(web: WebServer) -> Fetcher:
    return Fetcher(SMALL, vet=web.vet, resolve=web.resolve)


def refusal(fetcher: Fetcher, url: str, error: type[WebSearchError] = WebSearchError) -> str:
    with pytest.raises(WebSearchError) as refused:
        fetcher.fetch(url, Deadline.within(10))
    assert type(refused.value) is error
    assert "\n" not in str(refused.value) and str(refused.value).endswith(".")
    return str(refused.value)


def test_a_page_comes_with_its_kind_and_final_address(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {
        "/a": redirects("b?x=東京".encode().decode("latin-1")),
        "/b": sends("<p>Hello", "Text/HTML; charset=Shift_JIS"),
    }
    fetched = fetcher.fetch(web.url("/a"), Deadline.within(5))
    assert (fetched.kind, fetched.charset, fetched.content) == ("text/html", "Shift_JIS", b"<p>Hello")
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
def test_a_redirect_to_a_private_place_is_refused(web: WebServer, target: str) -> None:
    """Names lead here, literal addresses where they say."""

    def resolve(host: str, port: int, deadline: Deadline) -> list[str]:
        return ["127.0.0.1"] if host == "news.example.com" else [host]

    web.pages = {"/": redirects(target.format(port=web.port)), "*": sends("secret")}
    refusal(Fetcher(SMALL, vet=web.vet, resolve=resolve), web.url("/"), RefusedAddressError)
    assert [request.path for request in web.requests] == ["/"]


@pytest.mark.parametrize("bad", ["10.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "not an address"])
def test_one_bad_address_among_good_ones_is_enough(web: WebServer, bad: str) -> None:
    for addresses in (["127.0.0.1", bad], [bad, "127.0.0.1"]):
        fetcher = Fetcher(SMALL, vet=web.vet, resolve=leads_to(news_example_com=addresses))
        refusal(fetcher, web.url("/"), RefusedAddressError)
    assert web.requests == []


def test_a_name_that_leads_elsewhere_the_second_time_leads_nowhere_new(web: WebServer) -> None:
    """DNS rebinding: what was vetted is what is connected to, without a second look."""
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    web.pages = {"/": sends("hello")}
    fetcher = Fetcher(SMALL, vet=web.vet, resolve=lambda *_: next(answers))
    assert fetcher.fetch(web.url("/"), Deadline.within(5)).content == b"hello"
    assert next(answers) == ["169.254.169.254"]  # nobody asked
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    web.pages = {"/": redirects("/again")}  # here somebody has to, and the answer is vetted
    refusal(fetcher, web.url("/"), RefusedAddressError)


def test_by_default_nothing_on_this_machine_is_fetched(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: connected.append(address))
    fetcher = Fetcher(WebSettings())
    for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254", "0", "127.1"):
        refusal(fetcher, f"http://{host}:{web.port}/", RefusedAddressError)
        refusal(fetcher, f"http://{host}/", RefusedAddressError)
    assert connected == []
    fetcher.close()


def test_the_next_address_is_tried(web: WebServer) -> None:
    web.pages = {"/": sends("hello")}
    fetcher = Fetcher(SMALL, vet=lambda *_: "", resolve=leads_to(news_example_com=["127.0.0.9", "127.0.0.1"]))
    assert fetcher.fetch(web.url("/"), Deadline.within(5)).content == b"hello"


def test_a_name_without_address_and_a_server_that_hangs_up_are_told(web: WebServer, fetcher: Fetcher) -> None:
    assert "no address" in refusal(Fetcher(SMALL, resolve=leads_to()), "http://nowhere.example.com/")
    web.pages = {"/": hangs_up, "/404": sends("", status=404), "/500": sends("", status=500)}
    assert "cannot be reached" in refusal(fetcher, web.url("/"))
    assert "HTTP 404" in refusal(fetcher, web.url("/404"))
    assert "HTTP 500" in refusal(fetcher, web.url("/500"))


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(20))
    fetcher, started = Fetcher(IMPATIENT), time.monotonic()
    assert "in time" in refusal(fetcher, "http://news.example.com/")
    assert time.monotonic() - started < 15
    fetcher.close()


@pytest.mark.parametrize("behaviour", [hangs, drips, drips_headers])
def test_a_slow_server_gets_the_time_of_a_page(web: WebServer, behaviour: Any) -> None:
    web.pages = {"/": behaviour}
    started = time.monotonic()
    assert "in time" in refusal(Fetcher(IMPATIENT, vet=web.vet, resolve=web.resolve), web.url("/"))
    assert 0.2 < time.monotonic() - started < 15


def test_the_deadline_of_all_is_kept_over_redirects(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {"/": redirects("/slow"), "/slow": drips}
    started = time.monotonic()
    with pytest.raises(WebSearchError, match="in time"):
        fetcher.fetch(web.url("/"), Deadline.within(0.3))
    assert time.monotonic() - started < 15


def test_too_many_redirects_are_refused(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {"/": redirects("/")}
    assert "redirects more than" in refusal(fetcher, web.url("/"))
    assert len(web.requests) == 1 + MOST_REDIRECTS


@pytest.mark.parametrize(
    "behaviour",
    [
        endless,
        sends(b" " * 100_001),
        sends(b" ", Content_Length="100001"),
        packed(b" " * 100_001),
        packed(bytes(50_000_000)),
        sends(gzip.compress(b" " * 60_000) + gzip.compress(b" " * 60_000), Content_Encoding="gzip"),
        unmeasured(gzip.compress(b"") * 6000, Content_Encoding="gzip"),  # of which nothing comes
    ],
)
def test_a_page_that_is_too_large_is_refused_packed_or_not(web: WebServer, fetcher: Fetcher, behaviour: Any) -> None:
    web.pages = {"/": behaviour}
    assert "larger than 0.1 MB" in refusal(fetcher, web.url("/"))


def test_a_bomb_is_never_unpacked(web: WebServer) -> None:
    """What 300 MB in 300 kB take in memory is a page, not 300 MB."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(300)) + packer.flush()
    web.pages = {"/": sends(bomb, Content_Encoding="gzip")}
    fetcher = Fetcher(WebSettings(), vet=web.vet, resolve=web.resolve)
    tracemalloc.start()
    try:
        assert "larger than 5 MB" in refusal(fetcher, web.url("/"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


def test_packed_pages_are_unpacked(web: WebServer, fetcher: Fetcher) -> None:
    web.pages = {
        "/": packed("天気".encode()),
        "/two": sends(gzip.compress(b"one ") + gzip.compress(b"two"), Content_Encoding="gzip"),
        "/bad": sends(b"not packed", Content_Encoding="gzip"),
        "/br": sends(b"?", Content_Encoding="br"),
        "/twice": sends(b"?", Content_Encoding="gzip, gzip"),
    }
    assert fetcher.fetch(web.url("/"), Deadline.within(5)).content.decode() == "天気"
    assert fetcher.fetch(web.url("/two"), Deadline.within(5)).content == b"one two"
    assert "damaged" in refusal(fetcher, web.url("/bad"))
    assert "packed in a way" in refusal(fetcher, web.url("/br"))
    assert "packed in a way" in refusal(fetcher, web.url("/twice"))


@pytest.mark.parametrize("kind", ["image/png", "application/json", "application/octet-stream", "", "text/htmlx", ";"])
def test_what_is_no_page_is_not_read(web: WebServer, fetcher: Fetcher, kind: str) -> None:
    web.pages = {"/": sends("{}", kind)}
    assert "neither HTML" in refusal(fetcher, web.url("/"))


def test_nothing_is_carried_from_one_origin_to_another(
    web: WebServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cookie, no credential, no referrer, nothing of ~/.netrc; and no proxy of the environment is asked."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-Zq8rT2vXw9LmN4pBc7Jd")
    web.pages = {
        "/": redirects(web.url("/b", host="other.example.net"), Set_Cookie="session=1", WWW_Authenticate="Basic"),
        "/b": redirects(web.url("/c", host="other.example.net"), 301),
        "/c": sends("done"),
    }
    assert fetcher.fetch(web.url("/"), Deadline.within(5)).content == b"done"
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
    web.protect(*certificate, names)
    trusted = ssl.create_default_context(cafile=certificate[0])
    yield Fetcher(SMALL, vet=web.vet, resolve=web.resolve, trusted=trusted), names


def test_tls_speaks_to_the_name_at_the_vetted_address(
    web: WebServer, protected: tuple[Fetcher, list[str | None]]
) -> None:
    fetcher, names = protected
    web.pages = {"/": sends("hello"), "/down": redirects(web.url("/"))}
    assert fetcher.fetch(web.url("/", scheme="https"), Deadline.within(5)).content == b"hello"
    assert names == ["news.example.com"]
    assert "certificate" in refusal(fetcher, web.url("/", "other.example.com", "https"))
    assert "unprotected" in refusal(fetcher, web.url("/down", scheme="https"))
    unknown = Fetcher(SMALL, vet=web.vet, resolve=web.resolve)
    assert "certificate" in refusal(unknown, web.url("/", scheme="https"))
    assert [request.path for request in web.requests] == ["/", "/down"]
