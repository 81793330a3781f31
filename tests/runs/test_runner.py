"""Runs in the ledger: receipts, observations, weak points, forgetting (SPEC X3, A12, C3) and concurrency."""

import json
import sqlite3
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail
from veracity.engine import Veracity
from veracity.errors import ConfigurationError, InputError, MissingKeyError, ModelAccessError
from veracity.models import Document
from veracity.run_requests import new_run_id
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

LOCAL = {"rewriter": "local", "router": "local", "summarizer": "local"}


def observations(engine: Veracity) -> list[dict[str, object]]:
    path = engine._parts.workspace.observations_file
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_x3_the_receipt_is_complete(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=PASS))
    answer = engine.ask(QUESTION)
    receipt = engine.receipt(answer.run_id)
    assert receipt.answer == answer
    assert receipt.run.status == "answered"
    assert receipt.route == "knowledge"
    assert receipt.models == {"writer": "test:writer", "reviewer": "test:reviewer", **LOCAL}
    assert receipt.rounds[0].query == QUESTION
    assert receipt.rounds[0].evidence[0].text.startswith("Full-time staff")
    assert answer.quality == max((searched.quality for searched in receipt.rounds), key=lambda quality: quality.score)
    assert [draft.text for draft in receipt.drafts] == [WRONG, GOOD]
    assert receipt.usage.calls == 4
    assert receipt.usage == answer.usage
    names = [step.name for step in receipt.steps]
    assert names[0] == "process_input"
    assert names[-1] == "evaluate"
    assert all(step.seconds >= 0 for step in receipt.steps)
    again = type(receipt).model_validate_json(receipt.model_dump_json())
    assert again == receipt


def test_runs_are_listed_and_found_by_a_prefix_of_their_id(engine_with: MakeEngine) -> None:
    engine = engine_with()
    first, second = engine.ask(QUESTION), engine.ask("What may a hotel cost?")
    assert [run.run_id for run in engine.runs()] == [second.run_id, first.run_id]
    assert [run.run_id for run in engine.runs(1)] == [second.run_id]
    assert engine.receipt("last").run.run_id == second.run_id
    assert engine.receipt(first.run_id[:-1]).run.run_id == first.run_id
    with pytest.raises(InputError):
        engine.receipt("1999")


def test_stream_yields_an_event_for_each_step(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))
    events = list(engine.stream(QUESTION))
    steps = [event for event in events if event.kind != "draft"]
    listed = [(event.kind, event.name) for event in steps if event.name in ("generate_answer", "eval_answer")]
    assert listed == [
        ("started", "generate_answer"),
        ("finished", "generate_answer"),
        ("started", "eval_answer"),
        ("finished", "eval_answer"),
    ]
    assert [event.answer is not None for event in events] == [False] * (len(events) - 1) + [True]
    assert len({event.run_id for event in events}) == 1


def test_closing_the_stream_fails_the_run(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))
    events = engine.stream(QUESTION)
    while next(events).name != "grade_documents":
        pass
    events.close()  # type: ignore[attr-defined]
    (run,) = engine.runs()
    assert run.status == "failed"
    assert "stopped" in run.problem


def test_checkpoints_of_finished_runs_are_deleted(engine_with: MakeEngine, root: Path) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=[GOOD, ModelAccessError("No.")], reviewer=PASS))
    engine.ask(QUESTION)
    with pytest.raises(ModelAccessError):
        engine.ask(QUESTION)
    engine.close()
    with sqlite3.connect(root / "ledger" / "checkpoints.sqlite") as connection:
        for table in ("checkpoints", "writes"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a12_a_passing_answer_is_observed(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))
    answer = engine.ask(QUESTION)
    (record,) = observations(engine)
    assert (record["instruction"], record["output"]) == (QUESTION, GOOD)
    assert (record["run_id"], record["attempt"]) == (answer.run_id, 1)
    assert record["models"] == {"writer": "test:writer", "reviewer": "test:reviewer", **LOCAL}
    given = record["input"]
    assert isinstance(given, list)
    assert given[0] == {
        "text": answer.evidence[0].text,
        "source": answer.evidence[0].source,
        "score": answer.evidence[0].metadata.relevance_score,
        "id": answer.evidence[0].id,
        "document_id": "leave",
        "questions": [QUESTION],
    }
    assert all(item["questions"] == [] for item in given[1:])


