"""All search providers over real HTTP, against a server that also misbehaves (SPEC D9)."""

from __future__ import annotations

import builtins
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from ddgs.engines import ENGINES
from ddgs.engines.duckduckgo import Duckduckgo

from tests.websearch.web_server import (
    Behaviour,
    Request,
    WebServer,
    disconnect,
    drip_bytes,
    drip_headers,
    hang,
    redirect,
    send,
    send_endlessly,
    send_json,
)
from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, WebSearchError
from veracity.settings import WebSettings
from veracity.websearch import providers
from veracity.websearch.providers import (
    MAX_QUERY_LENGTH,
    MAX_SNIPPET_LENGTH,
    Ddgs,
    SearchProvider,
    SearXNG,
    Tavily,
    make_provider,
)

KEY = "tvly-Zq8rT2vXw9LmN4pBc7Jd"
Rows = list[tuple[Any, Any, Any]]  # url, title, snippet


@dataclass(frozen=True)
class Case:
    """A provider, the response format of its service, and how to read the query from a request."""

    make: Callable[[str], SearchProvider]
    found: Callable[[Rows], Behaviour]
    asked: Callable[[Request], str]


def _as_json(rows: Rows) -> Behaviour:
    return send_json(
        {"query": "?", "results": [{"url": url, "title": title, "content": snippet} for url, title, snippet in rows]}
    )


def _as_page(rows: Rows) -> Behaviour:
    """In the format that ddgs' engine expects."""
    items = "".join(
        f"<div class=body><h2>{title}</h2><a href='{url}'>{snippet}</a></div>" for url, title, snippet in rows
    )
    return send(f"<html><body>{items}</body></html>")


def _ddgs(url: str) -> SearchProvider:
    """The real library with one engine, which is redirected to the test server."""

    class HereEngine(Duckduckgo):
        search_url = f"{url}/html/"

    ENGINES["text"] = {"duckduckgo": HereEngine}
    return Ddgs()


