"""`ask`, `show` and `runs`."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import WORDS_ONLY
from tests.cli.terminal import Talk
from tests.commands import Run
from tests.loopback import LoopbackServer
from tests.runs.scripts import DOCUMENTS, QUESTION
from veracity.engine import Veracity


def test_answer_with_sources_and_verdicts(run: Run, filled: Path) -> None:
    ran = run("ask", QUESTION, "-w", filled)
    assert ran.code == 0, ran.err
    assert "25 days of paid annual leave" in ran.out
    assert "[1]" in ran.out
    assert "Sources" in ran.out
    assert "Annual leave" in ran.out
    assert "“Full-time staff have 25 days of paid annual leave a year.”" in ran.out
    verdict = "passed the local checks · 1 of 1 sentence supported · strong score 100 (threshold 75)\nEvidence: "
    assert verdict in ran.out
    assert "Extractive" in ran.out
    assert "Run 20" in ran.out
    assert ran.err == ""


@pytest.mark.parametrize(
    ("question", "labels", "receipt_labels"),
    [
        (
            "正式员工每年有多少天带薪年假？",
            ("\n来源\n", "证据：", "通过本地检查 · ", "评分高：100（阈值 75）", "摘录式回答："),
            ("第 1 次检索：", "草稿 1", "置信度：高（100）", "阈值 75", "\n步骤\n"),
        ),
        (
            "正社員の有給休暇は年に何日ですか？",
            ("\n出典\n", "根拠：", "ローカルの検査に合格 · ", "スコア高：100（しきい値 75）", "抜粋による回答："),
            ("検索 1：", "下書き 1", "確信度：高（100）", "しきい値 75", "\nステップ\n"),
        ),
    ],
)
def test_x5_labels_are_in_the_language_of_the_question(
    run: Run, filled: Path, question: str, labels: tuple[str, ...], receipt_labels: tuple[str, ...]
) -> None:
    asked, shown = run("ask", question, "-w", filled).out, run("show", "last", "-w", filled).out
    for label in labels:
        assert label in asked and label in shown
    for label in receipt_labels:
        assert label in shown
    for english in ("Sources", "Evidence:", "Review", "Score"):
        assert english not in asked and english not in shown


def test_abstention_says_what_is_missing(run: Run, filled: Path) -> None:
    ran = run("ask", "Who won the chess championship?", "-w", filled)
    assert ran.code == 0
    assert ran.out.startswith("The documents do not say.")
    assert "chess" in ran.out
    assert "Sources" not in ran.out


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("Is annual leave taxed in Peru?", "Nearest passages"),
        ("年假在秘鲁怎么纳税？", "最接近的段落"),
        ("有給休暇はペルーで課税されますか。", "近い箇所"),
    ],
)
def test_abstention_shows_the_nearest_passages(run: Run, filled: Path, question: str, heading: str) -> None:
    found = json.loads(run("search", question, "-w", filled, "--json").out)
    shown = run("ask", question, "-w", filled).out
    assert found and heading in shown
    assert found[0]["title"] in shown and found[0]["text"].splitlines()[-1][:20] in shown


def test_json_is_alone_on_standard_output(run: Run, filled: Path) -> None:
    ran = run("ask", "正式员工每年有多少天带薪年假？", "-w", filled, "--json", "--show-steps")
    answer = json.loads(ran.out)
    assert (answer["status"], answer["language"]) == ("answered", "zh")
    assert "十五天" in answer["text"]
    assert "grade_documents" in ran.err


def test_steps_are_printed_to_standard_error(run: Run, filled: Path) -> None:
    ran = run("ask", QUESTION, "-w", filled, "--show-steps", "--max-rewrites", "0")
    lines = ran.err.splitlines()
    assert [line.split()[0] for line in lines if " ms " in line][:4] == [
        "process_input",
        "summarize_if_needed",
        "decide_route",
        "select_sources",
    ]
    assert any("knowledge:" in line and "passages" in line for line in lines)
    assert "rewrite_query" not in ran.err


def test_steps_show_route_and_score_d3_d5(run: Run, filled: Path) -> None:
    err = run("ask", QUESTION, "-w", filled, "--show-steps").err
    assert f"knowledge: “{QUESTION}”" in " ".join(err.split())
    assert "100 ≥ 75" in err


def test_follow_up_question_in_a_conversation(run: Run, filled: Path) -> None:
    run("ask", QUESTION, "-w", filled, "--conversation", "c1", "--user", "ana")
    answer = json.loads(run("ask", "And in Berlin?", "-w", filled, "-c", "c1", "--user", "ana", "--json").out)
    assert answer["conversation"] == "c1" and "annual leave" in answer["standalone"]
    assert json.loads(run("ask", "And in Berlin?", "-w", filled, "-c", "c1", "--json").out)["standalone"] == (
        "And in Berlin?"
    ), "another user has another conversation"


def test_small_talk_has_no_verdicts(run: Run, filled: Path) -> None:
    ran = run("ask", "こんにちは", "-w", filled)
    assert ran.code == 0
    assert "Evidence" not in ran.out and "Review" not in ran.out and "Score" not in ran.out


def test_interrupted_run_is_resumed_after_the_answer(run: Run, filled: Path) -> None:
    """D6, after its process was killed."""
    code = (
        "import os, signal, sys\n"
        "from veracity.engine import Veracity\n"
        "for event in Veracity(sys.argv[1]).stream(sys.argv[2]):\n"
        "    if event.name == 'generate_answer': os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(filled), QUESTION], check=False, timeout=120)
    assert killed.returncode == -9
    ran = run("ask", "How much may a hotel cost?", "-w", filled)
    assert ran.code == 0 and "150 euros" in ran.out
    assert (
        ran.err.startswith("Resuming 1 interrupted run …")
        and "Resumed the interrupted run 20" in ran.err
        and ": answered." in ran.err
    )
    assert run("ask", "How much may a hotel cost?", "-w", filled).err == ""


class TestAwaitingApproval:
    """SPEC D5, D6."""

    def test_without_a_terminal_the_commands_to_decide_are_printed(self, run: Run, strict: Path) -> None:
        ran = run("ask", QUESTION, "-w", strict)
        assert ran.code == 3
        assert "waiting for approval" in ran.out
        assert "25 days" not in ran.out, "only approvers see the draft"
        approval_id = f"20{ran.out.partition('approve 20')[2].split()[0]}"
        assert f"veracity approve {approval_id} -w {strict}" in ran.out
        assert f'veracity send-back {approval_id} --note "…" -w {strict}' in ran.out
        assert f'veracity send-back ID --note "…" -w {strict}' in run("approvals", "-w", strict).out

    def test_what_cannot_be_sent_back_has_no_command_for_it(
        self, run: Run, strict: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("VERACITY_APPROVAL__SEND_BACKS", "0")
        ran = run("ask", QUESTION, "-w", strict)
        assert "veracity reject 20" in ran.out and "send-back" not in ran.out
        assert "send-back" not in run("approvals", "-w", strict).out

    def test_json_output(self, run: Run, strict: Path) -> None:
        ran = run("ask", QUESTION, "-w", strict, "--json")
        answer = json.loads(ran.out)
        assert (ran.code, answer["status"]) == (3, "awaiting_approval")
        assert f"veracity approve {answer['approval_id']}" in ran.err

    def test_json_never_prompts(self, talk: Talk, strict: Path) -> None:
        ran = talk("ask", QUESTION, "-w", strict, "--json", typed=[])
        assert ran.code == 3 and "a/r/e/l" not in ran.out


def test_show_prints_the_receipt(run: Run, filled: Path) -> None:
    run("ask", QUESTION, "-w", filled)
    ran = run("show", "last", "-w", filled)
    assert ran.code == 0, ran.err
    for expected in (QUESTION, "Search 1:", "Draft 1", "Review: passed", "settle_answer", "writer extractive"):
        assert expected in ran.out
    receipt = json.loads(run("show", "last", "-w", filled, "--json").out)
    assert receipt["run"]["status"] == "answered"
    assert receipt["rounds"][0]["evidence"][0]["text"]


def test_runs_are_listed_latest_first(run: Run, filled: Path) -> None:
    assert "No questions yet" in run("runs", "-w", filled).out
    run("ask", QUESTION, "-w", filled)
    run("ask", "社長の誕生日はいつですか。", "-w", filled)
    listed = json.loads(run("runs", "-w", filled, "--json").out)
    assert [item["status"] for item in listed] == ["abstained", "answered"]
    ran = run("runs", "-w", filled, "-n", "1")
    assert listed[0]["run_id"] in ran.out
    assert listed[1]["run_id"] not in ran.out
    assert "Showing the latest 1;" in ran.out and "User" not in ran.out
    with Veracity(filled) as engine:
        engine.ask("年假有几天？", user="王芳")
    all_users = run("runs", "-w", filled).out
    assert "User" in all_users and "王芳" in all_users and "local" in all_users and "Showing" not in all_users
    assert [item["user"] for item in json.loads(run("runs", "--user", "王芳", "-w", filled, "--json").out)] == ["王芳"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("ask", " "), "The question is empty"),
        (("ask", "???"), "The question contains no word"),
        (("ask", "x", "--deadline", "0"), "deadline must be more than 0 and at most 86400 seconds"),
        (("ask", "x", "--deadline", "nan"), "deadline must be more than 0 and at most 86400 seconds"),
        (("show", "nothing"), "nothing"),
    ],
)
def test_invalid_questions_and_limits(run: Run, filled: Path, arguments: tuple[str, ...], expected: str) -> None:
    ran = run(*arguments, "-w", filled)
    assert ran.code == 2
    assert expected in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_workspace_without_documents(run: Run, workspace: Path) -> None:
    ran = run("ask", QUESTION, "-w", workspace)
    assert (ran.code, ran.out) == (2, "")
    assert "veracity ingest PATH" in ran.err


def test_unreachable_writer(run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("VERACITY_MODELS__WRITER", "openai-chat:gone")
    monkeypatch.setenv("VERACITY_LLM__BACKOFF", "0")
    ran = run("ask", QUESTION, "-w", filled)
    assert (ran.code, ran.out) == (1, "")
    assert "openai-chat:gone" in ran.err
    assert "Traceback" not in ran.err
    assert "failed" in run("runs", "-w", filled).out


def test_a9_self_review_is_reported(
    run: Run, filled: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for role in ("WRITER", "REVIEWER"):
        monkeypatch.setenv(f"VERACITY_MODELS__{role}", "openai-chat:same")
    monkeypatch.setenv("VERACITY_LLM__BACKOFF", "0")
    run("ask", QUESTION, "-w", filled)
    assert "reviews its own drafts" in caplog.text


def test_document_cannot_control_the_terminal(run: Run, workspace: Path) -> None:
    (workspace / "veracity.toml").write_text(WORDS_ONLY)
    with Veracity(workspace) as engine:
        engine.add([*DOCUMENTS[1:], DOCUMENTS[0].model_copy(update={"text": f"{DOCUMENTS[0].text} \x1b[2J"})])
    ran = run("ask", QUESTION, "-w", workspace)
    assert "25 days" in ran.out
    assert "\x1b" not in ran.out


def test_interrupt_fails_the_run(filled: Path) -> None:
    """In a separate process."""
    code = (
        "import os, signal, sys, threading, time\n"
        "from veracity.retrieval.search import Searcher\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "Searcher.find = lambda *_: (threading.Timer(0.3, interrupt).start(), time.sleep(3))\n"
        "sys.argv = ['veracity', 'ask', 'How many days of leave?', '-w', sys.argv[1]]\n"
        "from veracity.cli import main; main()"
    )
    environment = {**os.environ, "COLUMNS": "100"}
    ran = subprocess.run(
        [sys.executable, "-c", code, str(filled)],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
        check=False,
    )
    assert ran.returncode == 130
    assert "Traceback" not in ran.stderr
    with Veracity(filled) as engine:
        assert engine.runs()[0].status in ("failed", "interrupted")  # it may hit the ending itself


def test_only_limits_the_documents(run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_APPROVAL__POLICY", "never")
    for command in (("ask", "How much may hotels cost a night?"), ("search", "staff hotels")):
        ran = run(*command, "--only", "travel", "--only", "other*", "-w", filled)
        assert ran.code == 0 and "150 euros" in ran.out and "annual leave" not in ran.out, ran.err
        ran = run(*command, "--only", "nowhere/*.md", "-w", filled)
        message = 'No document matches "nowhere/*.md": run "veracity documents" to list them.'
        assert (ran.code, ran.out, ran.err) == (2, "", f"veracity: {message}\n")
    shown = run("show", "last", "-w", filled).out
    assert "Only documents that match: travel, other*" in shown


def test_only_takes_paths_as_the_shell_does(
    run: Run, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative paths that exist mean this file or folder; uploads are found at their place in the workspace."""
    (workspace / "veracity.toml").write_text(WORDS_ONLY)
    for name in ("here/docs/a.md", "other/docs/b.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"The pump of {name} needs oil.")
    with Veracity(workspace) as engine:
        engine.ingest([tmp_path / "here", tmp_path / "other"])
        engine.upload("c.md", io.BytesIO(b"The pump of c needs oil."))

    def found(only: str | Path) -> set[str]:
        passages = json.loads(run("search", "pump oil", "--only", only, "-w", workspace, "--json").out)
        return {Path(passage["location"]).name for passage in passages}

    monkeypatch.chdir(tmp_path / "here")
    assert found("docs") == found("./docs/") == found("docs/a.md") == found("../here") == {"a.md"}
    assert found("docs/b.md") == found("../other/docs/b.md") == found(tmp_path / "other") == {"b.md"}
    assert found("*.md") == {"a.md", "b.md", "c.md"}
    monkeypatch.chdir(workspace)
    assert found("uploads") == found("uploads/c.md") == found(workspace / "uploads" / "*.md") == {"c.md"}
    assert found("docs") == {"a.md", "b.md"}
