"""`chat`, `conversations` and `forget --conversation`, at a terminal and without one (SPEC D2, D3, X3, X5)."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Talk, Terminal
from tests.commands import Run
from tests.ledger.material import begin, fail, suspend_run
from tests.runs.scripts import QUESTION
from veracity.cli.commands.approvals import find_pending
from veracity.engine import Veracity
from veracity.errors import InputError
from veracity.ledger import Ledger

ZH, JA = "正式员工每年有多少天带薪年假？", "正社員の有給休暇は年に何日ありますか。"
PROMPT = "\n>"


def questions(root: Path) -> list[str]:
    """The questions of the latest conversation."""
    with Veracity(root) as engine:
        latest = engine.conversations()[0]
        return [turn.question for turn in engine.turns(latest.conversation)]


class TestWithoutATerminal:
    def test_only_limits_every_question(self, run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VERACITY_APPROVAL__POLICY", "never")
        lines = f"How much may hotels cost a night?\n{QUESTION}\nWhat did you tell me about annual leave?"
        ran = run("chat", "-w", filled, "--only", "travel", stdin=lines.encode())
        assert "150 euros" in ran.out and "25 days" not in ran.out
        ran = run("chat", "-w", filled, "--only", "nowhere", stdin=lines.encode())
        assert (ran.code, ran.out) == (2, "") and ran.err.startswith('veracity: No document matches "nowhere"')

    def test_one_question_per_line(self, run: Run, filled: Path) -> None:
        ran = run("chat", "-w", filled, stdin=f"{QUESTION}\n\n{ZH}\n{JA}".encode())
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.index("25 days") < ran.out.index("十五天") < ran.out.index("二十日")
        assert ran.out.startswith(f"> {QUESTION}\nFull-time staff"), "no greeting"
        assert f"\n> {ZH}\n" in ran.out and f"\n> {JA}\n" in ran.out
        assert questions(filled) == [QUESTION, ZH, JA]

    def test_standalone_question_is_shown_d3(self, run: Run, filled: Path) -> None:
        said = f"{QUESTION}\nAnd for part-time staff?\n{ZH}\n那超过一年呢？\n{JA}\nでは1年を超える場合は？\n"
        ran = run("chat", "-w", filled, stdin=said.encode())
        assert ran.err.splitlines() == [
            "Understood as: How many days of annual leave do part-time staff have?",
            f"Understood as: 如果超过一年，{ZH}",
            f"Understood as: 1年を超える場合、{JA}",
        ]

    def test_continues_the_latest_or_a_named_conversation(self, run: Run, filled: Path) -> None:
        for arguments in (("-c", "first"), ("-c", "second"), ("--continue",), ("-c", "first"), ()):
            assert run("chat", "-w", filled, *arguments, stdin=f"{QUESTION}\n".encode()).code == 0
        listed = json.loads(run("conversations", "-w", filled, "--json").out)
        assert [(item["conversation"], item["turns"]) for item in listed[1:]] == [("first", 2), ("second", 2)]
        assert listed[0]["turns"] == 1 and listed[0]["conversation"].startswith("20")

    def test_pending_answer_exits_with_3(self, run: Run, strict: Path) -> None:
        ran = run("chat", "-w", strict, stdin=f"{QUESTION}\n".encode())
        assert ran.code == 3 and "veracity approve 20" in ran.out and "25 days" not in ran.out
        assert ran.out.count(f" -w {strict}") == 3

    def test_pending_drafts_and_other_users_drafts_are_hidden(self, run: Run, strict: Path) -> None:
        """By /why, /decide and /history."""
        run("ask", JA, "-w", strict, "--user", "ben")
        theirs = json.loads(run("approvals", "-w", strict, "--json").out)[0]["approval_id"]
        said = f"/decide last\n/decide {theirs}\n{QUESTION}\n/why\n/Decide\n/DECIDE last\n/decide {theirs}\n/history\n"
        ran = run("chat", "-w", strict, stdin=said.encode())
        mine = json.loads(run("approvals", "-w", strict, "--user", "local", "--json").out)[0]["approval_id"]
        approve = f"veracity approve {mine} -w {strict}"
        messages = [
            "No approvals are pending.",
            "No approvals are pending.",
            f"To see the draft: veracity approve {mine} --show -w {strict}",
            f"/decide needs a terminal. Instead: {approve}",
            f"/decide needs a terminal. Instead: {approve}",
            f'You have no pending approval "{theirs}": see /approvals.',
        ]
        for line, expected in zip(ran.err.splitlines(), messages, strict=True):
            assert line.endswith(expected)
        assert "25 days" not in ran.out and "二十日" not in ran.out
        assert "   (awaiting approval)\n" in ran.out

    def test_pending_approval_is_found_by_id_prefix_or_last(self, filled: Path) -> None:
        ledger = Ledger(filled / "ledger")
        for number in range(102):
            suspend_run(ledger, f"r{number:03}", user="ben" if number == 101 else "ana")
        ledger.close()
        with Veracity(filled) as engine:
            named = {"": "r100.1", "last": "r100.1", "r007": "r007.1", "r007.1": "r007.1", "r10": "r100.1"}
            assert {name: find_pending(engine, "ana", name).approval_id for name in named} == named
            for name, expected in {"r00": "10 pending", "r101": "no pending", "x": "no pending"}.items():
                with pytest.raises(InputError, match=expected):
                    find_pending(engine, "ana", name)
            with pytest.raises(InputError, match="No approvals"):
                find_pending(engine, "eve", "r101.1")

    @pytest.mark.parametrize(("said", "code"), [(f"{ZH}\n/zzz\nexit", 0), (f"???\n{ZH}", 1), (b"\xff", 1), ("", 0)])
    def test_exit_code_reports_failed_questions(self, run: Run, filled: Path, said: str | bytes, code: int) -> None:
        ran = run("chat", "-w", filled, stdin=said if isinstance(said, bytes) else said.encode())
        assert ran.code == code, ran.err

    def test_pending_takes_precedence_over_failed(self, run: Run, strict: Path) -> None:
        assert run("chat", "-w", strict, stdin=f"???\n{ZH}\n".encode()).code == 3

    def test_history_explains_missing_answers(self, run: Run, filled: Path) -> None:
        ledger = Ledger(filled / "ledger")
        for run_id, problem in (("r1", "stopped (KeyboardInterrupt)"), ("r2", "模型没有回答。")):
            token = begin(ledger, run_id, user="local", conversation="c")
            fail(ledger, run_id, problem, token)
        ledger.close()
        out = run("chat", "-w", filled, "-c", "c", stdin=f"{ZH}\n/history\n".encode()).out
        assert "   (stopped)\n" in out and "   (failed: 模型没有回答。)\n" in out and "   正式员工每年享有十五天" in out

    def test_errors_are_printed_and_the_chat_continues(self, run: Run, filled: Path) -> None:
        said = f"???\n\udcff\n/Sorces\n/why\n/zzz\nExit\n/new foo\n{ZH}\n".encode(errors="surrogateescape")
        ran = run("chat", "-w", filled, stdin=said)
        assert ran.code == 1 and "十五天" in ran.out
        messages = ["contains no word", "not UTF-8", "did you mean /sources?", "No answer in this conversation"]
        messages += ["/help lists", "type /quit", "/new takes no argument."]
        for line, expected in zip(ran.err.splitlines(), messages, strict=True):
            assert line.startswith("veracity: ") and expected in line

    def test_commands(self, run: Run, filled: Path) -> None:
        said = f"/history\n{JA}\n/sources\n／history\n/why\n/approvals\n/help\n/new\n/history\n/quit\n{QUESTION}\n"
        ran = run("chat", "-w", filled, stdin=said.encode())
        assert ran.code == 0, ran.err
        assert ran.out.count("No questions in this conversation yet.") == 2
        assert "休暇は二週間前までに申請します。" in ran.out, "/sources shows the passage, not the quote alone"
        for expected in (f"1. {JA}", "経路：knowledge", "検索 1：", "レビュー：合格", "No approvals", "/decide"):
            assert expected in ran.out
        assert "New conversation: 20" in ran.out
        assert "25 days" not in ran.out, "nothing is asked after /quit"

    def test_path_is_a_question_not_a_command(self, run: Run, filled: Path) -> None:
        run("chat", "-w", filled, stdin="/etc/hosts 是什么？\n".encode())
        assert questions(filled) == ["/etc/hosts 是什么？"]

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (("--continue", "-c", "x"), "give one of them"),
            (("-c", "x" * 501), "1 to 500"),
            (("-c", "a\nb"), "line break"),
        ],
    )
    def test_invalid_conversation_names(
        self, run: Run, filled: Path, arguments: tuple[str, ...], expected: str
    ) -> None:
        ran = run("chat", "-w", filled, *arguments, stdin=b"x\n")
        assert ran.code == 2 and expected in ran.err

    def test_workspace_without_documents(self, run: Run, workspace: Path) -> None:
        ran = run("chat", "-w", workspace)
        assert ran.code == 2 and "veracity ingest PATH" in ran.err


class TestAtATerminal:
    def test_three_languages_in_one_conversation_x5(self, talk: Talk, filled: Path) -> None:
        typed = [(PROMPT, f"{QUESTION}\r"), ("25 days", ""), (PROMPT, f"{ZH}\r"), ("十五天", "")]
        typed += [(PROMPT, f"{JA}\r"), ("二十日", ""), (PROMPT, "\x04")]
        ran = talk("chat", "-w", filled, typed=typed)
        assert ran.code == 0
        assert "workspace: 12 documents. Conversation 20" in ran.out and "/help" in ran.out
        assert questions(filled) == [QUESTION, ZH, JA]
        kept = filled / "ledger" / "chat_history"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert f"+{ZH}" in kept.read_text("utf-8")

    def test_multi_line_messages(self, talk: Talk, filled: Path) -> None:
        """A backslash, Alt-Enter, and pasting; wide characters are deleted one by one."""
        typed = [
            (PROMPT, "How many days of leave\\\r"),
            ("leave", "do full-time staff have?\r"),
            ("25 days", ""),
            (PROMPT, "正式员工有多少天\x1b\r带薪年假错误\x7f\x7f？\r"),
            ("十五天", ""),
            (PROMPT, "\x1b[200~正社員の有給休暇は\r年に何日ありますか。\x1b[201~\r"),
            ("二十日", ""),
            (PROMPT, "/quit\r"),
        ]
        assert talk("chat", "-w", filled, typed=typed).code == 0
        assert questions(filled) == [
            "How many days of leave\ndo full-time staff have?",
            "正式员工有多少天\n带薪年假？",
            "正社員の有給休暇は\n年に何日ありますか。",
        ]

    def test_ctrl_c_clears_the_line_and_leaves_when_pressed_again(self, talk: Talk, filled: Path) -> None:
        typed = [
            (PROMPT, "not asked\x03"),
            ("Ctrl-C again leaves", f"{ZH}\r"),
            ("十五天", ""),
            (PROMPT, "\x03"),
            ("Ctrl-C again leaves", "\x03"),
        ]
        assert talk("chat", "-w", filled, typed=typed).code == 0
        assert questions(filled) == [ZH]

    def test_pending_answer_is_decided_now_or_later_d6(self, talk: Talk, strict: Path) -> None:
        typed = [
            (PROMPT, f"{ZH}\r"),
            ("[a/r/s/e/l]", "l\r"),
            ("/decide 20", ""),
            (PROMPT, "/sources\r"),
            ("awaits approval: /decide", ""),
            (PROMPT, "/decide\r"),
            ("[a/r/s/e/l]", "a\r"),
            ("已批准", ""),
            (PROMPT, "/sources\r"),
            ("未休年假可以顺延", ""),
            (PROMPT, "/quit\r"),
        ]
        assert talk("chat", "-w", strict, typed=typed).code == 0
        typed = [(PROMPT, f"{JA}\r"), ("[a/r/s/e/l]", "l\r"), (PROMPT, "/quit\r")]
        assert talk("chat", "-w", strict, "--continue", typed=typed).code == 3

    def test_decide_covers_only_own_questions(self, run: Run, talk: Talk, strict: Path) -> None:
        for user, question in (("ana", ZH), ("ben", JA)):
            run("ask", question, "-w", strict, "--user", user)
        typed = [(PROMPT, "/decide\r"), (f"草稿：{ZH}", ""), ("[a/r/s/e/l]", "a\r"), ("已批准", "")]
        typed += [(PROMPT, "/decide\r"), ("No approvals are pending.", ""), (PROMPT, "/quit\r")]
        assert talk("chat", "-w", strict, "--user", "ana", typed=typed).code == 0

    def test_input_history_is_kept(self, talk: Talk, filled: Path) -> None:
        talk("chat", "-w", filled, typed=[(PROMPT, f"{ZH}\r"), ("十五天", ""), (PROMPT, "/quit\r")])
        typed = [(PROMPT, "\x1b[A\x1b[A\r"), ("十五天", ""), (PROMPT, "/quit\r")]
        talk("chat", "-w", filled, "--continue", typed=typed)
        assert questions(filled) == [ZH, ZH]

    def test_ctrl_c_stops_the_answer_but_not_the_chat(self, filled: Path) -> None:
        """In a separate process, whose terminal sends the signal."""
        code = (
            "import fcntl, sys, termios, time\n"
            "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
            "from veracity.retrieval.search import Searcher\n"
            "find, slow = Searcher.find, iter([30])\n"
            "Searcher.find = lambda *given: (time.sleep(next(slow, 0)), find(*given))[1]\n"
            "sys.argv = ['veracity', 'chat', '-w', sys.argv[1]]\n"
            "from veracity.cli import main; main()"
        )
        terminal = Terminal()
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(filled)],
            stdin=terminal.theirs,
            stdout=terminal.theirs,
            stderr=terminal.theirs,
            env=environment,
            start_new_session=True,
        )
        try:
            for awaited, typed in [
                (PROMPT, f"{QUESTION}\r"),
                ("Searching the documents", "\x03"),
                ("Stopped.", ""),
                (PROMPT, f"{ZH}\r"),
                ("十五天", ""),
                (PROMPT, "\x04"),
            ]:
                terminal.expect(awaited)
                terminal.type(typed)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
            terminal.close()
        assert "Traceback" not in terminal.shown
        with Veracity(filled) as engine:
            assert [item.status for item in engine.runs()] == ["answered", "failed"]


class TestConversations:
    def test_no_conversations(self, run: Run, filled: Path) -> None:
        assert "No conversations yet" in run("conversations", "-w", filled).out

    def test_conversations_belong_to_a_user(self, run: Run, filled: Path) -> None:
        run("ask", ZH, "-w", filled, "-c", "休假", "--user", "ana")
        ran = run("conversations", "-w", filled, "--user", "ana")
        assert "休假" in ran.out and ZH in ran.out
        assert json.loads(run("conversations", "-w", filled, "--json").out) == []

    def test_conversations_are_searched_and_limited(self, run: Run, filled: Path) -> None:
        for name, question in (("休假", ZH), ("leave", QUESTION)):
            run("ask", question, "-w", filled, "-c", name)
        found = run("conversations", "--search", "annual LEAVE", "-w", filled)
        assert "leave" in found.out and "休假" not in found.out
        assert "休假" in run("conversations", "-s", ZH[:4], "-w", filled).out
        assert "all these words" in run("conversations", "-s", "parking zebra", "-w", filled).out
        exported = run("conversations", "--export", "leave", "-w", filled).out
        assert exported.startswith(f"# {QUESTION}\n") and "25 days" in exported
        [turn] = json.loads(run("conversations", "--export", "leave", "--json", "-w", filled).out)["turns"]
        assert turn["question"] == QUESTION
        assert "There is no conversation" in run("conversations", "--export", "unknown", "-w", filled).err
        latest = run("conversations", "-n", "1", "-w", filled).out
        assert "leave" in latest and "休假" not in latest and "Showing the latest 1;" in latest


class TestForget:
    def test_forgotten_conversation_leaves_the_input_history_x3(self, run: Run, talk: Talk, filled: Path) -> None:
        typed = [(PROMPT, f"{ZH}\r"), ("十五天", ""), (PROMPT, "/new\r"), (PROMPT, f"{JA}\r"), ("二十日", "")]
        talk("chat", "-w", filled, "-c", "休假", typed=[*typed, (PROMPT, "/quit\r")])
        ran = run("forget", "--conversation", "休假", "-w", filled)
        assert ran.code == 0 and ran.out == "Forgot the conversation 休假: 1 turn removed.\n"
        for path in (filled / "ledger").iterdir():
            assert path.is_dir() or ZH.encode() not in path.read_bytes(), path
        assert f"+{JA}" in (filled / "ledger" / "chat_history").read_text("utf-8")
        assert stat.S_IMODE((filled / "ledger" / "chat_history").stat().st_mode) == 0o600
        assert run("forget", "-c", "休假", "-w", filled).code == 2

    @pytest.mark.parametrize("arguments", [(), ("leave", "--conversation", "x")])
    def test_forget_needs_exactly_one_target(self, run: Run, filled: Path, arguments: tuple[str, ...]) -> None:
        ran = run("forget", *arguments, "-w", filled)
        assert ran.code == 2 and "--conversation NAME" in ran.err

    def test_document_is_forgotten(self, run: Run, filled: Path) -> None:
        ran = run("forget", "leave", "-w", filled)
        assert ran.code == 0 and ran.out == "forgot leave\n"


def test_prompt_toolkit_is_loaded_only_at_a_terminal() -> None:
    """DESIGN 7."""
    modules = "veracity.cli.app, veracity.cli.commands.ask, veracity.cli.commands.chat"
    code = f"import sys, {modules}; print('prompt_toolkit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
