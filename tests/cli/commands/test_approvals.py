"""`approvals`, `approve`, `reject` and `recover`, and the prompt at a terminal (SPEC D6, D7)."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cli.terminal import TIMEOUT_SECONDS, Talk, Terminal
from tests.commands import Run
from tests.runs.scripts import QUESTION
from tests.runs.websites import SearchServer
from veracity.cli.ui.console import console
from veracity.cli.ui.interrupt import IGNORE_SECONDS
from veracity.engine import Veracity
from veracity.errors import LedgerError
from veracity.ledger import Ledger
from veracity.runs.web_evidence import WebEvidence

ZH, JA = "正式员工每年有多少天带薪年假？", "正社員の有給休暇は年に何日ありますか。"
MENU = "[a/r/s/e/l]"
ON_THE_WEB = "Full-time staff have 26 days of paid annual leave a year."


def ask(run: Run, root: Path, question: str = QUESTION, *options: str) -> str:
    """Ask a question and return the id of its approval."""
    answer = json.loads(run("ask", question, "-w", root, "--json", *options).out)
    assert answer["status"] == "awaiting_approval"
    return str(answer["approval_id"])


def editor(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Set an editor that runs `code`, where `path` is the edited file."""
    program = folder / "editor.py"
    program.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{code}\n", encoding="utf-8")
    monkeypatch.setenv("EDITOR", f"{sys.executable} {program}")
    monkeypatch.delenv("VISUAL", raising=False)


def stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def raise_error(problem: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise problem

    return fail


class TestList:
    def test_no_pending_approvals(self, run: Run, filled: Path) -> None:
        assert run("approvals", "-w", filled).out == "No approvals are pending.\n"
        assert run("approvals", "-w", filled, "--json").out == "[]\n"

    def test_pending_approvals_are_listed_oldest_first(self, run: Run, strict: Path) -> None:
        first, second = ask(run, strict), ask(run, strict, ZH)
        listed = json.loads(run("approvals", "-w", strict, "--json").out)
        assert [item["approval_id"] for item in listed] == [first, second]
        ran = run("approvals", "-w", strict)
        for expected in (first, second, "policy", "100", "UTC", f"-w {strict}"):
            assert expected in ran.out
        assert json.loads(run("approvals", "-w", strict, "--user", "ana", "--json").out) == []

    def test_columns_depend_on_differing_values_and_width(
        self, run: Run, strict: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, second = ask(run, strict), ask(run, strict, ZH, "--user", "王芳")
        assert "王芳" in run("approvals", "-w", strict).out and "State" not in run("approvals", "-w", strict).out
        run("approve", first, "-w", strict, "--by", "bob")
        alone = run("approvals", "-w", strict).out
        assert first not in alone and "王芳" not in alone and second in alone
        approved = run("approvals", "--state", "approved", "-w", strict).out
        assert first in approved and second not in approved and "To decide" not in approved
        either = run("approvals", "--state", "any", "-w", strict).out
        assert either.index(second) < either.index(first) and "pending" in either and "To decide" in either
        assert run("approvals", "--state", "rejected", "-w", strict).out == "No approval has this state.\n"
        ran = run("approvals", "--state", "open", "-w", strict)
        assert ran.code == 2 and 'not "open"' in ran.err
        monkeypatch.setattr(console, "width", 80)
        narrow = run("approvals", "--state", "any", "-w", strict).out
        assert f"{first} │ approved │ policy │" in narrow and "Since" not in narrow  # the id begins with the time

    def test_failed_resume_does_not_block_other_commands(
        self, run: Run, strict: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        for problem in (LedgerError("It is\nbroken."), KeyError("new_field")):
            monkeypatch.setattr(Ledger, "interrupted", raise_error(problem))
            name = ask(run, strict)
            ran = run("approvals", "-w", strict)
            assert ran.code == 0 and name in ran.out
        expected = [line.message for line in caplog.records if "could not be resumed" in line.message]
        assert expected[0].endswith("resumed: It is broken.") and expected[-1].endswith("resumed: KeyError")

    def test_folder_that_is_not_a_workspace_is_refused(self, run: Run, tmp_path: Path) -> None:
        ran = run("approvals", "-w", tmp_path)
        assert ran.code == 2 and "is not a workspace" in ran.err


NAMES = [
    ("ask", "x", "--user", ""),
    ("ask", "x", "-c", " "),
    ("chat", "--conversation", ""),
    ("approvals", "--user", ""),
    ("approve", "last", "--by", ""),
    ("reject", "last", "--by", "\u3000"),
    ("forget", "-c", ""),
]


@pytest.mark.parametrize("arguments", NAMES)
def test_empty_names_are_refused(run: Run, strict: Path, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments, "-w", strict)
    assert ran.code == 2 and "is given without a name" in ran.err and len(ran.err.splitlines()) == 1


class TestApprove:
    @pytest.mark.parametrize(
        ("question", "expected"), [(QUESTION, "25 days"), (ZH, "十五天"), (JA, "二十日")], ids=["en", "zh", "ja"]
    )
    def test_approved_answer_is_published(self, run: Run, strict: Path, question: str, expected: str) -> None:
        ran = run("approve", ask(run, strict, question), "-w", strict, "--by", "ana")
        assert ran.code == 0, ran.err
        assert expected in ran.out and "ana" in ran.out

    def test_show_prints_the_draft_without_deciding(self, run: Run, strict: Path) -> None:
        name = ask(run, strict)
        ran = run("approve", "last", "--show", "-w", strict)
        assert ran.code == 0
        for expected in ("25 days", "Groundedness", "every answer needs approval here", "If you reject it", name):
            assert expected in ran.out
        shown = json.loads(run("approve", name, "--show", "-w", strict, "--json").out)
        assert shown["state"] == "pending" and shown["draft_hash"][:16] in ran.out

    def test_approval_is_found_by_prefix_or_run(self, run: Run, strict: Path) -> None:
        first = ask(run, strict)
        assert run("approve", first.rpartition(".")[0], "-w", strict).code == 0
        assert run("approve", ask(run, strict)[:-3], "-w", strict).code == 0
        ran = run("approve", "nothing", "-w", strict)
        assert ran.code == 2 and "There is no approval" in ran.err

    def test_edit_from_file_or_standard_input(self, run: Run, strict: Path, tmp_path: Path) -> None:
        (tmp_path / "edit.md").write_text("正式员工每年享有十五天带薪年假。[1]", encoding="utf-8")
        ran = run("approve", ask(run, strict, ZH), "--edit", tmp_path / "edit.md", "-w", strict, "--json")
        answer = json.loads(ran.out)
        assert (answer["form"], answer["text"]) == ("edited", "正式员工每年享有十五天带薪年假。[1]")
        ran = run("approve", ask(run, strict), "--edit", "-", "-w", strict, stdin=b"Twenty-five days.")
        assert ran.code == 0 and ran.out.startswith("Twenty-five days.")
        assert "Score" not in ran.out and "Review" not in ran.out, "the edit itself is neither reviewed nor scored"

    @pytest.mark.parametrize(
        ("content", "expected"),
        [(b" ", "The edited answer is empty"), (b"\xff", "not UTF-8"), (b"x" * 20_001, "20,001")],
    )
    def test_invalid_edit_decides_nothing(self, run: Run, strict: Path, content: bytes, expected: str) -> None:
        ran = run("approve", ask(run, strict), "--edit", "-", "-w", strict, stdin=content)
        assert ran.code == 2 and expected in ran.err
        assert len(json.loads(run("approvals", "-w", strict, "--json").out)) == 1

    def test_second_decision_is_refused_d6(self, run: Run, strict: Path) -> None:
        name = ask(run, strict)
        assert run("approve", name, "-w", strict, "--by", "ana").code == 0
        for verdict in ("approve", "reject"):
            ran = run(verdict, name, "-w", strict)
            assert ran.code == 5 and 'approved by "ana"' in ran.err
            assert len(ran.err.splitlines()) == 1

    def test_changed_draft_is_not_approved_d6(self, run: Run, strict: Path) -> None:
        name = ask(run, strict)
        draft_hash = json.loads(run("approve", name, "--show", "-w", strict, "--json").out)["draft_hash"]
        for other in ("", "0" * 64, draft_hash[:4]):
            ran = run("approve", name, "--draft", other, "-w", strict)
            assert ran.code == 5 and "has changed since you read it" in ran.err
        assert run("approve", name, "--draft", draft_hash[:16], "-w", strict).code == 0

    @pytest.mark.parametrize(
        ("verdict", "arguments", "expected"),
        [
            ("approve", ("--by", "ev\nil"), "The name of the approver must have"),
            ("reject", ("--by", "x" * 501), "The name of the approver must have"),
            ("reject", ("--reason", "理" * 2001), "The reason has 2,001 characters"),
        ],
    )
    def test_invalid_name_or_reason_decides_nothing(
        self, run: Run, strict: Path, verdict: str, arguments: tuple[str, ...], expected: str
    ) -> None:
        ran = run(verdict, ask(run, strict), *arguments, "-w", strict)
        assert ran.code == 2 and expected in ran.err and len(ran.err.splitlines()) == 1
        assert len(json.loads(run("approvals", "-w", strict, "--json").out)) == 1

    @pytest.mark.parametrize(
        "edit", ["Staff may fly to the moon. [1]", "员工可以飞往月球。[1]", "社員は月まで飛べます。[1]"]
    )
    def test_unsupported_sentences_are_listed_not_only_coloured(self, run: Run, strict: Path, edit: str) -> None:
        ran = run("approve", ask(run, strict), "--edit", "-", "-w", strict, stdin=edit.encode())
        assert f"  – {edit}\n" in ran.out
        assert f"  – {edit}\n" in run("show", "last", "-w", strict).out

    def test_receipt_is_found_by_its_approval(self, run: Run, strict: Path) -> None:
        name = ask(run, strict)
        assert run("show", name, "-w", strict).out == run("show", "last", "-w", strict).out
        ran = run("show", f"{name}9", "-w", strict)
        assert ran.code == 2 and f'There is no run "{name}9"' in ran.err

    def test_decision_records_the_login_name(self, run: Run, strict: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LOGNAME", "akiko")
        answer = json.loads(run("approve", ask(run, strict), "-w", strict, "--json").out)
        assert [item["by"] for item in answer["decisions"]] == ["akiko"]


class TestSendBack:
    def test_another_draft_awaits_approval_d10(self, run: Run, strict: Path) -> None:
        name = ask(run, strict)
        ran = run("send-back", name, "--note", "How many days may be carried over?", "--by", "ana", "-w", strict)
        assert ran.code == 3 and f"veracity approve {name[:-1]}2" in ran.out
        first, second = json.loads(run("approvals", "--state", "any", "-w", strict, "--json").out)[::-1]
        assert (first["state"], first["decision"]["by"], second["state"]) == ("sent_back", "ana", "pending")
        assert "sent back by ana" in run("show", name[:-2], "-w", strict).out
        ran = run("send-back", name, "--note", "Again.", "-w", strict)
        assert ran.code == 5 and "was already sent back by" in ran.err

    def test_a_note_is_required(self, run: Run, strict: Path) -> None:
        ran = run("send-back", ask(run, strict), "--note", " ", "-w", strict)
        assert ran.code == 2 and "with a note" in ran.err

    def test_at_the_prompt(self, talk: Talk, strict: Path) -> None:
        typed = [(MENU, "s\r"), ("next draft change", "Say more.\r"), (MENU, "a\r")]
        ran = talk("ask", QUESTION, "-w", strict, typed=typed)
        assert ran.code == 0
        with Veracity(strict) as engine:
            decisions = [item.decision for item in engine.receipt("last").approvals if item.decision]
        assert [decision.verdict for decision in decisions] == ["send_back", "approve"]


class TestAssign:
    def test_the_list_shows_who_should_decide_d11(self, run: Run, strict: Path) -> None:
        name = ask(run, strict)
        assert run("assign", name, "ana", "-w", strict).out == f"{name}: assigned to ana.\n"
        assert "ana" in run("approvals", "-w", strict).out
        assert run("assign", name, "-w", strict).out == f"{name}: assigned to nobody.\n"
        assert json.loads(run("approvals", "-w", strict, "--json").out)[0]["assignee"] == ""


class TestReject:
    def test_rejection_searches_the_web_and_awaits_approval_again_d7(
        self, run: Run, strict: Path, web: SearchServer
    ) -> None:
        web.finds(ON_THE_WEB)
        ran = run("reject", ask(run, strict), "--reason", "too few", "-w", strict)
        assert ran.code == 3 and "waiting for approval" in ran.out and "veracity approve" in ran.out
        name = json.loads(run("approvals", "-w", strict, "--json").out)[0]["approval_id"]
        ran = run("approve", name, "-w", strict)
        assert ran.code == 0 and "26 days" in ran.out and "https://site1." in ran.out

    def test_unseen_draft_is_not_decided_d6(self, run: Run, strict: Path, web: SearchServer) -> None:
        """Ana looks at the first draft, Bo rejects it, then Ana decides with the name she used to look."""
        web.finds(ON_THE_WEB)
        first = ask(run, strict)
        name = first.rpartition(".")[0]
        assert "25 days" in run("approve", name[:-2], "--show", "-w", strict).out
        assert run("reject", first, "--by", "bo", "-w", strict).code == 3
        for typed in (name, name[:-2], "last"):
            for verdict in ("approve", "reject"):
                ran = run(verdict, typed, "--by", "ana", "-w", strict)
                assert ran.code == 2 and f'write its full id, "{name}.2"' in ran.err
                assert ran.out == "" and len(ran.err.splitlines()) == 1
        assert "26 days" in run("approve", name, "--show", "-w", strict).out
        assert run("approve", f"{name}.2", "--by", "ana", "-w", strict).code == 0

    def test_consequence_of_rejection_is_shown(self, run: Run, strict: Path, web: SearchServer) -> None:
        """D7: the web is searched once per turn, and this question already did."""
        web.finds(ON_THE_WEB)
        ask(run, strict, "Search the web for the annual leave of full-time staff")
        shown = run("approve", "last", "--show", "-w", strict).out
        assert "the web was already searched" in shown and "web.provider" not in shown

    def test_interrupted_rejection_stays_recorded_d6(
        self, run: Run, strict: Path, web: SearchServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        web.finds(ON_THE_WEB)
        name = ask(run, strict)
        with monkeypatch.context() as stopped:
            stopped.setattr(WebEvidence, "look_up", stop)
            ran = run("reject", name, "-w", strict)
        assert ran.code != 0 and "The decision is recorded" in ran.err and "Traceback" not in ran.err
        assert "veracity recover" in run("approvals", "-w", strict).err
        assert "Resumed the interrupted run" in run("recover", "-w", strict).err
        assert name[:-1] + "2" in run("approvals", "-w", strict).out
        assert run("recover", "-w", strict).out == "No run was interrupted.\n"

    def test_d8_well_scored_web_answer_needs_no_approval(self, run: Run, filled: Path, web: SearchServer) -> None:
        web.finds("The chess championship was won by Ada Lovelace.")
        ran = run("reject", ask(run, filled, "Who won the chess championship?"), "-w", filled)
        assert ran.code == 0 and "Ada Lovelace" in ran.out and "score " in ran.out

    def test_d7_d9_a_rejected_draft_is_not_printed_as_the_answer(self, run: Run, strict: Path) -> None:
        ran = run("reject", ask(run, strict), "-w", strict)
        assert ran.code == 0 and "25 days" not in ran.out
        assert ran.out.startswith("The answer to this question was rejected. The web was not searched")
        assert "web search is not configured" in ran.out


class TestAtATerminal:
    @pytest.mark.parametrize(
        ("question", "hint", "texts"),
        [
            (QUESTION, "Type a, r", ("25 days", "Approval needed: every answer needs approval here.", "Approved:")),
            (ZH, "请输入 a、r", ("十五天", "需要审批：此处的每个回答都须审批。", "已批准：")),
            (
                JA,
                "a、r、s、e、l の",
                ("二十日", "承認が必要です：ここではすべての回答に承認が必要です。", "承認しました。"),
            ),
        ],
        ids=["en", "zh", "ja"],
    )
    def test_draft_is_shown_and_approved(
        self, talk: Talk, strict: Path, question: str, hint: str, texts: tuple[str, ...]
    ) -> None:
        """Also with full-width letters. The labels are in the language of the question (X5)."""
        ran = talk("ask", question, "-w", strict, typed=[(MENU, "x\r"), (hint, ""), (MENU, "Ａ\r")])
        assert ran.code == 0
        for shown in (*texts, "Groundedness"):
            assert shown in ran.out
        with Veracity(strict) as engine:
            assert engine.runs()[0].status == "answered"

    def test_second_rejection_ends_the_run(self, talk: Talk, strict: Path, web: SearchServer) -> None:
        """D7: the first rejection searches the web, the second ends the run."""
        web.finds(ON_THE_WEB)
        typed = [(MENU, "r\r"), ("Why?", "数字不对。\r"), ("26 days", ""), (MENU, "reject\r"), ("Why?", "\r")]
        ran = talk("ask", QUESTION, "-w", strict, typed=typed)
        assert ran.code == 0
        expected = " ".join(ran.out.split())
        assert "the web is searched once" in expected and "the web was already searched" in expected
        with Veracity(strict) as engine:
            receipt = engine.receipt("last")
        assert receipt.run.status == "rejected"
        assert [item.decision.reason for item in receipt.approvals if item.decision] == ["数字不对。", ""]

    def test_typeahead_decides_nothing(self, talk: Talk, strict: Path) -> None:
        ran = talk("ask", QUESTION, "-w", strict, typed=[("", "a\r"), (MENU, "l\r")])
        assert ran.code == 3 and "Approved:" not in ran.out

    @pytest.mark.parametrize("key", ["l\r", "\x03", "\x04"], ids=["later", "ctrl-c", "ctrl-d"])
    def test_later_keeps_it_pending(self, talk: Talk, run: Run, strict: Path, key: str) -> None:
        ran = talk("ask", QUESTION, "-w", strict, typed=[(MENU, key)])
        assert ran.code == 3 and "veracity approve" in ran.out
        assert len(json.loads(run("approvals", "-w", strict, "--json").out)) == 1

    def test_cancelled_reason_returns_to_the_menu(self, talk: Talk, strict: Path) -> None:
        ran = talk("ask", QUESTION, "-w", strict, typed=[(MENU, "r\r"), ("Why?", "\x03"), (MENU, "l\r")])
        assert ran.code == 3

    def test_edit_in_an_editor(self, talk: Talk, strict: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code = (
            "mode = oct(path.parent.stat().st_mode)[-3:]\n"
            "path.write_text(path.read_text('utf-8').replace('十五天', '15 天') + mode, 'utf-8')"
        )
        editor(tmp_path, monkeypatch, code)
        assert talk("ask", ZH, "-w", strict, typed=[(MENU, "e\r")]).code == 0
        with Veracity(strict) as engine:
            answer = engine.receipt("last").answer
        assert answer is not None and answer.form == "edited"
        assert "15 天" in answer.text and answer.text.endswith("700"), "only this user may read the file"

    @pytest.mark.parametrize(
        ("code", "expected"),
        [
            ("pass", "Nothing was changed."),
            ("path.write_text('')", "Nothing was changed."),
            ("path.write_bytes(b'\\xff')", "The editor failed (the file is not UTF-8 text)"),
            ("sys.exit(3)", "The editor failed (exit code 3)"),
            ("path.unlink()", "The editor failed (No such file or directory)"),
            ("path.write_text('x' * 20_001)", "at most 20,000"),
            (None, "No editor is set"),
        ],
    )
    def test_unusable_edit_returns_to_the_menu(
        self, talk: Talk, strict: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str | None, expected: str
    ) -> None:
        editor(tmp_path, monkeypatch, code or "")
        if code is None:
            monkeypatch.delenv("EDITOR")
        ran = talk("ask", QUESTION, "-w", strict, typed=[(MENU, "e\r"), (expected, ""), (MENU, "l\r")])
        assert ran.code == 3

    def test_abstention_offers_the_web_x2(self, talk: Talk, filled: Path, web: SearchServer) -> None:
        web.finds("The chess championship was won by Ada Lovelace.")
        typed = [("the documents do not say, and the web can be searched", ""), (MENU, "r\r"), ("Why?", "\r")]
        ran = talk("ask", "Who won the chess championship?", "-w", filled, typed=typed)
        assert ran.code == 0 and "Ada Lovelace" in ran.out


DYING = "Searcher.find = lambda *_: os._exit(9)"
SLOW = "Searcher.find = lambda *_: time.sleep(120)"


def command(code: str, *arguments: object) -> list[str]:
    """A separate process, attached to its terminal if it has one, that runs `code` before the command."""
    attach = "if os.isatty(0): fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    imports = "import fcntl, os, sys, termios, time\nfrom veracity.retrieval.search import Searcher"
    main = f"sys.argv[0] = 'veracity'\nfrom veracity.cli import main\n{code}\nmain()"
    return [sys.executable, "-c", f"{imports}\n{attach}\n{main}", *map(str, arguments)]


def test_ctrl_c_stops_a_resumed_run_without_traceback(strict: Path) -> None:
    """The next command can resume it."""
    dead = subprocess.run(command(DYING, "ask", QUESTION, "-w", strict), stdin=subprocess.DEVNULL, check=False)
    assert dead.returncode == 9
    terminal = Terminal()
    process = subprocess.Popen(
        command(SLOW, "recover", "-w", strict),
        stdin=terminal.theirs,
        stdout=terminal.theirs,
        stderr=terminal.theirs,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    try:
        terminal.expect("Resuming")
        with Veracity(strict) as engine:  # the process has the lease once the run is not listed
            wait_until(lambda: not engine._parts.ledger.interrupted())
        terminal.type("\x03")
        terminal.expect("Stopping …")
        time.sleep(IGNORE_SECONDS + 0.1)
        terminal.type("\x03")
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()
        terminal.close()
    assert "Traceback" not in terminal.shown and "exception" not in terminal.shown
    with Veracity(strict) as engine:
        assert [answer.status for answer in engine.recover()] == ["awaiting_approval"]


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_draft_cannot_control_the_terminal(run: Run, strict: Path) -> None:
    name = ask(run, strict)
    run("approve", name, "--edit", "-", "-w", strict, stdin=b"It is \x1b[2J gone.")
    ran = run("show", "last", "-w", strict)
    assert "gone" in ran.out and "\x1b" not in ran.out
