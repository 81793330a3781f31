"""Web evidence, with a real provider, pages and ranking (SPEC D7-D9)."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.retrieval.memory import NO_EMBEDDER, Concepts, passage
from tests.websearch.web_server import WebServer, send, send_json
from veracity.deadlines import Deadline
from veracity.embedding import Embedder
from veracity.language import search_tokens
from veracity.models import Hit, Passage
from veracity.retrieval.hybrid import HybridSearch
from veracity.runs.web_evidence import MAX_PASSAGES_PER_PAGE, MemoryStore, WebEvidence, make_web_evidence
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
Make = Callable[..., WebEvidence]


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
def web_evidence(web: WebServer, reader: PageReader) -> Make:
    def make(*paths: str, embedder: Embedder = NO_EMBEDDER, settings: Settings = SETTINGS) -> WebEvidence:
        rows = [{"url": web.url(path), "title": path, "content": f"Snippet of {path}."} for path in paths]
        web.pages["/search"] = send_json({"results": rows})
        fetcher = Fetcher(WebSettings(), vet=web.vet, resolve=web.resolve)
        search = WebSearch(SearXNG(f"http://127.0.0.1:{web.port}"), fetcher, reader, WebSettings())
        return WebEvidence(search, settings, embedder)

    return make


def page(*paragraphs: str, title: str = "A page") -> str:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"


def soon() -> Deadline:
    return Deadline.within(60)


@pytest.mark.parametrize("language", TOPICS)
def test_the_answering_passage_comes_first(web: WebServer, web_evidence: Make, language: str) -> None:
    question, answer, other = TOPICS[language]
    web.pages["/a"] = send(page(*[other] * 12), "text/html; charset=utf-8")
    web.pages["/b"] = send(page(*[other] * 6, answer, *[other] * 6, title="News"), "text/html; charset=utf-8")
    found = web_evidence("/a", "/b").look_up(question, question, soon())
    assert found.problem == "" and len(found.pages) == 2
    first = found.evidence[0]
    assert answer in first.text
    assert (first.source, first.document_id, first.location) == ("web", web.url("/b"), web.url("/b"))
    assert (first.title, first.language) == ("News", language)
    assert first.metadata.found_by == ["web"]
    assert first.metadata.model_dump().items() >= {"url": web.url("/b"), "kind": "page"}.items()
    assert first.metadata.model_dump()["retrieved"] == found.pages[1].retrieved.isoformat()
    others = [item.metadata.relevance_score for item in found.evidence if answer not in item.text]
    assert all(first.metadata.relevance_score > score for score in others)


def test_offsets_point_into_the_page_and_ids_are_stable(web: WebServer, web_evidence: Make) -> None:
    question, answer, other = TOPICS["en"]
    web.pages["/a"] = send(page(*[f"{other} {number} {answer}" for number in range(20)]))
    made = web_evidence("/a")
    first, second = (made.look_up(question, question, soon()).evidence for _ in range(2))
    passage_ids = [item.id for item in first]
    assert passage_ids == [item.id for item in second] and len(set(passage_ids)) == len(passage_ids)
    read = made._search.search(question, soon()).hits[0].text
    assert read is not None
    for item in first:
        assert read.text[item.start : item.end] == item.text
    web.pages["/b"] = web.pages["/a"]
    elsewhere = web_evidence("/b").look_up(question, question, soon()).evidence
    assert not set(passage_ids) & {item.id for item in elsewhere}


def test_passages_per_page_are_limited(web: WebServer, web_evidence: Make) -> None:
    question, answer, other = TOPICS["en"]
    web.pages["/a"] = send(page(*[f"{answer} {number} {other} {answer}" for number in range(20)]))
    web.pages["/b"] = send(page("The northern coast has rain."))
    evidence = web_evidence("/a", "/b").look_up(question, question, soon()).evidence
    assert sum(item.location == web.url("/a") for item in evidence) == MAX_PASSAGES_PER_PAGE
    assert len(evidence) <= SETTINGS.answering.evidence
    assert evidence[-1].location == web.url("/b")


def test_duplicate_texts_are_dropped(web: WebServer, web_evidence: Make) -> None:
    question, answer, _ = TOPICS["en"]
    for path in ("/a", "/b"):
        web.pages[path] = send(page(answer))
    [only] = web_evidence("/a", "/b").look_up(question, question, soon()).evidence
    assert only.location in (web.url("/a"), web.url("/b"))


def test_a_snippet_replaces_an_unreadable_page(web: WebServer, web_evidence: Make) -> None:
    found = web_evidence("/gone").look_up("snippet", "What is the snippet of gone?", soon())
    [evidence] = found.evidence
    assert evidence.text == "Snippet of /gone." and evidence.metadata.model_dump()["kind"] == "snippet"
    assert "HTTP 404" in found.pages[0].problem and found.problem == ""


def test_vectors_rank_passages_without_common_words(web: WebServer, web_evidence: Make) -> None:
    filler = "Apples and pears are harvested in the valley every autumn, and people like them."
    web.pages["/a"] = send(page(*[f"{filler} {number}" for number in range(10)], "A train runs to the coast."))
    question = "railway"

    by_meaning = web_evidence("/a", embedder=Concepts("railway train", "apples")).look_up(question, question, soon())
    assert "train" in by_meaning.evidence[0].text
    by_words = web_evidence("/a").look_up(question, question, soon())  # no word in common
    assert by_words.evidence == [] and "is about the question" in by_words.problem


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (send_json({"results": []}), "nothing was found"),
        (send("broken", status=500), "HTTP 500"),
        (send_json({"results": [{"url": "http://127.0.0.2/", "title": "", "content": "x"}]}), "None of the pages"),
    ],
)
def test_findings_without_evidence_have_a_problem(
    web: WebServer, web_evidence: Make, behaviour: object, why: str
) -> None:
    made = web_evidence()
    web.pages["/search"] = behaviour  # type: ignore[assignment]
    found = made.look_up("x", "x", soon())
    assert found.evidence == [] and why in found.problem and found.problem.endswith(".")


def test_without_a_provider_there_is_no_web_evidence() -> None:
    assert make_web_evidence(Settings(), NO_EMBEDDER) is None
    made = make_web_evidence(
        Settings(web=WebSettings(provider="searxng", searxng_url="http://127.0.0.1:9")), NO_EMBEDDER
    )
    assert made is not None and made.name == "searxng"
    made.close()


EN = passage("The northern railway opens on Tuesday.", "en")
LONG = passage("The northern railway and " + "apples and pears " * 30, "long")
ZH = passage("北方铁路将于星期二重新开放。", "zh")
JA = passage("北部鉄道は火曜日に再開します。", "ja")


def hit(passage: Passage, vector: object = None) -> Hit:
    return Hit(passage, 0.0, " ".join(search_tokens(passage.text, passage.language)), vector)  # type: ignore[arg-type]


STORE = MemoryStore(map(hit, (LONG, EN, ZH, JA)))


def ids(hits: list[Hit]) -> list[str]:
    return [hit.passage.document_id for hit in hits]


def test_memory_store_ranks_by_words() -> None:
    words = search_tokens("northern railway", "en")
    assert ids(STORE.by_words(words, 10)) == ["en", "long"]
    assert ids(STORE.by_words(words, 1)) == ["en"]
    assert ids(STORE.by_words(words, 10, "zh")) == ids(STORE.by_words([], 10)) == []
    rare, common = (STORE.by_words([word], 10)[0].score for word in search_tokens("Tuesday railway", "en"))
    assert rare > common > 0


def test_memory_store_filters_by_language() -> None:
    assert STORE.languages() == {"en", "zh", "ja"}
    assert ids(STORE.by_words(search_tokens("北方铁路", "zh"), 10, "zh")) == ["zh"]
    assert ids(STORE.by_words(search_tokens("北部鉄道", "ja"), 10, "ja")) == ["ja"]


def test_memory_store_finds_by_vector_entity_and_id() -> None:
    near, far = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    store = MemoryStore([hit(EN, far), hit(LONG, near), hit(ZH)])
    assert ids(store.by_vector(near, 10)) == ["long", "en"]
    assert ids(store.by_ids(["zh.0", "gone", "en.0"])) == ["zh", "en"]
    named = MemoryStore([hit(passage("Ada Lovelace wrote to Charles Babbage.", "ada")), hit(EN)])
    assert ids(named.by_entities(named.by_ids(["ada.0"])[0].passage.entities, 10)) == ["ada"]


def test_an_empty_memory_store_finds_nothing() -> None:
    assert MemoryStore([]).by_words(["a"], 5) == MemoryStore([]).by_vector(np.ones(1), 5) == []


def test_hybrid_search_works_on_a_memory_store() -> None:
    for embedder in (NO_EMBEDDER, Concepts("railway train")):
        hybrid = HybridSearch(STORE, embedder, 0.4)
        found = hybrid.search("When does the northern railway open?", 5)
        assert found[0].passage is EN and 0 < found[1].relevance < found[0].relevance <= 1
        hybrid.close()
