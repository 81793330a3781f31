"""Deciding at the command line: `approvals`, `approve`, `reject`, and the dialogue at a terminal (SPEC D6, D7)."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cli.terminals import PATIENCE, Talk, Terminal
from tests.commands import Run
from tests.runs.scripts import QUESTION
from tests.runs.websites import SearchServer
from veracity.cli.ui.console import console
from veracity.engine import Veracity
from veracity.errors import LedgerError
from veracity.ledger import Ledger
from veracity.runs.web_evidence import WebLookups

ZH, JA = "正式员工每年有多少天带薪年假？", "正社員の有給休暇は年に何日ありますか。"
MENU = "[a/r/e/l]"
ON_THE_WEB = "Full-time staff have 26 days of paid annual leave a year."


def ask(run: Run, root: Path, question: str = QUESTION, *options: str) -> str:
    """The id of the approval that it comes to."""
    answer = json.loads(run("ask", question, "-w", root, "--json", *options).out)
    assert answer["status"] == "awaiting_approval"
    return str(answer["approval_id"])


def editor(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """`path` is the file that is edited."""
    program = folder / "editor.py"
    program.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{code}\n", encoding="utf-8")
    monkeypatch.setenv("EDITOR", f"{sys.executable} {program}")
    monkeypatch.delenv("VISUAL", raising=False)


def stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def raising(problem: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise problem

    return fail


class TestListing:
    def test_nothing_waits(self, run: Run, asked: Path) -> None:
        assert run("approvals", "-w", asked).out == "Nothing waits for a person.\n"
        assert run("approvals", "-w", asked, "--json").out == "[]\n"

    def test_the_longest_waiting_first(self, run: Run, careful: Path) -> None:
        first, second = ask(run, careful), ask(run, careful, ZH)
        listed = json.loads(run("approvals", "-w", careful, "--json").out)
        assert [one["approval_id"] for one in listed] == [first, second]
        ran = run("approvals", "-w", careful)
        for told in (first, second, "policy", "1.00", "UTC", f"-w {careful}"):
            assert told in ran.out
        assert json.loads(run("approvals", "-w", careful, "--user", "ana", "--json").out) == []

    def test_who_asked_and_how_they_stand_is_told_where_it_differs(
        self, run: Run, careful: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, second = ask(run, careful), ask(run, careful, ZH, "--user", "王芳")
        assert "王芳" in run("approvals", "-w", careful).out and "State" not in run("approvals", "-w", careful).out
        run("approve", first, "-w", careful, "--by", "bob")
        alone = run("approvals", "-w", careful).out
        assert first not in alone and "王芳" not in alone and second in alone
        approved = run("approvals", "--state", "approved", "-w", careful).out
        assert first in approved and second not in approved and "To decide" not in approved
        either = run("approvals", "--state", "any", "-w", careful).out
        assert either.index(second) < either.index(first) and "pending" in either and "To decide" in either
        assert run("approvals", "--state", "rejected", "-w", careful).out == "There is no such approval.\n"
        ran = run("approvals", "--state", "open", "-w", careful)
        assert ran.code == 2 and 'not "open"' in ran.err
        monkeypatch.setattr(console, "width", 80)
        narrow = run("approvals", "--state", "any", "-w", careful).out
        assert f"{first} │ approved │ policy │" in narrow and "Since" not in narrow  # the name tells since when

    def test_what_cannot_be_taken_up_keeps_nothing_from_being_done(
        self, run: Run, careful: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        for problem in (LedgerError("It is\nbroken."), KeyError("new_field")):
            monkeypatch.setattr(Ledger, "interrupted", raising(problem))
            name = ask(run, careful)
            ran = run("approvals", "-w", careful)
            assert ran.code == 0 and name in ran.out
        told = [line.message for line in caplog.records if "could not be taken up" in line.message]
        assert told[0].endswith("taken up: It is broken.") and told[-1].endswith("taken up: KeyError")

    def test_a_folder_that_is_no_workspace_is_not_taken_for_one(self, run: Run, tmp_path: Path) -> None:
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
def test_an_empty_name_is_none(run: Run, careful: Path, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments, "-w", careful)
    assert ran.code == 2 and "is given without a name" in ran.err and len(ran.err.splitlines()) == 1


class TestApproving:
    @pytest.mark.parametrize(
        ("question", "told"), [(QUESTION, "25 days"), (ZH, "十五天"), (JA, "二十日")], ids=["en", "zh", "ja"]
    )
    def test_the_answer_goes_out(self, run: Run, careful: Path, question: str, told: str) -> None:
        ran = run("approve", ask(run, careful, question), "-w", careful, "--by", "ana")
        assert ran.code == 0, ran.err
        assert told in ran.out and "ana" in ran.out

    def test_show_shows_the_draft_and_decides_nothing(self, run: Run, careful: Path) -> None:
        name = ask(run, careful)
        ran = run("approve", "last", "--show", "-w", careful)
        assert ran.code == 0
        for told in ("25 days", "Groundedness", "every answer is approved here", "If you reject it", name):
            assert told in ran.out
        shown = json.loads(run("approve", name, "--show", "-w", careful, "--json").out)
        assert shown["state"] == "pending" and shown["draft_hash"][:16] in ran.out

    def test_named_by_its_beginning_or_its_run(self, run: Run, careful: Path) -> None:
        first = ask(run, careful)
        assert run("approve", first.rpartition(".")[0], "-w", careful).code == 0
        assert run("approve", ask(run, careful)[:-3], "-w", careful).code == 0
        ran = run("approve", "nothing", "-w", careful)
        assert ran.code == 2 and "There is no approval" in ran.err

    def test_an_edit_from_a_file_or_from_standard_input(self, run: Run, careful: Path, tmp_path: Path) -> None:
        (tmp_path / "edit.md").write_text("正式员工每年享有十五天带薪年假。[1]", encoding="utf-8")
        ran = run("approve", ask(run, careful, ZH), "--edit", tmp_path / "edit.md", "-w", careful, "--json")
        answer = json.loads(ran.out)
        assert (answer["form"], answer["text"]) == ("edited", "正式员工每年享有十五天带薪年假。[1]")
        ran = run("approve", ask(run, careful), "--edit", "-", "-w", careful, stdin=b"Twenty-five days.")
        assert ran.code == 0 and ran.out.startswith("Twenty-five days.")
        assert "Score" not in ran.out and "Review" not in ran.out, "the edit itself was not examined"

    @pytest.mark.parametrize(
        ("content", "told"), [(b" ", "The edited answer is empty"), (b"\xff", "not UTF-8"), (b"x" * 20_001, "20,001")]
    )
    def test_an_edit_that_cannot_be_used_decides_nothing(
        self, run: Run, careful: Path, content: bytes, told: str
    ) -> None:
        ran = run("approve", ask(run, careful), "--edit", "-", "-w", careful, stdin=content)
        assert ran.code == 2 and told in ran.err
        assert len(json.loads(run("approvals", "-w", careful, "--json").out)) == 1

    def test_who_comes_second_is_told_d6(self, run: Run, careful: Path) -> None:
        name = ask(run, careful)
        assert run("approve", name, "-w", careful, "--by", "ana").code == 0
        for verdict in ("approve", "reject"):
            ran = run(verdict, name, "-w", careful)
            assert ran.code == 5 and 'approved by "ana"' in ran.err
            assert len(ran.err.splitlines()) == 1

    def test_only_the_draft_that_was_seen_d6(self, run: Run, careful: Path) -> None:
        name = ask(run, careful)
        known = json.loads(run("approve", name, "--show", "-w", careful, "--json").out)["draft_hash"]
        for other in ("", "0" * 64, known[:4]):
            ran = run("approve", name, "--draft", other, "-w", careful)
            assert ran.code == 5 and "look at it again" in ran.err
        assert run("approve", name, "--draft", known[:16], "-w", careful).code == 0

    @pytest.mark.parametrize(
        ("verdict", "arguments", "told"),
        [
            ("approve", ("--by", "ev\nil"), "Whoever decides has a name"),
            ("reject", ("--by", "x" * 501), "Whoever decides has a name"),
            ("reject", ("--reason", "理" * 2001), "The reason has 2,001 characters"),
        ],
    )
    def test_what_cannot_be_kept_decides_nothing(
        self, run: Run, careful: Path, verdict: str, arguments: tuple[str, ...], told: str
    ) -> None:
        ran = run(verdict, ask(run, careful), *arguments, "-w", careful)
        assert ran.code == 2 and told in ran.err and len(ran.err.splitlines()) == 1
        assert len(json.loads(run("approvals", "-w", careful, "--json").out)) == 1

    @pytest.mark.parametrize(
        "edit", ["Staff may fly to the moon. [1]", "员工可以飞往月球。[1]", "社員は月まで飛べます。[1]"]
    )
    def test_what_is_not_supported_is_named_and_not_only_coloured(self, run: Run, careful: Path, edit: str) -> None:
        ran = run("approve", ask(run, careful), "--edit", "-", "-w", careful, stdin=edit.encode())
        assert f"  – {edit}\n" in ran.out
        assert f"  – {edit}\n" in run("show", "last", "-w", careful).out

    def test_a_receipt_is_found_by_its_approval(self, run: Run, careful: Path) -> None:
        name = ask(run, careful)
        assert run("show", name, "-w", careful).out == run("show", "last", "-w", careful).out
        ran = run("show", f"{name}9", "-w", careful)
        assert ran.code == 2 and f'There is no run "{name}9"' in ran.err

    def test_whoever_decides_is_named_by_their_login(
        self, run: Run, careful: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LOGNAME", "akiko")
        answer = json.loads(run("approve", ask(run, careful), "-w", careful, "--json").out)
        assert [one["by"] for one in answer["decisions"]] == ["akiko"]


class TestRejecting:
    def test_the_web_is_searched_and_its_answer_waits_again_d7(
        self, run: Run, careful: Path, web: SearchServer
    ) -> None:
        web.finds(ON_THE_WEB)
        ran = run("reject", ask(run, careful), "--reason", "too few", "-w", careful)
        assert ran.code == 3 and "waits for a person" in ran.out and "veracity approve" in ran.out
        name = json.loads(run("approvals", "-w", careful, "--json").out)[0]["approval_id"]
        ran = run("approve", name, "-w", careful)
        assert ran.code == 0 and "26 days" in ran.out and "https://site1." in ran.out

    def test_a_draft_that_was_not_seen_is_not_decided_on_d6(self, run: Run, careful: Path, web: SearchServer) -> None:
        """Ana looks at the first draft, Bo rejects it, and Ana decides by what she typed to look."""
        web.finds(ON_THE_WEB)
        first = ask(run, careful)
        name = first.rpartition(".")[0]
        assert "25 days" in run("approve", name[:-2], "--show", "-w", careful).out
        assert run("reject", first, "--by", "bo", "-w", careful).code == 3
        for typed in (name, name[:-2], "last"):
            for verdict in ("approve", "reject"):
                ran = run(verdict, typed, "--by", "ana", "-w", careful)
                assert ran.code == 2 and f'name its whole id, "{name}.2"' in ran.err
                assert ran.out == "" and len(ran.err.splitlines()) == 1
        assert "26 days" in run("approve", name, "--show", "-w", careful).out
        assert run("approve", f"{name}.2", "--by", "ana", "-w", careful).code == 0

    def test_what_a_rejection_leads_to_is_told_as_it_is(self, run: Run, careful: Path, web: SearchServer) -> None:
        """D7: one search in a turn, and a question for the web has had it."""
        web.finds(ON_THE_WEB)
        ask(run, careful, "Search the web for the annual leave of full-time staff")
        shown = run("approve", "last", "--show", "-w", careful).out
        assert "the web was searched already" in shown and "web.provider" not in shown

    def test_who_stops_what_follows_is_told_that_it_counts_d6(
        self, run: Run, careful: Path, web: SearchServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        web.finds(ON_THE_WEB)
        name = ask(run, careful)
        with monkeypatch.context() as stopped:
            stopped.setattr(WebLookups, "look_up", stop)
            ran = run("reject", name, "-w", careful)
        assert ran.code != 0 and "The decision is recorded" in ran.err and "Traceback" not in ran.err
        assert "veracity recover" in run("approvals", "-w", careful).err
        assert "Took up the run" in run("recover", "-w", careful).err
        assert name[:-1] + "2" in run("approvals", "-w", careful).out
        assert run("recover", "-w", careful).out == "No run was interrupted.\n"

    def test_d8_what_scores_well_goes_out_at_once(self, run: Run, asked: Path, web: SearchServer) -> None:
        web.finds("The chess championship was won by Ada Lovelace.")
        ran = run("reject", ask(run, asked, "Who won the chess championship?"), "-w", asked)
        assert ran.code == 0 and "Ada Lovelace" in ran.out and "Score:" in ran.out

    def test_d9_without_a_provider_that_is_told(self, run: Run, careful: Path) -> None:
        ran = run("reject", ask(run, careful), "-w", careful)
        assert ran.code == 0
        assert "rejected this answer" in ran.out and "web search is not configured" in ran.out


class TestAtATerminal:
    @pytest.mark.parametrize(
        ("question", "told"), [(QUESTION, "25 days"), (ZH, "十五天"), (JA, "二十日")], ids=["en", "zh", "ja"]
    )
    def test_the_draft_is_shown_and_approved(self, talk: Talk, careful: Path, question: str, told: str) -> None:
        """What is typed with full-width letters counts as well."""
        ran = talk("ask", question, "-w", careful, typed=[(MENU, "x\r"), ("Type a, r, e or l", ""), (MENU, "Ａ\r")])
        assert ran.code == 0
        for shown in (told, "Groundedness", "It waits for a person: every answer is approved here.", "Approved:"):
            assert shown in ran.out
        with Veracity(careful) as engine:
            assert engine.runs()[0].status == "answered"

    def test_rejected_twice(self, talk: Talk, careful: Path, web: SearchServer) -> None:
        """D7: after the first rejection the web, after the second the end."""
        web.finds(ON_THE_WEB)
        typed = [(MENU, "r\r"), ("Why?", "数字不对。\r"), ("26 days", ""), (MENU, "reject\r"), ("Why?", "\r")]
        ran = talk("ask", QUESTION, "-w", careful, typed=typed)
        assert ran.code == 0
        told = " ".join(ran.out.split())
        assert "the web is searched, once" in told and "again" in told
        with Veracity(careful) as engine:
            receipt = engine.receipt("last")
        assert receipt.run.status == "rejected"
        assert [one.decision.reason for one in receipt.approvals if one.decision] == ["数字不对。", ""]

    def test_what_was_typed_before_the_draft_was_shown_decides_nothing(self, talk: Talk, careful: Path) -> None:
        ran = talk("ask", QUESTION, "-w", careful, typed=[("", "a\r"), (MENU, "l\r")])
        assert ran.code == 3 and "Approved:" not in ran.out

    @pytest.mark.parametrize("key", ["l\r", "\x03", "\x04"], ids=["later", "ctrl-c", "ctrl-d"])
    def test_later_leaves_it_waiting(self, talk: Talk, run: Run, careful: Path, key: str) -> None:
        ran = talk("ask", QUESTION, "-w", careful, typed=[(MENU, key)])
        assert ran.code == 3 and "veracity approve" in ran.out
        assert len(json.loads(run("approvals", "-w", careful, "--json").out)) == 1

    def test_who_thinks_better_of_a_rejection_is_asked_again(self, talk: Talk, careful: Path) -> None:
        ran = talk("ask", QUESTION, "-w", careful, typed=[(MENU, "r\r"), ("Why?", "\x03"), (MENU, "l\r")])
        assert ran.code == 3

    def test_an_edit(self, talk: Talk, careful: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code = (
            "mode = oct(path.parent.stat().st_mode)[-3:]\n"
            "path.write_text(path.read_text('utf-8').replace('十五天', '15 天') + mode, 'utf-8')"
        )
        editor(tmp_path, monkeypatch, code)
        assert talk("ask", ZH, "-w", careful, typed=[(MENU, "e\r")]).code == 0
        with Veracity(careful) as engine:
            answer = engine.receipt("last").answer
        assert answer is not None and answer.form == "edited"
        assert "15 天" in answer.text and answer.text.endswith("700"), "nobody else may look at the file"

    @pytest.mark.parametrize(
        ("code", "told"),
        [
            ("pass", "Nothing was changed."),
            ("path.write_text('')", "Nothing was changed."),
            ("path.write_bytes(b'\\xff')", "The editor did not do it (what it left is not UTF-8 text)"),
            ("sys.exit(3)", "The editor did not do it (it ended with the code 3)"),
            ("path.unlink()", "The editor did not do it (No such file or directory)"),
            ("path.write_text('x' * 20_001)", "at most 20,000 are taken"),
            (None, "No editor is set"),
        ],
    )
    def test_an_edit_that_comes_to_nothing(
        self, talk: Talk, careful: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str | None, told: str
    ) -> None:
        editor(tmp_path, monkeypatch, code or "")
        if code is None:
            monkeypatch.delenv("EDITOR")
        ran = talk("ask", QUESTION, "-w", careful, typed=[(MENU, "e\r"), (told, ""), (MENU, "l\r")])
        assert ran.code == 3

    def test_an_abstention_offers_the_web_x2(self, talk: Talk, asked: Path, web: SearchServer) -> None:
        web.finds("The chess championship was won by Ada Lovelace.")
        typed = [("the documents do not say, and the web could be searched", ""), (MENU, "r\r"), ("Why?", "\r")]
        ran = talk("ask", "Who won the chess championship?", "-w", asked, typed=typed)
        assert ran.code == 0 and "Ada Lovelace" in ran.out


DYING = "Searcher.find = lambda *_: os._exit(9)"
SLOW = "Searcher.find = lambda *_: time.sleep(120)"


def command(code: str, *arguments: object) -> list[str]:
    """A process of its own, at the terminal if it has one, in which this is done first."""
    seated = "if os.isatty(0): fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    imports = "import fcntl, os, sys, termios, time\nfrom veracity.retrieval.searching import Searcher"
    told = f"sys.argv[0] = 'veracity'\nfrom veracity.cli import main\n{code}\nmain()"
    return [sys.executable, "-c", f"{imports}\n{seated}\n{told}", *map(str, arguments)]


def test_ctrl_c_stops_what_is_taken_up_without_a_traceback(careful: Path) -> None:
    """It can be taken up again by the next command."""
    dead = subprocess.run(command(DYING, "ask", QUESTION, "-w", careful), stdin=subprocess.DEVNULL, check=False)
    assert dead.returncode == 9
    terminal = Terminal()
    process = subprocess.Popen(
        command(SLOW, "recover", "-w", careful),
        stdin=terminal.theirs,
        stdout=terminal.theirs,
        stderr=terminal.theirs,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    try:
        terminal.expect("Taking up")
        with Veracity(careful) as engine:  # it is at it when nobody else may be
            wait_until(lambda: not engine._ledger.interrupted())
        terminal.type("\x03")
        terminal.expect("Stopping …")
        terminal.type("\x03")
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()
        terminal.close()
    assert "Traceback" not in terminal.shown and "exception" not in terminal.shown
    with Veracity(careful) as engine:
        assert [answer.status for answer in engine.recover()] == ["awaiting_approval"]


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_a_draft_says_cannot_move_the_terminal(run: Run, careful: Path) -> None:
    name = ask(run, careful)
    run("approve", name, "--edit", "-", "-w", careful, stdin=b"It is \x1b[2J gone.")
    ran = run("show", "last", "-w", careful)
    assert "gone" in ran.out and "\x1b" not in ran.out
