"""From a question to evidence from the web: a provider, its pages and the ranking, all of them real (SPEC D7-D9)."""

from collections.abc import Callable, Iterator

import pytest

from tests.retrieval.memory import NO_EMBEDDER, Concepts
from tests.websearch.web_server import WebServer, answers, sends
from veracity.deadlines import Deadline
from veracity.embedding import Embedder
from veracity.runs.web_evidence import PER_PAGE, WebLookups, make_web_lookups
from veracity.settings import ReadingSettings, Settings, WebSettings
from veracity.websearch.fetch import Fetcher
from veracity.websearch.pages import PageReader
from veracity.websearch.providers import SearXNG
from veracity.websearch.search import WebSearch

SETTINGS = Settings.model_validate({"answering": {"evidence": 4}, "knowledge": {"passage_tokens": 40}})
TOPICS = {
    "en": (
        "When does the northern railway open again?",
        "The northern railway opens again on Tuesday, the company said.",
        "Apples and pears are harvested in the valley every autumn.",
    ),
    "zh": ("北方铁路什么时候重新开放？", "铁路公司表示，北方铁路将于星期二重新开放。", "每年秋天山谷里收获苹果和梨。"),
    "ja": (
        "北部鉄道はいつ再開しますか。",
        "会社によると、北部鉄道は火曜日に再開します。",
        "谷では毎年秋にりんごと梨を収穫します。",
    ),
}
Make = Callable[..., WebLookups]


@pytest.fixture(scope="module")
def reader() -> Iterator[PageReader]:
    made = PageReader(ReadingSettings(workers=1))
    yield made
    made.close()


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as running:
        yield running


@pytest.fixture
def lookups(web: WebServer, reader: PageReader) -> Make:
    def make(*paths: str, embedder: Embedder = NO_EMBEDDER, settings: Settings = SETTINGS) -> WebLookups:
        rows = [{"url": web.url(path), "title": path, "content": f"Snippet of {path}."} for path in paths]
        web.pages["/search"] = answers({"results": rows})
        fetcher = Fetcher(WebSettings(), vet=web.vet, resolve=web.resolve)
        search = WebSearch(SearXNG(f"http://127.0.0.1:{web.port}"), fetcher, reader, WebSettings())
        return WebLookups(search, settings, embedder)

    return make


def page(*paragraphs: str, title: str = "A page") -> str:
    body = "".join(f"<p>{one}</p>" for one in paragraphs)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"


def soon() -> Deadline:
    return Deadline.within(60)


@pytest.mark.parametrize("language", TOPICS)
def test_the_passage_that_answers_comes_first(web: WebServer, lookups: Make, language: str) -> None:
    question, answer, other = TOPICS[language]
    web.pages["/a"] = sends(page(*[other] * 12), "text/html; charset=utf-8")
    web.pages["/b"] = sends(page(*[other] * 6, answer, *[other] * 6, title="News"), "text/html; charset=utf-8")
    found = lookups("/a", "/b").look_up(question, question, soon())
    assert found.problem == "" and len(found.pages) == 2
    first = found.evidence[0]
    assert answer in first.text
    assert (first.source, first.document_id, first.location) == ("web", web.url("/b"), web.url("/b"))
    assert (first.title, first.language) == ("News", language)
    assert first.metadata.found_by == ["web"]
    assert first.metadata.model_dump().items() >= {"url": web.url("/b"), "kind": "page"}.items()
    assert first.metadata.model_dump()["retrieved"] == found.pages[1].retrieved.isoformat()
    others = [one.metadata.relevance_score for one in found.evidence if answer not in one.text]
    assert all(first.metadata.relevance_score > score for score in others)


def test_places_are_those_of_the_page_and_ids_stay(web: WebServer, lookups: Make) -> None:
    question, answer, other = TOPICS["en"]
    web.pages["/a"] = sends(page(*[f"{other} {number} {answer}" for number in range(20)]))
    made = lookups("/a")
    one, two = (made.look_up(question, question, soon()).evidence for _ in range(2))
    assert [item.id for item in one] == [item.id for item in two] and len({item.id for item in one}) == len(one)
    read = made._search.look_up(question, soon()).found[0].text
    assert read is not None
    for item in one:
        assert read.text[item.start : item.end] == item.text
    web.pages["/b"] = web.pages["/a"]
    elsewhere = lookups("/b").look_up(question, question, soon()).evidence
    assert not {item.id for item in one} & {item.id for item in elsewhere}


def test_no_page_is_all_there_is(web: WebServer, lookups: Make) -> None:
    question, answer, other = TOPICS["en"]
    web.pages["/a"] = sends(page(*[f"{answer} {number} {other} {answer}" for number in range(20)]))
    web.pages["/b"] = sends(page("The northern coast has rain."))
    evidence = lookups("/a", "/b").look_up(question, question, soon()).evidence
    assert sum(one.location == web.url("/a") for one in evidence) == PER_PAGE
    assert len(evidence) <= SETTINGS.answering.evidence
    assert evidence[-1].location == web.url("/b")


def test_a_text_that_stands_on_two_pages_is_taken_once(web: WebServer, lookups: Make) -> None:
    question, answer, _ = TOPICS["en"]
    for path in ("/a", "/b"):
        web.pages[path] = sends(page(answer))
    [only] = lookups("/a", "/b").look_up(question, question, soon()).evidence
    assert only.location in (web.url("/a"), web.url("/b"))


def test_a_snippet_stands_in_and_is_marked(web: WebServer, lookups: Make) -> None:
    found = lookups("/gone").look_up("snippet", "What is the snippet of gone?", soon())
    [evidence] = found.evidence
    assert evidence.text == "Snippet of /gone." and evidence.metadata.model_dump()["kind"] == "snippet"
    assert "HTTP 404" in found.pages[0].problem and found.problem == ""


def test_meaning_counts_where_the_embedder_knows_it(web: WebServer, lookups: Make) -> None:
    filler = "Apples and pears are harvested in the valley every autumn, and people like them."
    web.pages["/a"] = sends(page(*[f"{filler} {number}" for number in range(10)], "A train runs to the coast."))
    question = "railway"

    by_meaning = lookups("/a", embedder=Concepts("railway train", "apples")).look_up(question, question, soon())
    assert "train" in by_meaning.evidence[0].text
    by_words = lookups("/a").look_up(question, question, soon())  # no word of the question is there
    assert by_words.evidence == [] and "has to do with the question" in by_words.problem


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (answers({"results": []}), "nothing was found"),
        (sends("broken", status=500), "HTTP 500"),
        (answers({"results": [{"url": "http://127.0.0.2/", "title": "", "content": "x"}]}), "none of the pages"),
    ],
)
def test_without_evidence_it_says_why(web: WebServer, lookups: Make, behaviour: object, why: str) -> None:
    made = lookups()
    web.pages["/search"] = behaviour  # type: ignore[assignment]
    found = made.look_up("x", "x", soon())
    assert found.evidence == [] and why in found.problem and found.problem.endswith(".")


def test_none_is_made_where_no_provider_is_set() -> None:
    assert make_web_lookups(Settings(), NO_EMBEDDER) is None
    made = make_web_lookups(
        Settings(web=WebSettings(provider="searxng", searxng_url="http://127.0.0.1:9")), NO_EMBEDDER
    )
    assert made is not None and made.name == "searxng"
    made.close()