def test_c3_a_failed_question_is_a_weak_point_of_its_user(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=WRONG, reviewer=fail("Say 25."))
    engine = engine_with(llm)
    engine.ask(QUESTION, user="anna")
    assert observations(engine) == []
    again = engine.ask("How many days of annual leave have full-time staff?", user="anna")
    assert "temporal" in engine.receipt("last").rounds[0].sources
    assert {item.source for item in again.evidence} == {"temporal"}
    assert again.quality and again.quality.coverage is not None
    for question, user in ((QUESTION, "bert"), ("What may a hotel cost?", "anna")):
        other = engine.ask(question, user=user)
        assert other.quality and other.quality.coverage is None
        assert "temporal" not in engine.receipt("last").rounds[0].sources


def test_x3_forgetting_a_document_removes_its_text(engine_with: MakeEngine, root: Path) -> None:
    engine = engine_with()
    engine.add(Document(id="secret", text="The vault opens with the word Zarquon. Nobody else knows it."))
    answer = engine.ask("With which word does the vault open?")
    assert "Zarquon" in answer.text
    assert observations(engine)
    engine.forget("secret")
    receipt = engine.receipt(answer.run_id)
    assert "Zarquon" not in receipt.model_dump_json()
    assert receipt.answer is not None
    assert "forgotten" in [notice.code for notice in receipt.answer.notices]
    assert receipt.run.question == "With which word does the vault open?"
    assert observations(engine) == []
    engine.close()
    for path in [*(root / "ledger").glob("*.sqlite*"), root / "observational_data.json"]:
        assert b"Zarquon" not in path.read_bytes()


def test_x3_forgetting_keeps_what_comes_from_other_documents(engine_with: MakeEngine) -> None:
    """Only the uncited passages of the document are removed from the evidence."""
    engine = engine_with()
    answer = engine.ask(QUESTION)
    other = next(item for item in answer.evidence if item.document_id != "leave")
    engine.forget(other.document_id)
    kept = engine.receipt(answer.run_id).answer
    assert kept is not None
    assert (kept.text, kept.sentences) == (answer.text, answer.sentences)
    assert other.text not in engine.receipt(answer.run_id).model_dump_json()
    assert [item.id for item in kept.evidence] == [item.id for item in answer.evidence]


def test_x3_forgetting_reaches_unfinished_runs(engine_with: MakeEngine, root: Path) -> None:
    """The checkpoints of a running or killed run hold passages too."""
    engine = engine_with()
    engine.add(Document(id="secret", text="The vault opens with the word Zarquon. Nobody else knows it."))
    events = engine.stream("With which word does the vault open?")
    while next(events).name != "prepare_messages":
        pass
    files = [path for path in (root / "ledger").iterdir() if path.is_file()]
    with closing(sqlite3.connect(root / "ledger" / "checkpoints.sqlite")) as connection:
        stored = [
            content for (content,) in connection.execute("SELECT checkpoint FROM checkpoints WHERE type LIKE '%zlib'")
        ]
    holding = [content for content in stored if b"Zarquon" in zlib.decompress(content)]
    assert holding
    engine.forget("secret")
    for content in [path.read_bytes() for path in files if path.exists()]:
        assert b"Zarquon" not in content and not any(part[:200] in content for part in holding)


def test_concurrent_questions(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))
    together = threading.Barrier(8)

    def ask(number: int) -> str:
        together.wait()
        answer = engine.ask(f"{QUESTION} ({number})")
        assert (answer.text, answer.question) == (GOOD, f"{QUESTION} ({number})")
        return answer.run_id

    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(ask, range(8)))
    assert len({record["run_id"] for record in observations(engine)}) == len(set(ids)) == 8
    assert {run.run_id for run in engine.runs()} == set(ids)


