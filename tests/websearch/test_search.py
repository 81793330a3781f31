"""A whole web search against a loopback server, with the real fetcher and reader (SPEC D7, D9)."""

import threading
from collections.abc import Callable, Iterator

import pytest

from tests.websearch.web_server import Handler, WebServer, drip_bytes, hang, redirect, send
from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.settings import ReadingSettings, Settings, WebSettings
from veracity.websearch.fetch import FetchedPage, Fetcher
from veracity.websearch.pages import PageReader
from veracity.websearch.providers import SearchResult
from veracity.websearch.search import WebSearch, WebSearchOutcome, make_web_search

Look = Callable[..., WebSearchOutcome]
PAGE = "<html><head><title>The railway</title></head><body><p>The northern railway opens on Tuesday.</p></body></html>"


class Listed:
    """A provider that returns the given results, or raises the given error."""

    name = "listed"

    def __init__(self, *found: SearchResult | WebSearchError) -> None:
        self.found = found

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        assert deadline.left <= 150
        for result in self.found:
            if isinstance(result, WebSearchError):
                raise result
        return [result for result in self.found if isinstance(result, SearchResult)][:limit]

    def close(self) -> None: ...


class ImpatientFetcher(Fetcher):
    """Gives up on one path soon, and on no other, however slow the machine is."""

    def fetch(self, url: str, deadline: Deadline) -> FetchedPage:
        return super().fetch(url, deadline.capped_at(0.3) if url.endswith("/slow") else deadline)


@pytest.fixture(scope="module")
def reader() -> Iterator[PageReader]:
    made = PageReader(ReadingSettings(workers=2))
    yield made
    made.close()


@pytest.fixture
def look(web: WebServer, reader: PageReader) -> Look:
    def look(
        *found: SearchResult | WebSearchError, seconds: float = 300, fetcher: type[Fetcher] = Fetcher
    ) -> WebSearchOutcome:
        settings = WebSettings(page_seconds=60, deadline=seconds)
        made = fetcher(settings, vet=web.vet, resolve=web.resolve)
        return WebSearch(Listed(*found), made, reader, settings).search("northern railway", Deadline())

    return look


def result(url: str, snippet: str = "A snippet.") -> SearchResult:
    return SearchResult(url, "As the provider calls it", snippet)


def test_pages_are_opened_and_read(web: WebServer, look: Look) -> None:
    web.pages = {"/a": send(PAGE), "/b": redirect("/c"), "/c": send("Plain words.", "text/plain")}
    found = look(result(web.url("/a")), result(web.url("/b")))
    assert (found.provider, found.query, found.problem) == ("listed", "northern railway", "")
    assert [(page.url, page.title, page.problem) for page in found.pages] == [
        (web.url("/a"), "The railway", ""),
        (web.url("/c"), "As the provider calls it", ""),
    ]
    assert [(hit.kind, hit.text.text if hit.text else "") for hit in found.hits] == [
        ("page", "The northern railway opens on Tuesday."),
        ("page", "Plain words."),
    ]
    assert all(page.retrieved.tzinfo for page in found.pages)


def test_failed_page_does_not_affect_others(web: WebServer, look: Look) -> None:
    web.pages = {"/good": send(PAGE), "/slow": drip_bytes, "/image": send("x", "image/png"), "/empty": send("<html>")}
    urls = [web.url(path) for path in ("/slow", "/gone", "/good", "/image", "/empty")]
    found = look(*map(result, urls), fetcher=ImpatientFetcher)
    assert [hit.kind for hit in found.hits] == ["snippet", "snippet", "page", "snippet", "snippet"]
    assert [hit.page.url for hit in found.hits] == urls
    problems = [page.problem for page in found.pages]
    assert problems[2] == "" and all(problem.endswith(".") and "\n" not in problem for problem in problems if problem)
    for problem, reason in zip(problems, ("in time", "HTTP 404", "", "neither HTML", "no text"), strict=True):
        assert reason in problem
    assert found.hits[0].text is not None and found.hits[0].text.text == "A snippet."


def test_private_page_is_neither_opened_nor_quoted(web: WebServer, look: Look) -> None:
    web.pages = {"/good": send(PAGE), "/away": redirect("http://169.254.169.254/latest/")}
    found = look(
        result("http://127.0.0.2/"),
        result(web.url("/away")),
        result(web.url("/good")),
        result(web.url("/gone"), ""),
    )
    assert [hit.kind for hit in found.hits] == ["", "", "page", ""]
    assert "not public" in found.pages[1].problem
    assert found.hits[0].text is found.hits[3].text is None


def test_provider_failure_is_the_problem(look: Look) -> None:
    assert look(WebSearchError("Tavily failed (HTTP 500): try again later.")).problem.startswith("Tavily failed")
    assert look() == WebSearchOutcome(
        "listed", "northern railway", problem="The web was searched, but nothing was found."
    )


def test_pages_are_opened_concurrently(web: WebServer, look: Look) -> None:
    together = threading.Barrier(4)

    def respond(handler: Handler) -> None:
        together.wait(60)
        send(PAGE)(handler)

    web.pages = {"*": respond}
    found = look(*[result(web.url(f"/{number}")) for number in range(4)])
    assert [hit.kind for hit in found.hits] == ["page"] * 4


def test_search_ends_at_the_deadline(web: WebServer, look: Look) -> None:
    web.pages = {"*": hang}
    found = look(*[result(web.url(f"/{number}")) for number in range(4)], seconds=0.5)
    assert [hit.kind for hit in found.hits] == ["snippet"] * 4
    assert all("in time" in page.problem for page in found.pages)


def test_results_that_redirect_to_one_page_are_merged(web: WebServer, look: Look) -> None:
    web.pages = {"/": redirect("/page"), "/page": send(PAGE), "/other": send(PAGE)}
    found = look(*[result(web.url(path)) for path in ("/", "/other", "/page")])
    assert [page.url for page in found.pages] == [web.url("/page"), web.url("/other")]


def test_unexpected_exception_costs_one_page(reader: PageReader) -> None:
    class Faulty(Fetcher):
        def fetch(self, url: str, deadline: Deadline) -> FetchedPage:
            raise ZeroDivisionError

    search = WebSearch(Listed(result("https://example.com/")), Faulty(WebSettings()), reader, WebSettings())
    [found] = search.search("x", Deadline.within(300)).hits
    assert found.kind == "snippet" and found.page.problem == 'The page "https://example.com/" could not be opened.'


def test_no_provider_no_search() -> None:
    assert make_web_search(Settings()) is None
    made = make_web_search(Settings(web=WebSettings(provider="searxng", searxng_url="http://127.0.0.1:9")))
    assert made is not None and made.name == "searxng"
    problem = made.search("x", Deadline.within(300)).problem
    assert problem.startswith("The SearXNG server cannot be reached")
    made.close()
