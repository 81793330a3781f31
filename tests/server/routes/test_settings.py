"""Admins read the settings in force, with their source."""

from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import serving
from veracity.engine import Veracity, create_workspace
from veracity.settings import own_variables

KEY = "sk-proj-abcdefghijklmnop1234567890ABCDEFGH"
TOML = """
[models]
writer = "gpu:writer"
reviewer = "gpu:writer"
[llm]
pace = "slow"
[servers.gpu]
url = "http://gpu.example:8000/v1"
key_env = "GPU_API_KEY"
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in own_variables():
        monkeypatch.delenv(name)
    list(create_workspace(tmp_path))
    return tmp_path


def read(root: Path, **options: int) -> Any:
    with Veracity(root) as engine, serving(engine) as served:
        served.app.state.options = options
        answer = served.client().get("/api/settings")
        assert KEY not in answer.text
        return answer.json()


def test_each_setting_has_its_source_and_changed_ones_are_first(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "veracity.toml").write_text(TOML)
    monkeypatch.setenv("VERACITY_APPROVAL__THRESHOLD", "0.9")
    monkeypatch.setenv("GENER_EPOCH", "1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    setup = read(workspace)
    by_name = {setting["name"]: setting for setting in setup["settings"]}
    found = {name: (by_name[name]["value"], by_name[name]["source"]) for name in by_name if by_name[name]["is_changed"]}
    assert found == {
        "models.writer": ("gpu:writer", "file"),
        "models.reviewer": ("gpu:writer", "file"),
        "llm.pace": ("slow", "file"),
        "llm.call_timeout": (600, "pace"),
        "llm.deadline": (1800, "pace"),
        "quality.loop_deadline": (600, "pace"),
        "answering.gener_epoch": (1, "environment"),
        "answering.run_deadline": (3600, "pace"),
        "approval.threshold": (0.9, "environment"),
        "evaluator.deadline": (3600, "pace"),
    }
    flags = [setting["is_changed"] for setting in setup["settings"]]
    assert flags == sorted(flags, reverse=True)
    assert by_name["answering.gener_epoch"]["variable"] == "GENER_EPOCH"
    assert by_name["models.reranker"] == {
        "name": "models.reranker",
        "value": "bundled",
        "source": "default",
        "variable": "VERACITY_MODELS__RERANKER",
        "is_changed": False,
        "description": "reorders results: `bundled` (off if `embedder` is `none`), `none` or a model",
    }
    assert setup["servers"] == [
        {"name": "gpu", "url": "http://gpu.example:8000/v1", "key_env": "GPU_API_KEY", "has_key": False}
    ]
    models = {role["role"]: role["model"] for role in setup["roles"]}
    assert (models["writer"], models["rewriter"], models["embedder"]) == ("gpu:writer", "", "bundled")
    assert [problem.split(":")[0] for problem in setup["problems"]] == [
        'The model "gpu',
        'The server "gpu" needs a key',
    ]


def test_options_of_the_command_line_are_in_force(workspace: Path) -> None:
    first = read(workspace, port=9000)["settings"][0]
    assert (first["name"], first["value"], first["source"]) == ("server.port", 9000, "command_line")
    assert {setting["source"] for setting in read(workspace)["settings"]} == {"default"}


def test_a_part_that_does_not_work_is_a_problem(workspace: Path) -> None:
    (workspace / "veracity.toml").write_text("[server]\nfree_megabytes = 1000000000\n")
    assert read(workspace)["problems"] == ["The disk is almost full."]
