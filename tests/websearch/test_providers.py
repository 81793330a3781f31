"""What every search provider keeps to (SPEC D9), each asked over real HTTP from a server that also misbehaves."""

from __future__ import annotations

import builtins
import json
import threading
import time
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
    answers,
    drips,
    drips_headers,
    endless,
    hangs,
    hangs_up,
    redirects,
    sends,
)
from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, WebSearchError
from veracity.settings import WebSettings
from veracity.websearch import providers
from veracity.websearch.pages import LONGEST_QUERY, LONGEST_SNIPPET, SearchProvider
from veracity.websearch.providers import Ddgs, SearXNG, Tavily, make_provider

KEY = "tvly-Zq8rT2vXw9LmN4pBc7Jd"
Rows = list[tuple[Any, Any, Any]]  # url, title, snippet


@dataclass(frozen=True)
class Case:
    """A provider, how its service says what it found, and what a request to it asks for."""

    make: Callable[[str], SearchProvider]
    found: Callable[[Rows], Behaviour]
    asked: Callable[[Request], str]


def _as_json(rows: Rows) -> Behaviour:
    return answers(
        {"query": "?", "results": [{"url": url, "title": title, "content": told} for url, title, told in rows]}
    )


def _as_page(rows: Rows) -> Behaviour:
    """As the engine of ddgs expects it."""
    items = "".join(f"<div class=body><h2>{title}</h2><a href='{url}'>{told}</a></div>" for url, title, told in rows)
    return sends(f"<html><body>{items}</body></html>")


def _ddgs(url: str) -> SearchProvider:
    """One of its engines, asked at the server's address: all else is the library as it is."""

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
    monkeypatch.setitem(ENGINES, "text", ENGINES["text"])  # what a test puts there goes with it
    return CASES[request.param]


@pytest.fixture
def provider(case: Case, web: WebServer) -> Iterator[SearchProvider]:
    made = case.make(f"http://127.0.0.1:{web.port}")
    yield made
    made.close()  # type: ignore[attr-defined]


def failure(provider: SearchProvider, seconds: float = 5.0) -> str:
    with pytest.raises(WebSearchError) as failed:
        provider.search("weather", 5, Deadline.within(seconds))
    told = str(failed.value)
    assert told.endswith(".") and "\n" not in told and len(told) < 300 and KEY not in told
    return told


@pytest.mark.parametrize(
    "query", ["Who won the cup?", "東京の天気はどうですか", "北京今天的天气怎么样", "a&b=c #d %41"]
)
def test_results_come_in_order(case: Case, web: WebServer, provider: SearchProvider, query: str) -> None:
    web.pages["*"] = case.found(
        [("https://one.example.com/a", "First", f"{query} first"), ("https://two.example.com/", "二番", f"{query} 二")]
    )
    found = provider.search(query, 5, Deadline.within(5))
    assert [(one.url, one.title) for one in found] == [
        ("https://one.example.com/a", "First"),
        ("https://two.example.com/", "二番"),
    ]
    assert found[1].snippet.endswith("二")
    assert case.asked(web.requests[0]) == query


def test_no_more_than_asked_for_and_each_page_once(case: Case, web: WebServer, provider: SearchProvider) -> None:
    rows = [(f"https://example.com/{number // 2}#{number}", "Title", f"weather {number}") for number in range(20)]
    web.pages["*"] = case.found(rows)
    found = provider.search("weather", 3, Deadline.within(5))
    assert len({one.url for one in found}) == len(found) <= 3


def test_addresses_of_no_page_are_left_out_and_texts_are_cleaned(
    case: Case, web: WebServer, provider: SearchProvider
) -> None:
    bad = ["javascript:alert(1)", "file:///etc/passwd", "", "http://u:p@example.com/", "http://127.1/", "about:blank"]
    good = ("https://example.com/", "Weather \u2028 today\x85", "weather\x0b " + "x" * 9000)
    web.pages["*"] = case.found([*((url, "weather", "weather") for url in bad), good])
    [found] = provider.search("weather", 20, Deadline.within(5))
    assert found.url == "https://example.com/" and found.title == "Weather today"
    assert len(found.snippet) == LONGEST_SNIPPET and found.snippet.startswith("weather xx")


def test_long_queries_are_cut_and_odd_ones_sent(case: Case, web: WebServer, provider: SearchProvider) -> None:
    web.pages["*"] = case.found([("https://example.com/", "Title", "text")])
    provider.search("weather\n\x00\ud83d " * 500, 5, Deadline.within(5))
    assert len(case.asked(web.requests[0])) <= LONGEST_QUERY


