"""The evaluator: its metrics, and scoring an answer."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import Serve, Served
from veracity.engine import Veracity
from veracity.evaluator import Evaluator
from veracity.models import Document, EvaluationResult
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

OWN = """
from veracity import BaseMetric


class Brevity(BaseMetric):
    '''Is it short?'''

    def evaluate(self, request):
        if "boom" in request.submission:
            raise RuntimeError("the scale is broken, sk-live0123456789abcdefABCDEF99")
        return self.score(100 if len(request.submission) < 50 else 0, request.team_id)
"""
LOCAL = ["CitationAccuracy", "Groundedness", "QuestionCoverage"]
ENGLISH = ("How long is the warranty?", "The warranty lasts 24 months [1].", "The warranty lasts 24 months.")
CHINESE = ("年假有几天？", "年假有15天[1]。", "年假有15天。")
JAPANESE = ("締め切りはいつですか。", "締め切りは6月30日です[1]。", "締め切りは6月30日です。")


@pytest.fixture
def make(workspace: Path, serve: Serve) -> Iterator[Any]:
    """`make(llm, models={...})`: a server whose workspace has its own metric."""
    (workspace / "metrics/brevity.py").write_text(OWN, encoding="utf-8")
    made: list[Veracity] = []

    def make(llm: ScriptedLLM | None = None, **sections: Any) -> Served:
        models = {"embedder": "none", **sections.pop("models", {})}
        made.append(Veracity(workspace, settings=Settings.model_validate({"models": models, **sections}), llm=llm))
        return serve(made[-1])

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def client(make: Any) -> httpx.Client:
    """An asker."""
    asker: httpx.Client = make().client(role="asker", name="ann")
    return asker


def body(texts: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    question, answer, context = texts
    return {"question": question, "answer": answer, "context": [context], **more}


def read_error(response: httpx.Response) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["kind"], error["message"]


def test_the_evaluator_lists_its_metrics(client: httpx.Client) -> None:
    found = client.get("/api/evaluator").json()
    assert (found["metric_set"], found["policy"], found["threshold"], found["warnings"]) == (
        "default-local",
        "ask",
        0.75,
        [],
    )
    metrics = {item["name"]: item for item in found["metrics"]}
    assert {name for name, item in metrics.items() if item["weight"] is not None} == set(LOCAL)
    assert sum(item["weight"] or 0 for item in found["metrics"]) == pytest.approx(1)
    assert metrics["Brevity"] == {
        "name": "Brevity",
        "summary": "Is it short?",
        "origin": "…/metrics/brevity.py",  # shortened
        "judge": "local",
        "weight": None,
        "model": None,
    }
    assert (metrics["Coverage"]["judge"], metrics["Coverage"]["model"]) == ("model", None)


def test_an_api_key_alone_configures_no_judge(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in runs, only configured models are called."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-for-the-default-judge")
    client = make().client()
    assert client.get("/api/evaluator").json()["metric_set"] == "default-local"
    refused = client.post("/api/evaluate", json=body(ENGLISH, metrics=["Coverage"]))
    assert read_error(refused)[:2] == (400, "InputError")
    assert "judge model" in read_error(refused)[2]


def test_an_invalid_file_is_reported_and_the_last_valid_one_used(client: httpx.Client, workspace: Path) -> None:
    file = workspace / "configs/evaluator.toml"
    file.write_text('[[metrics]]\nname = "Brevity"\n', encoding="utf-8")
    assert client.get("/api/evaluator").json()["metric_set"] == "configured"
    file.write_text('[[metrics]]\nname = "Brevit', encoding="utf-8")
    found = client.get("/api/evaluator").json()
    assert [item["name"] for item in found["metrics"] if item["weight"]] == ["Brevity"]
    assert "last valid" in found["warnings"][0]
    scored = client.post("/api/evaluate", json=body(CHINESE)).json()
    assert ([item["metric_name"] for item in scored["metrics"]], len(scored["warnings"])) == (["Brevity"], 1)


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE, JAPANESE])
def test_an_answer_is_scored_like_in_a_run(client: httpx.Client, texts: tuple[str, str, str]) -> None:
    response = client.post("/api/evaluate", json=body(texts))
    result = EvaluationResult.model_validate(response.json())
    assert sorted(item.metric_name for item in result.metrics) == LOCAL
    assert result.overall_score == 100


def test_chosen_metrics_are_equally_weighted(client: httpx.Client) -> None:
    chosen = ["Brevity", "Groundedness", "Brevity"]
    result = client.post("/api/evaluate", json=body(JAPANESE, metrics=chosen)).json()
    assert [(item["metric_name"], item["weight"]) for item in result["metrics"]] == [
        ("Brevity", 0.5),
        ("Groundedness", 0.5),
    ]
    assert result["metrics"][0]["evaluator_comment"] == "ann"


def test_a_chosen_metric_keeps_its_configured_model_and_prompt(make: Any, workspace: Path) -> None:
    (workspace / "configs/evaluator.toml").write_text(
        '[llm_default]\nmodel = "test:default"\n'
        '[[metrics]]\nname = "Groundedness"\nweight = 1.0\n'
        '[[metrics]]\nname = "Relevance"\nweight = 0.0\nenabled = false\nmodel = "test:own"\n'
        'system_instruction = "Judge sternly."\n',
        encoding="utf-8",
    )
    llm = ScriptedLLM({"reason": "切题。", "score": 80})
    result = make(llm).client().post("/api/evaluate", json=body(CHINESE, metrics=["Relevance", "Coverage"])).json()
    assert [item["model"] for item in result["metrics"]] == ["test:own", "test:default"]
    assert (result["overall_score"], llm.calls[0].instructions) == (80, "Judge sternly.")


def test_the_configured_budget_applies(make: Any) -> None:
    llm = ScriptedLLM({"reason": "Because.", "score": 80})
    client = make(llm, models={"judge": "test:judge"}, budget={"tokens": 1}).client()
    assert client.get("/api/evaluator").json()["metric_set"] == "default-llm"
    status, kind, message = read_error(client.post("/api/evaluate", json=body(ENGLISH)))
    assert (status, kind) == (502, "EvaluationError")
    assert "budget" in message.lower() or "token" in message.lower()


def test_the_deadline_applies(make: Any) -> None:
    llm = ScriptedLLM(lambda _: time.sleep(20))
    client = make(llm, models={"judge": "test:judge"}, evaluator={"deadline": 0.5}).client()
    started = time.monotonic()
    assert read_error(client.post("/api/evaluate", json=body(ENGLISH)))[:2] == (502, "EvaluationError")
    assert time.monotonic() - started < 10


ENDLESS = """
import time
from pathlib import Path

