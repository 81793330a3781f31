"""A workspace made by the version before typed steps opens with everything in it (tests/data/README.md)."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.scripts import QUESTION
from veracity.engine import Veracity
from veracity.models import Verdict
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

DATA = Path(__file__).parent / "data"
EXPECTED: dict[str, Any] = json.loads((DATA / "old-workspace.json").read_text(encoding="utf-8"))
LOCAL = Settings.model_validate({"models": {"embedder": "none"}})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with zipfile.ZipFile(DATA / "old-workspace.zip") as archive:
        archive.extractall(tmp_path / "workspace")
    return tmp_path / "workspace"


@pytest.fixture
def engine(root: Path) -> Iterator[Veracity]:
    with Veracity(root, settings=LOCAL) as engine:
        yield engine


ADDED = {"inclusion": 1.0}


def without_new_fields(value: Any, expected: Any) -> Any:
    """The value without fields that were added since and are empty, or have the value of every old row."""
    if isinstance(value, dict) and isinstance(expected, dict):
        kept = {key: item for key, item in value.items() if key in expected or (item and ADDED.get(key) != item)}
        return {key: without_new_fields(item, expected.get(key)) for key, item in kept.items()}
    if isinstance(value, list) and isinstance(expected, list) and len(value) == len(expected):
        return [without_new_fields(*pair) for pair in zip(value, expected, strict=True)]
    return value


@pytest.mark.parametrize("name", EXPECTED["runs"])
def test_x3_receipts_are_the_same_json(engine: Veracity, name: str) -> None:
    receipt = json.loads(engine.receipt(EXPECTED["runs"][name]).model_dump_json())
    expected = EXPECTED["receipts"][name]
    assert without_new_fields(receipt, expected) == expected


def test_every_node_is_covered() -> None:
    steps = {step["name"] for receipt in EXPECTED["receipts"].values() for step in receipt["steps"]}
    assert len(steps) >= 17 and {"web_search", "human_approval", "rewrite_query"} <= steps


def test_conversations_and_approvals_are_kept(engine: Veracity) -> None:
    turns = [json.loads(turn.model_dump_json()) for turn in engine.turns("leave", user="ann")]
    assert without_new_fields(turns, EXPECTED["turns"]) == EXPECTED["turns"]
    approvals = [json.loads(approval.model_dump_json()) for approval in engine.approvals()]
    assert without_new_fields(approvals, EXPECTED["approvals"]) == EXPECTED["approvals"]


def test_documents_are_searched_without_reindexing(engine: Veracity) -> None:
    answer = engine.ask(QUESTION)
    assert answer.status == "answered" and "25 days" in answer.text


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_d6_a_pending_run_resumes_from_its_checkpoint(root: Path, verdict: Verdict) -> None:
    models = {"embedder": "none", **{role: f"test:{role}" for role in ("writer", "reviewer", "judge")}}
    llm = ScriptedLLM("not called")
    with Veracity(root, settings=Settings.model_validate({"models": models}), llm=llm) as engine:
        approval = engine.approval(EXPECTED["runs"]["pending"])
        answer = engine.decide(approval.approval_id, verdict, by="carol", draft_hash=approval.draft_hash)
        steps = [step.name for step in engine.receipt(answer.run_id).steps]
    is_approved = verdict == "approve"
    assert (answer.text == approval.draft.text) == is_approved
    status, last = ("answered", "human_approval") if is_approved else ("rejected", "web_search")
    assert (answer.status, steps[-1], llm.calls) == (status, last, [])