def test_two_engines_on_one_workspace(engine_with: MakeEngine) -> None:
    first, second = engine_with(), engine_with()
    asked = [first.ask(QUESTION).run_id, second.ask(QUESTION).run_id]
    assert [run.run_id for run in first.runs()] == [run.run_id for run in second.runs()] == asked[::-1]


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ("", "The question is empty: ask it in words."),
        (" \n", "The question is empty: ask it in words."),
        ("x" * 10_001, "The question has 10,001 characters: use at most 10,000."),
    ],
)
def test_invalid_questions_are_refused(engine_with: MakeEngine, question: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        engine_with().ask(question)
    assert str(caught.value) == error


@pytest.mark.parametrize("limits", [{"max_rewrites": -1}, {"max_rewrites": 21}, {"deadline": 0}, {"deadline": -1.0}])
def test_invalid_limits_are_refused(engine_with: MakeEngine, limits: dict[str, int]) -> None:
    with pytest.raises(InputError):
        engine_with().ask(QUESTION, **limits)  # type: ignore[arg-type]


def test_a_lone_surrogate_in_a_question_is_replaced(engine_with: MakeEngine) -> None:
    engine = engine_with()
    assert engine.ask("How many days of leave \ud83d?").question == "How many days of leave \ufffd?"
    assert engine.receipt("last").answer is not None


def test_a_workspace_without_documents_answers_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with Veracity(tmp_path / "empty") as engine:
        with pytest.raises(InputError, match="has no documents yet"):
            engine.ask(QUESTION)
        assert engine.runs() == []


def test_a_missing_key_fails_before_the_run_is_stored(root: Path) -> None:
    models = {"writer": "openai:gpt-5", "embedder": "none"}
    with Veracity(root, settings=Settings.model_validate({"models": models})) as engine:
        with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
            engine.ask(QUESTION)
        assert engine.runs() == []


def test_x8_a_prompt_file_replaces_the_built_in_prompt(engine_with: MakeEngine, root: Path) -> None:
    (root / "prompts").mkdir()
    (root / "prompts" / "writer.md").write_text("Answer like a pirate.")
    (root / "prompts" / "reviewer.md").write_text("Be strict, matey.")
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    engine_with(llm).ask(QUESTION)
    writer, reviewer = llm.calls
    assert writer.instructions.startswith("Answer like a pirate.")
    assert "[1]" in writer.instructions  # the citation rules are always part of the prompt
    assert reviewer.instructions.startswith("Be strict, matey.")


def test_x8_an_unknown_prompt_file_is_an_error(engine_with: MakeEngine, root: Path) -> None:
    (root / "prompts").mkdir()
    (root / "prompts" / "wrtier.md").write_text("Answer.")
    with pytest.raises(ConfigurationError, match="writer"):
        engine_with().ask(QUESTION)


def test_run_ids_are_unique_and_start_with_the_time() -> None:
    ids = {new_run_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(run_id) == len("20260101-000000-abcdef") for run_id in ids)


def test_runs_are_sent_to_langsmith_only_with_the_setting(root: Path) -> None:
    """In a subprocess whose environment tells LangGraph to trace to a local server. As in a command, the client of
    LangSmith is imported when it is used."""
    program = """
import http.server, json, os, sys, threading
asked = []
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")
    do_GET = do_POST
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ.update(LANGSMITH_TRACING="true", LANGCHAIN_TRACING_V2="true", LANGSMITH_API_KEY="lsv2_x",
                  LANGSMITH_ENDPOINT=f"http://127.0.0.1:{server.server_port}")
from veracity.deferred_imports import own_process
from veracity.engine import Veracity
from veracity.settings import Settings
own_process()
counts = []
for sections in ({}, {"telemetry": {"langsmith": True}}):
    settings = Settings.model_validate({"models": {"embedder": "none"}, **sections})
    with Veracity(sys.argv[1], settings=settings) as engine:
        engine.ask("How many days of annual leave do full-time staff have?")
    from langchain_core.tracers.langchain import wait_for_all_tracers
    wait_for_all_tracers()  # traces are sent in the background
    counts.append(len(asked))
print(json.dumps(counts))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, str(root)], capture_output=True, text=True, timeout=120, check=True
    )
    without, with_setting = json.loads(ran.stdout)
    assert without == 0
    assert with_setting > 0


def test_stale_progress_is_deleted_on_the_next_start(engine_with: MakeEngine, root: Path) -> None:
    """A kill can happen between the end of a run and the deletion of its progress."""
    engine = engine_with()
    answer = engine.ask(QUESTION)
    path = root / "ledger" / "checkpoints.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id) VALUES (?, '', '1')", (answer.run_id,)
        )
    engine.close()
    engine_with().ask(QUESTION)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)


def test_recover_delivers_a_pending_observation(engine_with: MakeEngine) -> None:
    engine = engine_with()
    engine.ask(QUESTION)
    (record,) = observations(engine)
    engine._parts.workspace.observations_file.unlink()
    with sqlite3.connect(engine._parts.workspace.ledger_folder / "ledger.sqlite") as connection:
        connection.execute("UPDATE outbox SET state = 'pending', record = ?", (json.dumps(record),))
    engine.close()
    again = engine_with()
    again.recover()
    assert observations(again) == [record]


def test_prepare_loads_everything_without_a_call(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    engine = engine_with(llm)
    engine.prepare()
    runner = engine._parts.runner
    assert llm.calls == [] and engine.ask(QUESTION).text == GOOD
    assert engine._parts.runner is runner
