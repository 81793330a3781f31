"""The evaluator over HTTP: the metrics of the gate, and trying them on an answer."""

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
    """`make(llm, models={...})`: a server over a workspace with a metric of its own."""
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
    """An asker's."""
    asker: httpx.Client = make().client(role="asker", name="ann")
    return asker


def body(texts: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    question, answer, context = texts
    return {"question": question, "answer": answer, "context": [context], **more}


def told(response: httpx.Response) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["kind"], error["message"]


def test_the_metrics_of_the_gate(client: httpx.Client) -> None:
    found = client.get("/api/evaluator").json()
    assert (found["metric_set"], found["policy"], found["threshold"], found["warnings"]) == (
        "default-local",
        "ask",
        0.75,
        [],
    )
    metrics = {one["name"]: one for one in found["metrics"]}
    assert {name for name, one in metrics.items() if one["weight"] is not None} == set(LOCAL)
    assert sum(one["weight"] or 0 for one in found["metrics"]) == pytest.approx(1)
    assert metrics["Brevity"] == {
        "name": "Brevity",
        "summary": "Is it short?",
        "origin": "…/metrics/brevity.py",  # where that is, only who runs the server knows
        "judge": "local",
        "weight": None,
        "model": None,
    }
    assert (metrics["Coverage"]["judge"], metrics["Coverage"]["model"]) == ("model", None)


def test_a_key_alone_makes_no_judge(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for runs: a model that nobody named is not asked."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-for-the-default-judge")
    client = make().client()
    assert client.get("/api/evaluator").json()["metric_set"] == "default-local"
    refused = client.post("/api/evaluate", json=body(ENGLISH, metrics=["Coverage"]))
    assert told(refused)[:2] == (400, "InputError")
    assert "judge model" in told(refused)[2]


def test_a_file_that_became_invalid_is_told_and_the_last_good_one_in_use(client: httpx.Client, workspace: Path) -> None:
    file = workspace / "configs/evaluator.toml"
    file.write_text('[[metrics]]\nname = "Brevity"\n', encoding="utf-8")
    assert client.get("/api/evaluator").json()["metric_set"] == "configured"
    file.write_text('[[metrics]]\nname = "Brevit', encoding="utf-8")
    found = client.get("/api/evaluator").json()
    assert [one["name"] for one in found["metrics"] if one["weight"]] == ["Brevity"]
    assert "last good" in found["warnings"][0]
    scored = client.post("/api/evaluate", json=body(CHINESE)).json()
    assert ([one["metric_name"] for one in scored["metrics"]], len(scored["warnings"])) == (["Brevity"], 1)


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE, JAPANESE])
def test_an_answer_is_scored_as_the_gate_would(client: httpx.Client, texts: tuple[str, str, str]) -> None:
    response = client.post("/api/evaluate", json=body(texts))
    result = EvaluationResult.model_validate(response.json())
    assert sorted(one.metric_name for one in result.metrics) == LOCAL
    assert result.overall_score == 100


def test_chosen_metrics_count_in_equal_parts(client: httpx.Client) -> None:
    chosen = ["Brevity", "Groundedness", "Brevity"]
    result = client.post("/api/evaluate", json=body(JAPANESE, metrics=chosen)).json()
    assert [(one["metric_name"], one["weight"]) for one in result["metrics"]] == [
        ("Brevity", 0.5),
        ("Groundedness", 0.5),
    ]
    assert result["metrics"][0]["evaluator_comment"] == "ann"


def test_a_chosen_metric_keeps_the_model_and_words_of_the_workspace(make: Any, workspace: Path) -> None:
    (workspace / "configs/evaluator.toml").write_text(
        '[llm_default]\nmodel = "test:default"\n'
        '[[metrics]]\nname = "Groundedness"\nweight = 1.0\n'
        '[[metrics]]\nname = "Relevance"\nweight = 0.0\nenabled = false\nmodel = "test:own"\n'
        'system_instruction = "Judge sternly."\n',
        encoding="utf-8",
    )
    llm = ScriptedLLM({"reason": "切题。", "score": 80})
    result = make(llm).client().post("/api/evaluate", json=body(CHINESE, metrics=["Relevance", "Coverage"])).json()
    assert [one["model"] for one in result["metrics"]] == ["test:own", "test:default"]
    assert (result["overall_score"], llm.calls[0].instructions) == (80, "Judge sternly.")


def test_the_budget_of_the_settings_applies(make: Any) -> None:
    llm = ScriptedLLM({"reason": "Because.", "score": 80})
    client = make(llm, models={"judge": "test:judge"}, budget={"tokens": 1}).client()
    assert client.get("/api/evaluator").json()["metric_set"] == "default-llm"
    status, kind, message = told(client.post("/api/evaluate", json=body(ENGLISH)))
    assert (status, kind) == (502, "EvaluationError")
    assert "budget" in message.lower() or "token" in message.lower()


def test_the_deadline_of_a_run_applies(make: Any) -> None:
    llm = ScriptedLLM(lambda _: time.sleep(20))
    client = make(llm, models={"judge": "test:judge"}, answering={"run_deadline": 0.5}).client()
    started = time.monotonic()
    assert told(client.post("/api/evaluate", json=body(ENGLISH)))[:2] == (502, "EvaluationError")
    assert time.monotonic() - started < 10


def test_a_metric_that_breaks_is_one_sentence(client: httpx.Client) -> None:
    given = body(("Why?", "boom", "x"), metrics=["Brevity"])
    status, kind, message = told(client.post("/api/evaluate", json=given))
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
def test_what_cannot_be_evaluated(client: httpx.Client, given: Any, status: int, kind: str, word: str) -> None:
    found = told(client.post("/api/evaluate", json=given))
    assert found[:2] == (status, kind)
    assert word in found[2]


def test_no_metric_named_is_none_chosen(client: httpx.Client) -> None:
    assert len(client.post("/api/evaluate", json=body(ENGLISH, metrics=[])).json()["metrics"]) == 3


def test_too_many_at_once_are_told_when_to_come_again(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = make()
    client = served.client()
    monkeypatch.setattr(served.app.state.evaluations, "_most_waiting", 0)
    refused = client.post("/api/evaluate", json=body(ENGLISH))
    assert told(refused)[:2] == (429, "TooMany")
    assert int(refused.headers["retry-after"]) > 0
    monkeypatch.undo()
    assert client.post("/api/evaluate", json=body(ENGLISH)).status_code == 200


def test_an_evaluation_counts_as_a_question(make: Any) -> None:
    client = make(server={"asks_per_minute": 2}).client()
    found = [client.post("/api/evaluate", json=body(ENGLISH)).status_code for _ in range(3)]
    assert found == [200, 200, 429]


def test_nobody_evaluates_without_a_token(make: Any) -> None:
    stranger = make().client(token="")
    assert stranger.get("/api/evaluator").status_code == 401
    assert stranger.post("/api/evaluate", json=body(ENGLISH)).status_code == 401


def test_runs_and_the_page_share_one_evaluator(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
