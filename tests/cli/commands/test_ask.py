"""`ask`, `show` and `runs`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import WORDS_ONLY
from tests.cli.terminals import Talk
from tests.commands import Run
from tests.loopback import LoopbackServer
from tests.runs.scripts import DOCUMENTS, QUESTION
from veracity.engine import Veracity


def test_an_answer_with_its_sources_and_verdicts(run: Run, asked: Path) -> None:
    ran = run("ask", QUESTION, "-w", asked)
    assert ran.code == 0, ran.err
    assert "25 days of paid annual leave" in ran.out
    assert "[1]" in ran.out
    assert "Sources" in ran.out
    assert "Annual leave" in ran.out
    assert "“Full-time staff have 25 days of paid annual leave a year.”" in ran.out
    assert "Review: passed by the local checks" in ran.out
    assert "Score: 1.00" in ran.out
    assert "Extractive" in ran.out
    assert "Run 20" in ran.out
    assert ran.err == ""


def test_an_abstention_says_what_is_missing(run: Run, asked: Path) -> None:
    ran = run("ask", "Who won the chess championship?", "-w", asked)
    assert ran.code == 0
    assert ran.out.startswith("The documents do not say.")
    assert "chess" in ran.out
    assert "Sources" not in ran.out


def test_json_is_all_there_is_on_standard_output(run: Run, asked: Path) -> None:
    ran = run("ask", "正式员工每年有多少天带薪年假？", "-w", asked, "--json", "--show-steps")
    answer = json.loads(ran.out)
    assert (answer["status"], answer["language"]) == ("answered", "zh")
    assert "十五天" in answer["text"]
    assert "grade_documents" in ran.err


def test_the_steps_are_told_on_standard_error(run: Run, asked: Path) -> None:
    ran = run("ask", QUESTION, "-w", asked, "--show-steps", "--max-rewrites", "0")
    lines = ran.err.splitlines()
    assert [line.split()[0] for line in lines if " ms " in line][:4] == [
        "process_input",
        "summarize_if_needed",
        "decide_route",
        "select_sources",
    ]
    assert any("knowledge:" in line and "passages" in line for line in lines)
    assert "rewrite_query" not in ran.err


def test_the_steps_tell_route_and_score_d3_d5(run: Run, asked: Path) -> None:
    err = run("ask", QUESTION, "-w", asked, "--show-steps").err
    assert f"knowledge: “{QUESTION}”" in " ".join(err.split())
    assert "1.00 ≥ 0.75" in err


def test_a_question_follows_on_its_conversation(run: Run, asked: Path) -> None:
    run("ask", QUESTION, "-w", asked, "--conversation", "c1", "--user", "ana")
    answer = json.loads(run("ask", "And in Berlin?", "-w", asked, "-c", "c1", "--user", "ana", "--json").out)
    assert answer["conversation"] == "c1" and "annual leave" in answer["standalone"]
    assert json.loads(run("ask", "And in Berlin?", "-w", asked, "-c", "c1", "--json").out)["standalone"] == (
        "And in Berlin?"
    ), "another user has another conversation"


def test_a_courtesy_is_answered_without_verdicts(run: Run, asked: Path) -> None:
    ran = run("ask", "こんにちは", "-w", asked)
    assert ran.code == 0
    assert "Evidence" not in ran.out and "Review" not in ran.out and "Score" not in ran.out


def test_a_run_that_was_interrupted_is_taken_up_after_the_answer(run: Run, asked: Path) -> None:
    """D6: the process that was at it is killed."""
    code = (
        "import os, signal, sys\n"
        "from veracity.engine import Veracity\n"
        "for event in Veracity(sys.argv[1]).stream(sys.argv[2]):\n"
        "    if event.name == 'generate_answer': os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(asked), QUESTION], check=False, timeout=120)
    assert killed.returncode == -9
    ran = run("ask", "How much may a hotel cost?", "-w", asked)
    assert ran.code == 0 and "150 euros" in ran.out
    assert (
        ran.err.startswith("Taking up 1 run")
        and "Took up the run 20" in ran.err
        and "that was interrupted: answered." in ran.err
    )
    assert run("ask", "How much may a hotel cost?", "-w", asked).err == ""


class TestWaiting:
    """An answer that waits for a person (SPEC D5, D6)."""

    def test_where_nobody_sits_it_is_told_how_to_decide(self, run: Run, careful: Path) -> None:
        ran = run("ask", QUESTION, "-w", careful)
        assert ran.code == 3
        assert "waits for a person" in ran.out
        assert "25 days" not in ran.out, "the draft is for whoever decides"
        assert f"veracity approve 20{ran.out.partition('approve 20')[2].split()[0]} -w {careful}" in ran.out

    def test_json_stays_json(self, run: Run, careful: Path) -> None:
        ran = run("ask", QUESTION, "-w", careful, "--json")
        answer = json.loads(ran.out)
        assert (ran.code, answer["status"]) == (3, "awaiting_approval")
        assert f"veracity approve {answer['approval_id']}" in ran.err

    def test_json_never_asks_the_person(self, talk: Talk, careful: Path) -> None:
        ran = talk("ask", QUESTION, "-w", careful, "--json", typed=[])
        assert ran.code == 3 and "a/r/e/l" not in ran.out


def test_show_tells_how_the_answer_came_about(run: Run, asked: Path) -> None:
    run("ask", QUESTION, "-w", asked)
    ran = run("show", "last", "-w", asked)
    assert ran.code == 0, ran.err
    for told in (QUESTION, "Search 1:", "Draft 0", "Review: passed", "settle_answer", "writer extractive"):
        assert told in ran.out
    receipt = json.loads(run("show", "last", "-w", asked, "--json").out)
    assert receipt["run"]["status"] == "answered"
    assert receipt["rounds"][0]["evidence"][0]["text"]


def test_runs_lists_the_latest_first(run: Run, asked: Path) -> None:
    assert "Nothing was asked yet" in run("runs", "-w", asked).out
    run("ask", QUESTION, "-w", asked)
    run("ask", "社長の誕生日はいつですか。", "-w", asked)
    listed = json.loads(run("runs", "-w", asked, "--json").out)
    assert [one["status"] for one in listed] == ["abstained", "answered"]
    ran = run("runs", "-w", asked, "-n", "1")
    assert listed[0]["run_id"] in ran.out
    assert listed[1]["run_id"] not in ran.out
    assert "The latest 1 are shown" in ran.out and "User" not in ran.out
    with Veracity(asked) as engine:
        engine.ask("年假有几天？", user="王芳")
    everybody = run("runs", "-w", asked).out
    assert "User" in everybody and "王芳" in everybody and "local" in everybody and "are shown" not in everybody
    assert [one["user"] for one in json.loads(run("runs", "--user", "王芳", "-w", asked, "--json").out)] == ["王芳"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("ask", " "), "The question is empty"),
        (("ask", "???"), "The question holds no word"),
        (("ask", "x", "--deadline", "0"), "A run may take more than 0 and at most 86400 seconds"),
        (("ask", "x", "--deadline", "nan"), "A run may take more than 0 and at most 86400 seconds"),
        (("show", "nothing"), "nothing"),
    ],
)
def test_what_cannot_be_asked(run: Run, asked: Path, arguments: tuple[str, ...], told: str) -> None:
    ran = run(*arguments, "-w", asked)
    assert ran.code == 2
    assert told in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_no_documents_yet(run: Run, workspace: Path) -> None:
    ran = run("ask", QUESTION, "-w", workspace)
    assert (ran.code, ran.out) == (2, "")
    assert "veracity ingest PATH" in ran.err


def test_a_writer_that_cannot_be_reached(run: Run, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("VERACITY_MODELS__WRITER", "openai-chat:gone")
    monkeypatch.setenv("VERACITY_LLM__BACKOFF", "0")
    ran = run("ask", QUESTION, "-w", asked)
    assert (ran.code, ran.out) == (1, "")
    assert "openai-chat:gone" in ran.err
    assert "Traceback" not in ran.err
    assert "failed" in run("runs", "-w", asked).out


def test_a9_a_model_that_reviews_itself_is_told_of(
    run: Run, asked: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for role in ("WRITER", "REVIEWER"):
        monkeypatch.setenv(f"VERACITY_MODELS__{role}", "openai-chat:same")
    monkeypatch.setenv("VERACITY_LLM__BACKOFF", "0")
    run("ask", QUESTION, "-w", asked)
    assert "reviews what it wrote itself" in caplog.text


def test_what_a_document_says_cannot_move_the_terminal(run: Run, workspace: Path) -> None:
    (workspace / "veracity.toml").write_text(WORDS_ONLY)
    with Veracity(workspace) as engine:
        engine.add([*DOCUMENTS[1:], DOCUMENTS[0].model_copy(update={"text": f"\x1b[2J{DOCUMENTS[0].text}"})])
    ran = run("ask", QUESTION, "-w", workspace)
    assert "25 days" in ran.out
    assert "\x1b" not in ran.out


def test_stopped_by_the_user(asked: Path) -> None:
    """As a process of its own: the run is kept as failed, and nothing but a word is said."""
    code = (
        "import sys, time, _thread, threading\n"
        "from veracity.retrieval.searching import Searcher\n"
        "Searcher.find = lambda *_: (threading.Timer(0.3, _thread.interrupt_main).start(), time.sleep(30))\n"
        "sys.argv = ['veracity', 'ask', 'How many days of leave?', '-w', sys.argv[1]]\n"
        "from veracity.cli import main; main()"
    )
    environment = {**os.environ, "COLUMNS": "100"}
    ran = subprocess.run(
        [sys.executable, "-c", code, str(asked)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert ran.returncode == 130
    assert "Traceback" not in ran.stderr
    with Veracity(asked) as engine:
        assert engine.runs()[0].status == "failed"
