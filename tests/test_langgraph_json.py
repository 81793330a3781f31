"""What langgraph.json names opens in LangGraph's own tools, and runs with parts of its own."""

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


def named() -> Any:
    """As LangGraph's tools load it."""
    (place,) = json.loads(FILE.read_text())["graphs"].values()
    path, name = place.split(":")
    assert (FILE.parent / path).is_file()
    module = path.removeprefix("./src/").removesuffix(".py").replace("/", ".")
    return getattr(importlib.import_module(module), name)


def asks_always(root: Path) -> None:
    (root / "veracity.toml").write_text('[models]\nembedder = "none"\n\n[approval]\npolicy = "always"\n')


def files(root: Path) -> list[Path]:
    return sorted(root.rglob("*"))


def test_it_draws_the_nodes_of_the_specification() -> None:
    drawn = named().get_graph()
    assert set(drawn.nodes) >= SPEC_NODES
    edges = {(one.source, one.target) for one in drawn.edges}
    assert {
        ("human_approval", "web_search"),
        ("evaluate", "human_approval"),
        ("eval_answer", "prepare_messages"),
    } <= edges
    assert "grade_documents" in drawn.draw_mermaid()


def test_its_form_asks_for_a_question_and_for_no_parts() -> None:
    form = named().get_input_jsonschema()
    assert form["required"] == ["question"]
    assert set(form["properties"]) == {"question", "conversation", "user", "max_rewrites"}
    assert named().get_context_jsonschema() is None


@pytest.mark.parametrize(
    ("question", "said"),
    [(QUESTION, "25 days"), ("正式员工每年有多少天年假?", "十五天"), ("有給休暇は年に何日ありますか?", "二十日")],
)
def test_a_question_alone_is_answered_from_the_workspace(filled: Path, question: str, said: str) -> None:
    state = named().invoke({"question": question})
    assert said in state["final_answer"]
    assert state["score"] is not None


def test_it_runs_under_an_event_loop_as_the_tools_run_it(filled: Path) -> None:
    async def steps() -> list[str]:
        told = named().astream({"question": QUESTION}, stream_mode="updates", context={})
        return [name async for update in told for name in update]

    ran = asyncio.run(steps())
    assert ran[0] == "process_input"
    assert ran[-1] == "evaluate"


def test_a_rehearsal_leaves_nothing_in_the_ledger(filled: Path) -> None:
    asks_always(filled)
    before = files(filled)
    waits = named().copy({"checkpointer": InMemorySaver()})
    waits.invoke({"question": QUESTION}, THREAD)
    waits.invoke(Command(resume={"verdict": "approve"}), THREAD)
    assert files(filled) == before
    with Veracity(filled) as engine:
        assert engine.runs() == []
        assert engine.approvals() == []
        assert engine.conversations() == []


def test_whoever_watches_decides(filled: Path) -> None:
    """D6: the answer to the interrupt is the decision; what is none is asked for again."""
    asks_always(filled)
    waits = named().copy({"checkpointer": InMemorySaver()})
    state = waits.invoke({"question": QUESTION}, THREAD)
    assert "final_answer" in state["__interrupt__"][0].value["approve"]
    for nonsense in ("maybe", {"verdict": "perhaps"}, 7):
        state = waits.invoke(Command(resume=nonsense), THREAD)
        assert state["__interrupt__"][0].value["problem"] == "That is no decision."
    state = waits.invoke(Command(resume={"verdict": "approve", "edit": "Twenty-five days."}), THREAD)
    assert "__interrupt__" not in state
    assert state["final_answer"] == "Twenty-five days."
    assert [(one["verdict"], one["by"]) for one in state["decisions"]] == [("approve", "studio")]


def test_a_run_is_forked_from_an_earlier_step(filled: Path) -> None:
    """The time of a stretch begins with it, and nothing outside the state remembers the first one."""
    graph = named().copy({"checkpointer": InMemorySaver()})
    first = graph.invoke({"question": QUESTION}, THREAD)
    (before,) = [one for one in graph.get_state_history(THREAD) if one.next == ("prepare_messages",)]
    again = graph.invoke(None, before.config)
    assert again["final_answer"] == first["final_answer"]


@pytest.mark.parametrize("wrong", [{}, {"question": " "}, {"question": QUESTION, "max_rewrites": 99}])
def test_a_bad_input_is_told_in_one_sentence(filled: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        named().invoke(wrong)


def test_a_workspace_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(studio.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match="There is no workspace"):
        named().invoke({"question": QUESTION})
    studio._workspaces.clear()


@pytest.mark.parametrize("is_async", [False, True])
def test_no_run_is_sent_to_a_tracing_service(filled: Path, monkeypatch: pytest.MonkeyPatch, is_async: bool) -> None:
    """As of any other run, whatever the environment says."""
    from langsmith.utils import tracing_is_enabled

    seen: list[bool] = []

    def looks(self: Any, user: str, question: str) -> list[Any]:
        seen.append(bool(tracing_is_enabled()))
        return []

    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setattr(studio.Rehearsed, "weak_points", looks)
    between: list[bool] = []  # two steps, in the context of whoever asks: whose own tracing is left alone

    async def asks() -> None:
        async for _ in named().astream({"question": QUESTION}):
            between.append(bool(tracing_is_enabled()))

    if is_async:
        asyncio.run(asks())
    else:
        between += [bool(tracing_is_enabled()) for _ in named().stream({"question": QUESTION})]
    assert seen
    assert not any(seen)
    assert between
    assert all(between)
