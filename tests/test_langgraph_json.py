"""The graph that langgraph.json names runs in LangGraph's tools, with its own context."""

import asyncio
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.runs.scripts import DOCUMENTS, QUESTION
from veracity import studio
from veracity.engine import Veracity
from veracity.errors import ConfigurationError, InputError
from veracity.ledger import Ledger
from veracity.settings import Settings

FILE = Path(__file__).parents[1] / "langgraph.json"
SPEC_NODES = {
    *("process_input", "summarize_if_needed", "decide_route", "answer_directly", "search_context", "web_search"),
    *("select_sources", "retrieve", "fuse", "rerank", "grade_documents", "rewrite_query"),
    *("prepare_messages", "generate_answer", "eval_answer", "evaluate", "human_approval"),
}
THREAD: Any = {"configurable": {"thread_id": "one"}}


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = tmp_path / "workspace"
    with Veracity(root, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        engine.add(DOCUMENTS)
    (root / "veracity.toml").write_text('[models]\nembedder = "none"\n\n[approval]\nthreshold = 0.5\n')
    monkeypatch.setenv(studio.VARIABLE, str(root))
    yield root
    if opened := studio._workspaces.pop(root.resolve(), None):
        opened.close()


def load_graph() -> Any:
    """Load it like LangGraph's tools."""
    (place,) = json.loads(FILE.read_text())["graphs"].values()
    path, name = place.split(":")
    assert (FILE.parent / path).is_file()
    module = path.removeprefix("./src/").removesuffix(".py").replace("/", ".")
    return getattr(importlib.import_module(module), name)


def require_approval(root: Path) -> None:
    (root / "veracity.toml").write_text('[models]\nembedder = "none"\n\n[approval]\npolicy = "always"\n')


def files(root: Path) -> list[Path]:
    return sorted(root.rglob("*"))


def test_the_graph_has_the_nodes_of_the_specification() -> None:
    drawn = load_graph().get_graph()
    assert set(drawn.nodes) >= SPEC_NODES
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert {
        ("human_approval", "web_search"),
        ("evaluate", "human_approval"),
        ("eval_answer", "prepare_messages"),
    } <= edges
    assert "grade_documents" in drawn.draw_mermaid()


def test_the_input_form_needs_only_a_question() -> None:
    form = load_graph().get_input_jsonschema()
    assert form["required"] == ["question"]
    assert set(form["properties"]) == {"question", "conversation", "user", "max_rewrites"}
    assert load_graph().get_context_jsonschema() is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [(QUESTION, "25 days"), ("正式员工每年有多少天年假?", "十五天"), ("有給休暇は年に何日ありますか?", "二十日")],
)
def test_a_question_is_answered_from_the_workspace(filled: Path, question: str, expected: str) -> None:
    state = load_graph().invoke({"question": question})
    assert expected in state["final_answer"]
    assert state["score"] is not None


def test_the_graph_runs_in_an_event_loop(filled: Path) -> None:
    async def steps() -> list[str]:
        updates = load_graph().astream({"question": QUESTION}, stream_mode="updates", context={})
        return [name async for update in updates for name in update]

    ran = asyncio.run(steps())
    assert ran[0] == "process_input"
    assert ran[-1] == "evaluate"


def test_a_studio_run_writes_nothing(filled: Path) -> None:
    require_approval(filled)
    before = files(filled)
    graph = load_graph().copy({"checkpointer": InMemorySaver()})
    graph.invoke({"question": QUESTION}, THREAD)
    graph.invoke(Command(resume={"verdict": "approve"}), THREAD)
    assert files(filled) == before
    with Veracity(filled) as engine:
        assert engine.runs() == []
        assert engine.approvals() == []
        assert engine.conversations() == []


def test_d6_the_interrupt_takes_the_decision(filled: Path) -> None:
    require_approval(filled)
    graph = load_graph().copy({"checkpointer": InMemorySaver()})
    state = graph.invoke({"question": QUESTION}, THREAD)
    assert "final_answer" in state["__interrupt__"][0].value["approve"]
    for nonsense in ("maybe", {"verdict": "perhaps"}, 7):
        state = graph.invoke(Command(resume=nonsense), THREAD)
        assert state["__interrupt__"][0].value["problem"] == "This is not a decision."
    state = graph.invoke(Command(resume={"verdict": "approve", "edit": "Twenty-five days."}), THREAD)
    assert "__interrupt__" not in state
    assert state["final_answer"] == "Twenty-five days."
    assert [(decision["verdict"], decision["by"]) for decision in state["decisions"]] == [("approve", "studio")]


def test_a_run_can_be_forked_from_an_earlier_step(filled: Path) -> None:
    """Each invocation has its own deadline, and nothing outside the state remembers the first one."""
    graph = load_graph().copy({"checkpointer": InMemorySaver()})
    first = graph.invoke({"question": QUESTION}, THREAD)
    (before,) = [past for past in graph.get_state_history(THREAD) if past.next == ("prepare_messages",)]
    again = graph.invoke(None, before.config)
    assert again["final_answer"] == first["final_answer"]


@pytest.mark.parametrize("wrong", [{}, {"question": " "}, {"question": QUESTION, "max_rewrites": 99}])
def test_bad_input_is_an_input_error(filled: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        load_graph().invoke(wrong)


def test_a_missing_workspace_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(studio.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match="There is no workspace"):
        load_graph().invoke({"question": QUESTION})
    studio._workspaces.clear()


@pytest.mark.parametrize("is_async", [False, True])
def test_no_run_is_sent_to_a_tracing_service(filled: Path, monkeypatch: pytest.MonkeyPatch, is_async: bool) -> None:
    from langsmith.utils import tracing_is_enabled

    seen: list[bool] = []

    def weak_points(self: Any, user: str, question: str) -> list[Any]:
        seen.append(bool(tracing_is_enabled()))
        return []

    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setattr(Ledger, "weak_points", weak_points)
    between: list[bool] = []  # the caller's tracing stays enabled between two steps

    async def ask() -> None:
        async for _ in load_graph().astream({"question": QUESTION}):
            between.append(bool(tracing_is_enabled()))

    if is_async:
        asyncio.run(ask())
    else:
        between += [bool(tracing_is_enabled()) for _ in load_graph().stream({"question": QUESTION})]
    assert seen
    assert not any(seen)
    assert between
    assert all(between)
