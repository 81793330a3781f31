"""`chat`, `conversations` and `forget --conversation`, at a terminal and without one (SPEC D2, D3, X3, X5)."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminals import Talk, Terminal
from tests.commands import Run
from tests.ledger.material import USED, begin, waits
from tests.runs.scripts import QUESTION
from veracity.cli.commands.approvals import waiting_of
from veracity.engine import Veracity
from veracity.errors import InputError
from veracity.ledger import Ledger

ZH, JA = "正式员工每年有多少天带薪年假？", "正社員の有給休暇は年に何日ありますか。"
PROMPT = "\n>"


def questions(root: Path) -> list[str]:
    """Those of the latest conversation."""
    with Veracity(root) as engine:
        latest = engine.conversations()[0]
        return [turn.question for turn in engine.turns(latest.conversation)]


class TestWithoutATerminal:
    def test_one_question_a_line(self, run: Run, asked: Path) -> None:
        ran = run("chat", "-w", asked, stdin=f"{QUESTION}\n\n{ZH}\n{JA}".encode())
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.index("25 days") < ran.out.index("十五天") < ran.out.index("二十日")
        assert ran.out.startswith(f"> {QUESTION}\nFull-time staff"), "no greeting"
        assert f"\n> {ZH}\n" in ran.out and f"\n> {JA}\n" in ran.out
        assert questions(asked) == [QUESTION, ZH, JA]

    def test_a_follow_up_is_told_as_it_was_understood_d3(self, run: Run, asked: Path) -> None:
        ran = run("chat", "-w", asked, stdin=f"{QUESTION}\nAnd for part-time staff?\n".encode())
        assert ran.err == "Understood as: How many days of annual leave do part-time staff have?\n"

    def test_it_goes_on_with_the_latest_or_with_one_by_name(self, run: Run, asked: Path) -> None:
        for arguments in (("-c", "first"), ("-c", "second"), ("--continue",), ("-c", "first"), ()):
            assert run("chat", "-w", asked, *arguments, stdin=f"{QUESTION}\n".encode()).code == 0
        listed = json.loads(run("conversations", "-w", asked, "--json").out)
        assert [(one["conversation"], one["turns"]) for one in listed[1:]] == [("first", 2), ("second", 2)]
        assert listed[0]["turns"] == 1 and listed[0]["conversation"].startswith("20")

    def test_an_answer_that_waits_at_the_end(self, run: Run, careful: Path) -> None:
        ran = run("chat", "-w", careful, stdin=f"{QUESTION}\n".encode())
        assert ran.code == 3 and "veracity approve 20" in ran.out and "25 days" not in ran.out
        assert ran.out.count(f" -w {careful}") == 2

    def test_how_an_answer_came_about_is_not_told_while_it_waits(self, run: Run, careful: Path) -> None:
        """Nor is the draft of another user offered, whatever it is called."""
        run("ask", JA, "-w", careful, "--user", "ben")
        theirs = json.loads(run("approvals", "-w", careful, "--json").out)[0]["approval_id"]
        said = f"/decide last\n/decide {theirs}\n{QUESTION}\n/why\n/Decide\n/DECIDE last\n/decide {theirs}\n/history\n"
        ran = run("chat", "-w", careful, stdin=said.encode())
        mine = json.loads(run("approvals", "-w", careful, "--user", "local", "--json").out)[0]["approval_id"]
        approve = f"veracity approve {mine} -w {careful}"
        told = [
            "Nothing waits for a person.",
            "Nothing waits for a person.",
            f"To look at the draft: veracity approve {mine} --show -w {careful}",
            f"Nobody sits here to decide. Where somebody does: {approve}",
            f"Nobody sits here to decide. Where somebody does: {approve}",
            f'Nothing of yours waits as "{theirs}": see /approvals.',
        ]
        for line, expected in zip(ran.err.splitlines(), told, strict=True):
            assert line.endswith(expected)
        assert "25 days" not in ran.out and "二十日" not in ran.out
        assert "   (waits for a person)\n" in ran.out

    def test_the_newest_of_many_is_decided_on(self, asked: Path) -> None:
        ledger = Ledger(asked / "ledger")
        for number in range(102):
            waits(ledger, f"r{number:03}", user="ben" if number == 101 else "ana")
        ledger.close()
        with Veracity(asked) as engine:
            named = {"": "r100.1", "last": "r100.1", "r007": "r007.1", "r007.1": "r007.1", "r10": "r100.1"}
            assert {name: waiting_of(engine, "ana", name).approval_id for name in named} == named
            for name, told in {"r00": "10 answers wait", "r101": "Nothing of yours", "x": "Nothing of yours"}.items():
                with pytest.raises(InputError, match=told):
                    waiting_of(engine, "ana", name)
            with pytest.raises(InputError, match="Nothing waits"):
                waiting_of(engine, "eve", "r101.1")

    @pytest.mark.parametrize(("said", "code"), [(f"{ZH}\n/zzz\nexit", 0), (f"???\n{ZH}", 1), (b"\xff", 1), ("", 0)])
    def test_the_code_tells_whether_all_was_answered(self, run: Run, asked: Path, said: str | bytes, code: int) -> None:
        ran = run("chat", "-w", asked, stdin=said if isinstance(said, bytes) else said.encode())
        assert ran.code == code, ran.err

    def test_what_waits_counts_for_more_than_what_failed(self, run: Run, careful: Path) -> None:
        assert run("chat", "-w", careful, stdin=f"???\n{ZH}\n".encode()).code == 3

    def test_turns_without_an_answer_say_why(self, run: Run, asked: Path) -> None:
        ledger = Ledger(asked / "ledger")
        for run_id, problem in (("r1", "stopped (KeyboardInterrupt)"), ("r2", "模型没有回答。")):
            token = begin(ledger, run_id, user="local", conversation="c")
            ledger.finish(run_id, "failed", token=token, answer=None, usage=USED, seconds=1.0, problem=problem)
        ledger.close()
        out = run("chat", "-w", asked, "-c", "c", stdin=f"{ZH}\n/history\n".encode()).out
        assert "   (stopped)\n" in out and "   (failed: 模型没有回答。)\n" in out and "   正式员工每年享有十五天" in out

    def test_what_goes_wrong_is_told_and_ends_nothing(self, run: Run, asked: Path) -> None:
        said = f"???\n\udcff\n/Sorces\n/why\n/zzz\nExit\n/new foo\n{ZH}\n".encode(errors="surrogateescape")
        ran = run("chat", "-w", asked, stdin=said)
        assert ran.code == 1 and "十五天" in ran.out
        told = ["holds no word", "not UTF-8", "did you mean /sources?", "Nothing was answered"]
        told += ["/help lists", "type /quit", "/new takes no argument."]
        for line, expected in zip(ran.err.splitlines(), told, strict=True):
            assert line.startswith("veracity: ") and expected in line

    def test_commands(self, run: Run, asked: Path) -> None:
        said = f"/history\n{JA}\n/sources\n／history\n/why\n/approvals\n/help\n/new\n/history\n/quit\n{QUESTION}\n"
        ran = run("chat", "-w", asked, stdin=said.encode())
        assert ran.code == 0, ran.err
        assert ran.out.count("Nothing was asked in this conversation yet.") == 2
        assert "休暇は二週間前までに申請します。" in ran.out, "/sources shows the passage, not the quote alone"
        for told in (f"1. {JA}", "Route: knowledge", "Search 1:", "Review: passed", "Nothing waits", "/decide"):
            assert told in ran.out
        assert "A new conversation: 20" in ran.out
        assert "25 days" not in ran.out, "nothing is asked after /quit"

    def test_what_begins_with_a_slash_and_is_no_command_is_a_question(self, run: Run, asked: Path) -> None:
        run("chat", "-w", asked, stdin="/etc/hosts 是什么？\n".encode())
        assert questions(asked) == ["/etc/hosts 是什么？"]

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--continue", "-c", "x"), "give one of them"),
            (("-c", "x" * 501), "1 to 500"),
            (("-c", "a\nb"), "line break"),
        ],
    )
    def test_names_that_cannot_be(self, run: Run, asked: Path, arguments: tuple[str, ...], told: str) -> None:
        ran = run("chat", "-w", asked, *arguments, stdin=b"x\n")
        assert ran.code == 2 and told in ran.err

    def test_no_documents_yet(self, run: Run, workspace: Path) -> None:
        ran = run("chat", "-w", workspace)
        assert ran.code == 2 and "veracity ingest PATH" in ran.err


class TestAtATerminal:
    def test_three_languages_in_one_conversation_x5(self, talk: Talk, asked: Path) -> None:
        typed = [(PROMPT, f"{QUESTION}\r"), ("25 days", ""), (PROMPT, f"{ZH}\r"), ("十五天", "")]
        typed += [(PROMPT, f"{JA}\r"), ("二十日", ""), (PROMPT, "\x04")]
        ran = talk("chat", "-w", asked, typed=typed)
        assert ran.code == 0
        assert "workspace: 12 documents. Conversation 20" in ran.out and "/help" in ran.out
        assert questions(asked) == [QUESTION, ZH, JA]
        kept = asked / "ledger" / "chat_history"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert f"+{ZH}" in kept.read_text("utf-8")

    def test_messages_of_several_lines(self, talk: Talk, asked: Path) -> None:
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
        assert talk("chat", "-w", asked, typed=typed).code == 0
        assert questions(asked) == [
            "How many days of leave\ndo full-time staff have?",
            "正式员工有多少天\n带薪年假？",
            "正社員の有給休暇は\n年に何日ありますか。",
        ]

    def test_ctrl_c_clears_the_line_and_leaves_when_pressed_again(self, talk: Talk, asked: Path) -> None:
        typed = [
            (PROMPT, "not asked\x03"),
            ("Ctrl-C again leaves", f"{ZH}\r"),
            ("十五天", ""),
            (PROMPT, "\x03"),
            ("Ctrl-C again leaves", "\x03"),
        ]
        assert talk("chat", "-w", asked, typed=typed).code == 0
        assert questions(asked) == [ZH]

    def test_what_waits_is_offered_right_there_or_later_d6(self, talk: Talk, careful: Path) -> None:
        typed = [
            (PROMPT, f"{ZH}\r"),
            ("[a/r/e/l]", "l\r"),
            ("/decide 20", ""),
            (PROMPT, "/sources\r"),
            ("waits for a person", ""),
            (PROMPT, "/decide\r"),
            ("[a/r/e/l]", "a\r"),
            ("Approved:", ""),
            (PROMPT, "/sources\r"),
            ("未休年假可以顺延", ""),
            (PROMPT, "/quit\r"),
        ]
        assert talk("chat", "-w", careful, typed=typed).code == 0
        typed = [(PROMPT, f"{JA}\r"), ("[a/r/e/l]", "l\r"), (PROMPT, "/quit\r")]
        assert talk("chat", "-w", careful, "--continue", typed=typed).code == 3

    def test_decide_takes_what_this_user_asked(self, run: Run, talk: Talk, careful: Path) -> None:
        for user, question in (("ana", ZH), ("ben", JA)):
            run("ask", question, "-w", careful, "--user", user)
        typed = [(PROMPT, "/decide\r"), (f"Draft for: {ZH}", ""), ("[a/r/e/l]", "a\r"), ("Approved:", "")]
        typed += [(PROMPT, "/decide\r"), ("Nothing waits for a person.", ""), (PROMPT, "/quit\r")]
        assert talk("chat", "-w", careful, "--user", "ana", typed=typed).code == 0

    def test_what_was_typed_before_is_at_hand(self, talk: Talk, asked: Path) -> None:
        talk("chat", "-w", asked, typed=[(PROMPT, f"{ZH}\r"), ("十五天", ""), (PROMPT, "/quit\r")])
        typed = [(PROMPT, "\x1b[A\x1b[A\r"), ("十五天", ""), (PROMPT, "/quit\r")]
        talk("chat", "-w", asked, "--continue", typed=typed)
        assert questions(asked) == [ZH, ZH]

    def test_ctrl_c_stops_an_answer_and_keeps_the_chat(self, asked: Path) -> None:
        """As a process of its own, whose terminal sends the signal."""
        code = (
            "import fcntl, sys, termios, time\n"
            "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
            "from veracity.retrieval.searching import Searcher\n"
            "find, slow = Searcher.find, iter([30])\n"
            "Searcher.find = lambda *given: (time.sleep(next(slow, 0)), find(*given))[1]\n"
            "sys.argv = ['veracity', 'chat', '-w', sys.argv[1]]\n"
            "from veracity.cli import main; main()"
        )
        terminal = Terminal()
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(asked)],
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
                ("Stopping …", "\x03"),
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
        with Veracity(asked) as engine:
            assert [one.status for one in engine.runs()] == ["answered", "failed"]


class TestConversations:
    def test_none_yet(self, run: Run, asked: Path) -> None:
        assert "There are no conversations yet" in run("conversations", "-w", asked).out

    def test_they_are_a_users_own(self, run: Run, asked: Path) -> None:
        run("ask", ZH, "-w", asked, "-c", "休假", "--user", "ana")
        ran = run("conversations", "-w", asked, "--user", "ana")
        assert "休假" in ran.out and ZH in ran.out
        assert json.loads(run("conversations", "-w", asked, "--json").out) == []

    def test_they_are_found_by_what_was_said_and_as_many_as_one_likes(self, run: Run, asked: Path) -> None:
        for name, question in (("休假", ZH), ("leave", QUESTION)):
            run("ask", question, "-w", asked, "-c", name)
        found = run("conversations", "--search", "annual LEAVE", "-w", asked)
        assert "leave" in found.out and "休假" not in found.out
        assert "休假" in run("conversations", "-s", ZH[:4], "-w", asked).out
        assert "all these words" in run("conversations", "-s", "parking zebra", "-w", asked).out
        latest = run("conversations", "-n", "1", "-w", asked).out
        assert "leave" in latest and "休假" not in latest and "The latest 1 are shown" in latest


class TestForgetting:
    def test_a_conversation_goes_with_what_was_typed_x3(self, run: Run, talk: Talk, asked: Path) -> None:
        typed = [(PROMPT, f"{ZH}\r"), ("十五天", ""), (PROMPT, "/new\r"), (PROMPT, f"{JA}\r"), ("二十日", "")]
        talk("chat", "-w", asked, "-c", "休假", typed=[*typed, (PROMPT, "/quit\r")])
        ran = run("forget", "--conversation", "休假", "-w", asked)
        assert ran.code == 0 and ran.out == "Forgot the conversation 休假: 1 turn removed.\n"
        for path in (asked / "ledger").iterdir():
            assert path.is_dir() or ZH.encode() not in path.read_bytes(), path
        assert f"+{JA}" in (asked / "ledger" / "chat_history").read_text("utf-8")
        assert stat.S_IMODE((asked / "ledger" / "chat_history").stat().st_mode) == 0o600
        assert run("forget", "-c", "休假", "-w", asked).code == 2

    @pytest.mark.parametrize("arguments", [(), ("leave", "--conversation", "x")])
    def test_one_thing_is_named(self, run: Run, asked: Path, arguments: tuple[str, ...]) -> None:
        ran = run("forget", *arguments, "-w", asked)
        assert ran.code == 2 and "--conversation NAME" in ran.err

    def test_a_document_is_forgotten_as_ever(self, run: Run, asked: Path) -> None:
        ran = run("forget", "leave", "-w", asked)
        assert ran.code == 0 and ran.out == "forgot leave\n"


def test_the_chat_is_loaded_by_those_who_chat() -> None:
    """DESIGN 7."""
    code = "import sys, veracity.cli.app, veracity.cli.asking; print('prompt_toolkit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
