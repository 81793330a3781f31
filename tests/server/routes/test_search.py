"""POST /api/search."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.runs.conftest import MakeEngine
from tests.server.conftest import Serve, Served
from veracity.models import Evidence
from veracity.server import limits
from veracity.settings import Settings


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    return serve(engine_with())


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """An asker."""
    return served.client(role="asker")


@pytest.mark.parametrize(
    ("query", "document"),
    [("How many days of annual leave?", "leave"), ("带薪年假有几天？", "年假"), ("有給休暇は何日ですか。", "休暇")],
)
def test_the_best_passages_come_first(client: httpx.Client, query: str, document: str) -> None:
    response = client.post("/api/search", json={"query": query, "top_k": 3})
    found = [Evidence.model_validate(item) for item in response.json()]
    assert found[0].document_id == document
    assert 1 <= len(found) <= 3
    assert 0 <= found[0].metadata.relevance_score <= 1


def test_sources_can_be_chosen(client: httpx.Client) -> None:
    response = client.post("/api/search", json={"query": "laptop", "sources": ["knowledge"]})
    assert {source for item in response.json() for source in item["metadata"]["found_by"]} == {"knowledge"}


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"query": "  "}, 400, "empty"),
        ({"query": "leave", "sources": ["nowhere"]}, 400, "nowhere"),
        ({"query": "leave", "sources": []}, 422, "sources"),
        ({"query": "leave", "top_k": 0}, 422, "top_k"),
        ({"query": "leave", "top_k": 10_000}, 422, "top_k"),
        ({"query": "x" * 10_001}, 422, "query"),
        ({"query": "leave", "model": "test:x"}, 422, "model"),
        ({}, 422, "query"),
        ([], 422, "body"),
    ],
)
def test_invalid_searches_are_refused(client: httpx.Client, body: Any, status: int, word: str) -> None:
    response = client.post("/api/search", json=body)
    error = response.json()["error"]
    assert (response.status_code, error["kind"]) == (status, "InputError")
    assert word in error["message"]


def test_lone_surrogates_are_harmless(client: httpx.Client) -> None:
    sent = client.post(
        "/api/search", content=rb'{"query": "leave \ud83d"}', headers={"Content-Type": "application/json"}
    )
    assert sent.status_code in (200, 422)


def test_an_outdated_index_gives_409(engine_with: MakeEngine, serve: Serve) -> None:
    other = engine_with(knowledge=Settings().knowledge.model_copy(update={"passage_tokens": 99}).model_dump())
    response = serve(other).client().post("/api/search", json={"query": "leave"})
    assert (response.status_code, response.json()["error"]["kind"]) == (409, "OutdatedIndexError")


def test_a_token_is_required(served: Served) -> None:
    assert served.client(token="").post("/api/search", json={"query": "leave"}).status_code == 401


def test_many_searches_of_one_user_do_not_delay_others(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, begun = threading.Event(), threading.Semaphore(0)
    search = served.engine.search

    def slow(query: str, *given: Any, **named: Any) -> list[Evidence]:
        if query == "slow":
            begun.release()
            assert goes_on.wait(20)
        return search(query, *given, **named)

    monkeypatch.setattr(served.engine, "search", slow)
    ann, ben = served.client(role="asker"), served.client(role="asker")
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(ann.post("/api/search", json={"query": "slow"}).status_code))
        for _ in range(limits.MAX_CONCURRENT_PER_USER + limits.MAX_WAITING_PER_USER + 1)
    ]
    for thread in threads:
        thread.start()
    try:
        assert all(begun.acquire(timeout=10) for _ in range(limits.MAX_CONCURRENT_PER_USER))
        assert ben.post("/api/search", json={"query": "laptop"}).status_code == 200
        assert ben.get("/").status_code == 200
    finally:
        goes_on.set()
        for thread in threads:
            thread.join(20)
    assert sorted(statuses) == [200] * (len(threads) - 1) + [429]


def test_only_limits_the_documents(client: httpx.Client) -> None:
    response = client.post("/api/search", json={"query": "annual leave of staff", "top_k": 3, "only": ["other*"]})
    found = [item["document_id"] for item in response.json()]
    assert len(found) == 3 and all(name.startswith("other") for name in found)
    refused = client.post("/api/search", json={"query": "leave", "only": ["nowhere"]})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (400, "InputError")
    assert "No document matches" in refused.json()["error"]["message"]


def test_only_reveals_no_folders_of_the_server(served: Served, tmp_path: Path) -> None:
    """Others than admins can match only the part of a path that they see."""
    path = tmp_path / "secret-folder" / "hr" / "holidays.md"
    path.parent.mkdir(parents=True)
    path.write_text("Holidays are in August.")
    served.engine.ingest(path)
    asker, admin = served.client(role="asker"), served.client(role="admin")

    def find(client: httpx.Client, only: str) -> int:
        return client.post("/api/search", json={"query": "holidays", "only": [only]}).status_code

    location = asker.post("/api/search", json={"query": "holidays", "only": ["hr"]}).json()[0]["location"]
    assert location == "…/hr/holidays.md"
    for only in (location, "hr", "hr/*", "holidays.md", "**/holidays.*", "…/*"):
        assert find(asker, only) == find(admin, only) == 200, only
    for only in (str(path), "secret-folder", "secret-*", "secret-folder/hr", "s*/hr", "s*/**/holidays.md", "/**"):
        assert (find(asker, only), find(asker, f"…/{only}"), find(admin, only)) == (400, 400, 200), only
