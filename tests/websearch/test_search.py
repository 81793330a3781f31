"""A look-up as a whole: provider, fetcher and reader as they are, against a server on loopback (SPEC D7, D9)."""

import time
from collections.abc import Callable, Iterator

import pytest

from tests.websearch.web_server import WebServer, drips, hangs, redirects, sends
from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.settings import ReadingSettings, Settings, WebSettings
from veracity.websearch.fetch import Fetched, Fetcher
from veracity.websearch.pages import PageReader, SearchResult
from veracity.websearch.search import LookUp, WebSearch, make_web_search

Look = Callable[..., LookUp]
PAGE = "<html><head><title>The railway</title></head><body><p>The northern railway opens on Tuesday.</p></body></html>"


class Listed:
    """A provider that finds what it is told to, or fails."""

    name = "listed"

    def __init__(self, *found: SearchResult | WebSearchError) -> None:
        self.found = found

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        assert deadline.left < 60
        for one in self.found:
            if isinstance(one, WebSearchError):
                raise one
        return [one for one in self.found if isinstance(one, SearchResult)][:limit]


@pytest.fixture(scope="module")
def reader() -> Iterator[PageReader]:
    made = PageReader(ReadingSettings(workers=2))
    yield made
    made.close()


@pytest.fixture
def look(web: WebServer, reader: PageReader) -> Look:
    def look(*found: SearchResult | WebSearchError, seconds: float = 30, page_seconds: float = 5) -> LookUp:
        settings = WebSettings(page_seconds=page_seconds, deadline=seconds)
        fetcher = Fetcher(settings, vet=web.vet, resolve=web.resolve)
        return WebSearch(Listed(*found), fetcher, reader, settings).look_up("northern railway", Deadline())

    return look


def result(url: str, snippet: str = "A snippet.") -> SearchResult:
    return SearchResult(url, "As the provider calls it", snippet)


def test_pages_are_opened_and_read(web: WebServer, look: Look) -> None:
    web.pages = {"/a": sends(PAGE), "/b": redirects("/c"), "/c": sends("Plain words.", "text/plain")}
    found = look(result(web.url("/a")), result(web.url("/b")))
    assert (found.provider, found.query, found.problem) == ("listed", "northern railway", "")
    assert [(page.url, page.title, page.problem) for page in found.pages] == [
        (web.url("/a"), "The railway", ""),
        (web.url("/c"), "As the provider calls it", ""),
    ]
    assert [(one.kind, one.text.text if one.text else "") for one in found.found] == [
        ("page", "The northern railway opens on Tuesday."),
        ("page", "Plain words."),
    ]
    assert all(page.retrieved.tzinfo for page in found.pages)


def test_a_page_that_fails_stops_no_other(web: WebServer, look: Look) -> None:
    web.pages = {"/good": sends(PAGE), "/slow": drips, "/image": sends("x", "image/png"), "/empty": sends("<html>")}
    urls = [web.url(path) for path in ("/slow", "/gone", "/good", "/image", "/empty")]
    found = look(*map(result, urls), page_seconds=0.5)
    assert [one.kind for one in found.found] == ["snippet", "snippet", "page", "snippet", "snippet"]
    assert [one.page.url for one in found.found] == urls
    problems = [page.problem for page in found.pages]
    assert problems[2] == "" and all(told.endswith(".") and "\n" not in told for told in problems if told)
    for told, why in zip(problems, ("in time", "HTTP 404", "", "neither HTML", "no text"), strict=True):
        assert why in told
    assert found.found[0].text is not None and found.found[0].text.text == "A snippet."


def test_a_result_that_leads_to_a_private_place_is_neither_opened_nor_quoted(web: WebServer, look: Look) -> None:
    web.pages = {"/good": sends(PAGE), "/away": redirects("http://169.254.169.254/latest/")}
    found = look(
        result("http://127.0.0.2/"),
        result(web.url("/away")),
        result(web.url("/good")),
        result(
            web.url(
                "/gone",
            ),
            "",
        ),
    )
    assert [one.kind for one in found.found] == ["", "", "page", ""]
    assert "not public" in found.pages[1].problem
    assert found.found[0].text is found.found[3].text is None


def test_what_the_provider_says_is_the_problem(look: Look) -> None:
    assert look(WebSearchError("Tavily failed (HTTP 500): try again later.")).problem.startswith("Tavily failed")
    assert look() == LookUp("listed", "northern railway", problem="The web was searched, and nothing was found.")


def test_pages_are_opened_at_the_same_time_and_within_the_deadline(web: WebServer, look: Look) -> None:
    web.pages = {"*": hangs, "/good": sends(PAGE)}
    look(result(web.url("/good")))  # the reading process is there
    started = time.monotonic()
    found = look(*[result(web.url(f"/{number}")) for number in range(4)], result(web.url("/good")), seconds=2.5)
    assert time.monotonic() - started < 10
    assert [one.kind for one in found.found] == ["snippet"] * 4 + ["page"]


def test_two_results_that_are_one_page_are_taken_once(web: WebServer, look: Look) -> None:
    web.pages = {"/": redirects("/page"), "/page": sends(PAGE), "/other": sends(PAGE)}
    found = look(*[result(web.url(path)) for path in ("/", "/other", "/page")])
    assert [page.url for page in found.pages] == [web.url("/page"), web.url("/other")]


def test_a_fault_of_our_own_costs_one_page(reader: PageReader) -> None:
    class Faulty:
        def fetch(self, url: str, deadline: Deadline) -> Fetched:
            raise ZeroDivisionError

        def close(self) -> None: ...

    search = WebSearch(Listed(result("https://example.com/")), Faulty(), reader, WebSettings())
    [found] = search.look_up("x", Deadline.within(5)).found
    assert found.kind == "snippet" and found.page.problem == 'The page "https://example.com/" could not be opened.'


def test_without_a_provider_there_is_no_search() -> None:
    assert make_web_search(Settings()) is None
    made = make_web_search(Settings(web=WebSettings(provider="searxng", searxng_url="http://127.0.0.1:9")))
    assert made is not None and made.name == "searxng"
    told = made.look_up("x", Deadline.within(5)).problem
    assert told.startswith("The SearXNG server cannot be reached")
    made.close()