FAILING: dict[str, Behaviour] = {
    "429": answers({"detail": f"slow down {KEY}"}, 429, Retry_After="30"),
    "500": sends("broken", status=500),
    "503": sends("", status=503),
    "401": answers({"detail": {"error": f"bad key {KEY}"}}, 401),
    "no body": sends(""),
    "not JSON": sends("{", "application/json"),
    "a page": sends("<html><body>Are you a robot?</body></html>"),
    "wrong shape": answers({"results": "none"}),
    "a list": answers([1, 2, 3]),
    "deep": sends("[" * 100_000, "application/json"),
    "redirect": redirects("/elsewhere", 307),
    "a loop": redirects("/search", 308),
    "hangs up": hangs_up,
}


@pytest.mark.parametrize("behaviour", FAILING.values(), ids=FAILING.keys())
def test_what_a_bad_service_does_is_told_in_one_sentence(
    web: WebServer, provider: SearchProvider, behaviour: Behaviour
) -> None:
    web.pages["*"] = behaviour
    failure(provider)


@pytest.mark.parametrize("behaviour", [hangs, drips, drips_headers], ids=["slow", "drips", "drips headers"])
def test_a_service_gets_the_time_there_is(web: WebServer, provider: SearchProvider, behaviour: Behaviour) -> None:
    web.pages["*"] = behaviour
    started = time.monotonic()
    assert "in time" in failure(provider, 0.4)
    assert time.monotonic() - started < 15


def test_an_endless_answer_ends(web: WebServer, provider: SearchProvider) -> None:
    """The two services by their size, ddgs by its time: the library has no limit of size."""
    web.pages["*"] = endless
    if provider.name == "ddgs":
        assert "in time" in failure(provider, 1.0)
    else:
        assert "more than 5 MB" in failure(provider, 20.0)


def test_rows_that_are_no_results_are_left_out(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    rows: list[Any] = [None, 1, "x", {}, {"url": None}, {"url": ["x"]}, {"url": "https://example.com/", "title": 7}]
    web.pages["*"] = answers({"results": rows})
    for provider in (SearXNG(web.url("", "127.0.0.1")), Tavily(web.url("", "127.0.0.1"))):
        [found] = provider.search("weather", 5, Deadline.within(5))
        assert (found.title, found.snippet) == ("", "")
        provider.close()


def test_nothing_found_is_not_an_error_where_that_can_be_told(
    case: Case, web: WebServer, provider: SearchProvider
) -> None:
    web.pages["*"] = case.found([])
    if provider.name == "ddgs":  # which has one sentence for this and for being refused
        assert "found nothing or did not want to answer" in failure(provider)
    else:
        assert provider.search("weather", 5, Deadline.within(5)) == []


def test_many_can_search_at_once(case: Case, web: WebServer, provider: SearchProvider) -> None:
    web.pages["*"] = case.found([("https://example.com/", "Title", "text")])
    found: list[int] = []

    def search() -> None:
        found.append(len(provider.search("weather", 5, Deadline.within(20))))

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8


def test_the_time_to_wait_is_told(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    tavily = Tavily(web.url("", "127.0.0.1"))
    web.pages["*"] = answers({}, 429, Retry_After="30")
    assert "try again in 30 seconds" in failure(tavily)
    web.pages["*"] = answers({}, 429, Retry_After="Wed, 21 Oct 2099 07:28:00 GMT")
    assert "try again later" in failure(tavily)
    tavily.close()


def test_the_key_goes_to_tavily_in_its_header_and_nowhere_else(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    tavily = Tavily(web.url("", "127.0.0.1"))
    web.pages = {"/search": redirects(web.url("/other", "127.0.0.1"), 307)}
    assert "HTTP 307" in failure(tavily)
    [request] = web.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in request.path and KEY.encode() not in request.body
    tavily.close()


def test_searxng_says_when_its_engines_do_not_answer(web: WebServer) -> None:
    searxng = SearXNG(web.url("/sub/", "127.0.0.1"))
    web.pages = {"/sub/search": answers({"results": [], "unresponsive_engines": [["google", "timeout"]]})}
    assert "engines" in failure(searxng)
    web.pages = {"/sub/search": sends("Forbidden", status=403)}
    assert "search.formats" in failure(searxng)
    searxng.close()


class TestChoosing:
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

    def test_ddgs_is_asked_in_the_language_of_the_query(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []

        def text(self: object, query: str, region: str, max_results: int) -> list[Any]:
            asked.append(region)
            return []

        monkeypatch.setattr("ddgs.DDGS.text", text)
        provider = providers.Ddgs()
        for query in ("weather", "北京今天的天气", "東京の天気は"):
            assert provider.search(query, 5, Deadline.within(5)) == []
        assert asked == ["us-en", "cn-zh", "jp-ja"]
        provider.close()
