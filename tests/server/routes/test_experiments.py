"""Experiments over HTTP: approvers list, open and compare them (SPEC X6)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import QUESTION
from tests.server.conftest import Serve, Served
from veracity.models import Document

CASES: list[dict[str, Any]] = [
    {"id": "leave", "question": QUESTION, "answers": ["25 days"]},
    {"id": "moon", "question": "What does a taxi to the moon cost?", "expect": "abstain"},
    {"id": "<img>", "question": "How much may a hotel cost a night?", "answers": ["<b>nothing</b>"]},
]


def run_experiments(engine: Any, root: Path) -> None:
    """`before`, and `after` a document was changed, so that the first case fails."""
    (root / "evals").mkdir(exist_ok=True)
    (root / "evals" / "team.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    engine.experiment("team", name="before")
    engine.add(
        Document(id="leave", title="Annual leave", text="Full-time staff have 20 days of paid annual leave a year.")
    )
    engine.experiment("team", name="after", overrides=["approval.threshold=0.5"])


@pytest.fixture
def served(serve: Serve, engine_with: MakeEngine, root: Path) -> Served:
    engine = engine_with()
    run_experiments(engine, root)
    return serve(engine)


def test_approvers_list_open_and_compare_experiments(served: Served) -> None:
    client = served.client(role="approver")
    rows = client.get("/api/experiments").json()
    assert [row["name"] for row in rows] == ["after", "before"]
    assert rows[0]["overrides"] == ["approval.threshold=0.5"]
    assert (rows[1]["finished"], rows[1]["total"], rows[1]["failed"]) == (3, 3, 0)

    summary = client.get("/api/experiments/before").json()
    assert summary["passed"]["n"] == 3
    assert summary["manifest"]["suite_file"].startswith("…/")
    assert served.client().get("/api/experiments/before").json()["manifest"]["suite_file"].startswith("/")

    comparison = client.get("/api/experiments/after/against/before").json()
    assert comparison["b"]["name"] == "after"
    assert comparison["cases"] == 3
    assert comparison["differs"] == ["settings", "documents"]
    assert [pair["case"] for pair in comparison["regressions"]] == ["leave"]


def test_askers_may_not_see_experiments(served: Served) -> None:
    asker = served.client(role="asker")
    for path in ("", "/before", "/after/against/before"):
        assert asker.get(f"/api/experiments{path}").status_code == 403


@pytest.mark.parametrize("name", ["nothing", "..", "%2e%2e", "a%2fb", "last", "x" * 300])
def test_an_unknown_experiment_is_not_found(served: Served, name: str) -> None:
    answer = served.client().get(f"/api/experiments/{name}/against/before")
    assert answer.status_code == 404, answer.text