CASES = {
    "searxng": Case(SearXNG, _as_json, lambda request: parse_qs(urlsplit(request.path).query)["q"][0]),
    "tavily": Case(Tavily, _as_json, lambda request: str(json.loads(request.body)["query"])),
    "ddgs": Case(_ddgs, _as_page, lambda request: parse_qs(request.body.decode())["q"][0]),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    monkeypatch.setitem(ENGINES, "text", ENGINES["text"])  # restored after the test
    return CASES[request.param]


@pytest.fixture
def provider(case: Case, web: WebServer) -> Iterator[SearchProvider]:
    made = case.make(f"http://127.0.0.1:{web.port}")
    yield made
    made.close()


def failure(provider: SearchProvider, seconds: float = 60.0) -> str:
    with pytest.raises(WebSearchError) as failed:
        provider.search("weather", 5, Deadline.within(seconds))
    message = str(failed.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 300 and KEY not in message
    return message


@pytest.mark.parametrize(
    "query", ["Who won the cup?", "東京の天気はどうですか", "北京今天的天气怎么样", "a&b=c #d %41"]
)
def test_results_keep_their_order(case: Case, web: WebServer, provider: SearchProvider, query: str) -> None:
    web.pages["*"] = case.found(
        [("https://one.example.com/a", "First", f"{query} first"), ("https://two.example.com/", "二番", f"{query} 二")]
    )
    found = provider.search(query, 5, Deadline.within(300))
    assert [(result.url, result.title) for result in found] == [
        ("https://one.example.com/a", "First"),
        ("https://two.example.com/", "二番"),
    ]
    assert found[1].snippet.endswith("二")
    assert case.asked(web.requests[0]) == query


def test_results_are_limited_and_distinct(case: Case, web: WebServer, provider: SearchProvider) -> None:
    rows = [(f"https://example.com/{number // 2}#{number}", "Title", f"weather {number}") for number in range(20)]
    web.pages["*"] = case.found(rows)
    found = provider.search("weather", 3, Deadline.within(300))
    assert len({result.url for result in found}) == len(found) <= 3


def test_invalid_urls_are_dropped_and_texts_cleaned(case: Case, web: WebServer, provider: SearchProvider) -> None:
    bad = ["javascript:alert(1)", "file:///etc/passwd", "", "http://u:p@example.com/", "http://127.1/", "about:blank"]
    good = ("https://example.com/", "Weather \u2028 today\x85", "weather\x0b " + "x" * 9000)
    web.pages["*"] = case.found([*((url, "weather", "weather") for url in bad), good])
    [found] = provider.search("weather", 20, Deadline.within(300))
    assert found.url == "https://example.com/" and found.title == "Weather today"
    assert len(found.snippet) == MAX_SNIPPET_LENGTH and found.snippet.startswith("weather xx")


def test_long_queries_are_truncated(case: Case, web: WebServer, provider: SearchProvider) -> None:
    web.pages["*"] = case.found([("https://example.com/", "Title", "text")])
    provider.search("weather\n\x00\ud83d " * 500, 5, Deadline.within(300))
    assert len(case.asked(web.requests[0])) <= MAX_QUERY_LENGTH


FAILING: dict[str, Behaviour] = {
    "429": send_json({"detail": f"slow down {KEY}"}, 429, Retry_After="30"),
    "500": send("broken", status=500),
    "503": send("", status=503),
    "401": send_json({"detail": {"error": f"bad key {KEY}"}}, 401),
    "no body": send(""),
    "not JSON": send("{", "application/json"),
    "a page": send("<html><body>Are you a robot?</body></html>"),
    "wrong shape": send_json({"results": "none"}),
    "a list": send_json([1, 2, 3]),
    "deep": send("[" * 100_000, "application/json"),
    "redirect": redirect("/elsewhere", 307),
    "a loop": redirect("/search", 308),
    "hangs up": disconnect,
}


@pytest.mark.parametrize("behaviour", FAILING.values(), ids=FAILING.keys())
def test_failures_are_reported_in_one_sentence(web: WebServer, provider: SearchProvider, behaviour: Behaviour) -> None:
    web.pages["*"] = behaviour
    failure(provider)


@pytest.mark.parametrize("behaviour", [hang, drip_bytes, drip_headers], ids=["slow", "drips", "drips headers"])
def test_slow_service_times_out(web: WebServer, provider: SearchProvider, behaviour: Behaviour) -> None:
    web.pages["*"] = behaviour
    assert "in time" in failure(provider, 0.4)


def test_endless_response(web: WebServer, provider: SearchProvider) -> None:
    """Services are stopped by size, ddgs by time, since the library has no size limit."""
    web.pages["*"] = send_endlessly
    if provider.name == "ddgs":
        assert "in time" in failure(provider, 1.0)
    else:
        assert "more than 5 MB" in failure(provider, 300.0)


def test_invalid_rows_are_dropped(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    rows: list[Any] = [None, 1, "x", {}, {"url": None}, {"url": ["x"]}, {"url": "https://example.com/", "title": 7}]
    web.pages["*"] = send_json({"results": rows})
    for provider in (SearXNG(web.url("", "127.0.0.1")), Tavily(web.url("", "127.0.0.1"))):
        [found] = provider.search("weather", 5, Deadline.within(300))
        assert (found.title, found.snippet) == ("", "")
        provider.close()


def test_empty_result(case: Case, web: WebServer, provider: SearchProvider) -> None:
    web.pages["*"] = case.found([])
    if provider.name == "ddgs":  # reports refusals and empty results alike
        assert "found nothing or refused" in failure(provider)
    else:
        assert provider.search("weather", 5, Deadline.within(300)) == []


def test_concurrent_searches(case: Case, web: WebServer, provider: SearchProvider) -> None:
    web.pages["*"] = case.found([("https://example.com/", "Title", "text")])
    found: list[int] = []

    def search() -> None:
        found.append(len(provider.search("weather", 5, Deadline.within(300))))

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8


def test_error_says_when_to_retry(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    tavily = Tavily(web.url("", "127.0.0.1"))
    web.pages["*"] = send_json({}, 429, Retry_After="30")
    assert "try again in 30 seconds" in failure(tavily)
    web.pages["*"] = send_json({}, 429, Retry_After="Wed, 21 Oct 2099 07:28:00 GMT")
    assert "try again later" in failure(tavily)
    tavily.close()


def test_key_is_sent_to_tavily_only(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    tavily = Tavily(web.url("", "127.0.0.1"))
    web.pages = {"/search": redirect(web.url("/other", "127.0.0.1"), 307)}
    assert "HTTP 307" in failure(tavily)
    [request] = web.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in request.path and KEY.encode() not in request.body
    tavily.close()


def test_searxng_reports_unresponsive_engines(web: WebServer) -> None:
    searxng = SearXNG(web.url("/sub/", "127.0.0.1"))
    web.pages = {"/sub/search": send_json({"results": [], "unresponsive_engines": [["google", "timeout"]]})}
    assert "engines" in failure(searxng)
    web.pages = {"/sub/search": send("Forbidden", status=403)}
    assert "search.formats" in failure(searxng)
    searxng.close()


class TestMakeProvider:
    LOCAL: ClassVar[str] = "http://10.0.0.5:8888/searxng/"

    def test_none(self) -> None:
        assert make_provider(WebSettings()) is None

    def test_each(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TAVILY_API_KEY", KEY)
        for name in ("searxng", "tavily", "ddgs"):
            made = make_provider(WebSettings(provider=name, searxng_url=self.LOCAL))
            assert made is not None and made.name == name

    @pytest.mark.parametrize(
        "url", ["", " ", "localhost:8888", "ftp://x/", "http://", "http://a:b@c/", "http://a/?q=1", "http://a:99999"]
    )
    def test_searxng_needs_an_address(self, url: str) -> None:
        with pytest.raises(ConfigurationError, match=r"web\.searxng_url"):
            make_provider(WebSettings(provider="searxng", searxng_url=url))

    @pytest.mark.parametrize("key", ["", "  ", "tvly-\n", "tvly-é"])
    def test_tavily_needs_a_key(self, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TAVILY_API_KEY", key)
        with pytest.raises(ConfigurationError, match="TAVILY_API_KEY"):
            make_provider(WebSettings(provider="tavily"))

    def test_ddgs_needs_its_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        usual = builtins.__import__

        def without(name: str, *rest: Any) -> Any:
            if name.partition(".")[0] == "ddgs":
                raise ImportError(name)
            return usual(name, *rest)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ConfigurationError, match=r'pip install "veracity\[web\]"'):
            make_provider(WebSettings(provider="ddgs"))

    def test_ddgs_region_follows_the_language(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []

        def text(self: object, query: str, region: str, max_results: int) -> list[Any]:
            asked.append(region)
            return []

        monkeypatch.setattr("ddgs.DDGS.text", text)
        provider = providers.Ddgs()
        for query in ("weather", "北京今天的天气", "東京の天気は"):
            assert provider.search(query, 5, Deadline.within(300)) == []
        assert asked == ["us-en", "cn-zh", "jp-ja"]
        provider.close()