from veracity import BaseMetric
from veracity.deadlines import check_time


class Endless(BaseMetric):
    def evaluate(self, request):
        notes = Path(request.submission)
        notes.with_suffix(".begun").touch()
        try:
            while True:
                check_time()
                time.sleep(0.01)
        except BaseException as problem:
            notes.with_suffix(".ended").write_text(type(problem).__name__)
            raise
"""


def test_an_evaluation_ends_when_its_client_leaves(make: Any, workspace: Path, tmp_path: Path) -> None:
    (workspace / "metrics/endless.py").write_text(ENDLESS, encoding="utf-8")
    served = make()
    client, notes = served.client(), tmp_path / "notes"
    given = {"question": "Q?", "answer": str(notes), "metrics": ["Endless"]}
    with pytest.raises(httpx.ReadTimeout):
        client.post("/api/evaluate", json=given, timeout=3)
    ended, end = notes.with_suffix(".ended"), time.monotonic() + 30
    while not (ended.exists() and ended.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    assert (notes.with_suffix(".begun").exists(), ended.read_text()) == (True, "Stopped")
    assert client.post("/api/evaluate", json=body(ENGLISH)).status_code == 200


def test_a_broken_metric_is_reported_in_one_sentence(client: httpx.Client) -> None:
    given = body(("Why?", "boom", "x"), metrics=["Brevity"])
    status, kind, message = read_error(client.post("/api/evaluate", json=given))
    assert (status, kind) == (502, "EvaluationError")
    assert message.startswith('The metric "Brevity" failed: RuntimeError: the scale is broken')
    assert "sk-live" not in message
    assert "Traceback" not in message


@pytest.mark.parametrize(
    ("given", "status", "kind", "word"),
    [
        (body(ENGLISH, metrics=["Brevty"]), 400, "InputError", 'did you mean "Brevity"?'),
        (body(ENGLISH, metrics=["os.system"]), 400, "InputError", "os.system"),
        (body(ENGLISH) | {"context": []}, 400, "LackingContextError", "evidence"),
        (body(ENGLISH) | {"answer": " "}, 400, "InputError", "empty"),
        (body(ENGLISH) | {"context": ["x"] * 51}, 422, "InputError", "context"),
        (body(ENGLISH) | {"answer": "字" * 100_001}, 422, "InputError", "answer"),
        (body(ENGLISH) | {"context": ["字" * 100_001]}, 422, "InputError", "context"),
        (body(ENGLISH, config={"llm_default": {"model": "test:x"}}), 422, "InputError", "config"),
        (body(ENGLISH, model="openai:gpt"), 422, "InputError", "model"),
        ({"answer": "x"}, 422, "InputError", "question"),
    ],
)
def test_invalid_evaluations_are_refused(client: httpx.Client, given: Any, status: int, kind: str, word: str) -> None:
    found = read_error(client.post("/api/evaluate", json=given))
    assert found[:2] == (status, kind)
    assert word in found[2]


def test_an_empty_list_of_metrics_is_refused(client: httpx.Client) -> None:
    assert len(client.post("/api/evaluate", json=body(ENGLISH, metrics=[])).json()["metrics"]) == 3


def test_too_many_evaluations_say_when_to_retry(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = make()
    client = served.client()
    monkeypatch.setattr(served.app.state.evaluations, "_max_waiting", 0)
    refused = client.post("/api/evaluate", json=body(ENGLISH))
    assert read_error(refused)[:2] == (429, "TooMany")
    assert int(refused.headers["retry-after"]) > 0
    monkeypatch.undo()
    assert client.post("/api/evaluate", json=body(ENGLISH)).status_code == 200


def test_an_evaluation_counts_as_a_question(make: Any) -> None:
    client = make(server={"asks_per_minute": 2}).client()
    found = [client.post("/api/evaluate", json=body(ENGLISH)).status_code for _ in range(3)]
    assert found == [200, 200, 429]


def test_a_token_is_required(make: Any) -> None:
    stranger = make().client(token="")
    assert stranger.get("/api/evaluator").status_code == 401
    assert stranger.post("/api/evaluate", json=body(ENGLISH)).status_code == 401


def test_runs_and_routes_share_one_evaluator(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Evaluator] = []
    whole = Evaluator.__init__

    def noted(self: Evaluator, *arguments: Any, **named: Any) -> None:
        made.append(self)
        whole(self, *arguments, **named)

    monkeypatch.setattr(Evaluator, "__init__", noted)
    served = make()
    served.engine.add(Document(id="年假", text=CHINESE[2]))
    client = served.client()
    assert client.post("/api/ask", json={"question": CHINESE[0]}).status_code == 200
    client.get("/api/evaluator")
    client.post("/api/evaluate", json=body(CHINESE))
    assert len(made) == 1
