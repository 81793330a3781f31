"""POST /api/differences: the diff of two texts."""

from typing import Any

import httpx
import pytest

from tests.runs.conftest import MakeEngine
from tests.server.conftest import Serve, Served


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    return serve(engine_with())


@pytest.fixture
def client(served: Served) -> httpx.Client:
    return served.client(role="asker")


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("Staff have 25 days of leave.", "Staff have 30 days of leave.", [("gone", "25"), ("new", "30")]),
        ("员工每年有五天年假。", "员工每年有十天年假。", [("gone", "五天"), ("new", "十天")]),
        ("有給休暇は20日です。", "有給休暇は25日です。", [("gone", "20"), ("new", "25")]),
        ("One. Two.", "One. Two. Three.", [("new", " Three.")]),
        ("the same", "the same", []),
        ("", "", []),
        ("", "new", [("new", "new")]),
    ],
)
def test_changes_are_marked_word_by_word(
    client: httpx.Client, before: str, after: str, changed: list[tuple[str, str]]
) -> None:
    response = client.post("/api/differences", json={"before": before, "after": after})
    assert response.status_code == 200
    pieces = response.json()
    assert [(piece["kind"], piece["text"]) for piece in pieces if piece["kind"] != "same"] == changed
    assert "".join(piece["text"] for piece in pieces if piece["kind"] != "new") == before
    assert "".join(piece["text"] for piece in pieces if piece["kind"] != "gone") == after


@pytest.mark.parametrize("letter", ["x", "字", "か", "😀"])
def test_texts_of_the_maximum_length_are_compared(client: httpx.Client, letter: str) -> None:
    response = client.post("/api/differences", json={"before": letter * 20_000, "after": letter * 19_999})
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"before": "x" * 20_001, "after": ""}, "before"),
        ({"before": "", "after": "x" * 20_001}, "after"),
        ({"before": ""}, "after"),
        ({"before": "", "after": "", "language": "en"}, "language"),
        ([], "body"),
    ],
)
def test_invalid_requests_are_refused(client: httpx.Client, body: Any, word: str) -> None:
    response = client.post("/api/differences", json=body)
    assert (response.status_code, response.json()["error"]["kind"]) == (422, "InputError")
    assert word in response.json()["error"]["message"]


def test_a_token_is_required(served: Served) -> None:
    response = served.client(token="").post("/api/differences", json={"before": "a", "after": "b"})
    assert response.status_code == 401
