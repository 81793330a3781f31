"""How a program ends that has asked a model: at once and without noise (DESIGN 3)."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from tests.loopback import LoopbackServer, SilentServer, drips, hangs

STRICT = ("-X", "dev", "-W", "error")
PROGRAM = """
import logging
logging.getLogger("asyncio").setLevel(logging.ERROR)  # -X dev tells there of every slow step
from pydantic import BaseModel
from veracity.llm import LLM, Question
class Verdict(BaseModel):
    reason: str
    score: float
llm = LLM()
print(llm.ask(Question("openai-chat:m", "judge", "Judge.", "{}", Verdict)).value.score, flush=True)
"""
# Leaves a call that does not end, and has nothing else to do.
TOO_LATE = """
import time
from veracity.deadlines import Deadline
from veracity.errors import ModelTimeoutError
from veracity.llm import LLM, Message, Writing
llm = LLM()
llm.require("openai-chat:m", "writer")
started = time.monotonic()
try:
    llm.write(Writing("openai-chat:m", "writer", (Message("user", "Why?"),)), deadline=Deadline.within(1))
except ModelTimeoutError:
    print(time.monotonic() - started, flush=True)
"""


@dataclass
class Ended:
    out: str
    err: str
    code: int
    seconds: float


def start(server: LoopbackServer | SilentServer, *flags: str, program: str = PROGRAM) -> subprocess.Popen[str]:
    environment = {**os.environ, "OPENAI_BASE_URL": server.url}
    command = [sys.executable, *flags, "-c", program]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(program: subprocess.Popen[str]) -> Ended:
    started = time.monotonic()
    out, err = program.communicate(timeout=120)
    return Ended(out, err, program.returncode, time.monotonic() - started)


@pytest.fixture(scope="module")
def endings() -> dict[str, Ended]:
    """Started together, since most of the time goes into imports."""
    with LoopbackServer() as answering, LoopbackServer() as hanging:
        hanging.behaves(hangs(120))
        plain, strict, interrupted = start(answering), start(answering, *STRICT), start(hanging)
        while not hanging.requests and interrupted.poll() is None:
            time.sleep(0.02)
        interrupted.send_signal(signal.SIGINT)
        programs = {"interrupted": interrupted, "plain": plain, "strict": strict}
        return {name: ended(program) for name, program in programs.items()}


@pytest.mark.parametrize("name", ["plain", "strict"])
def test_a_program_that_just_ends_ends_quietly(name: str, endings: dict[str, Ended]) -> None:
    program = endings[name]
    assert (program.out, program.err, program.code) == ("80.0\n", "", 0)


def test_an_interrupt_ends_a_program_whose_call_hangs(endings: dict[str, Ended]) -> None:
    program = endings["interrupted"]
    assert program.seconds < 30
    assert program.out == "" and program.code != 0
    assert program.err.rstrip().endswith("KeyboardInterrupt")
    assert program.err.count("Traceback") == 1 and "Exception ignored" not in program.err


@pytest.fixture(scope="module")
def left_in_time() -> dict[str, tuple[str, Ended]]:
    """What each program printed, and how it ended from then on."""
    with LoopbackServer() as hanging, LoopbackServer() as dripping, SilentServer() as silent:
        hanging.behaves(hangs(120))
        dripping.behaves(drips(120, every=0.2))
        servers: dict[str, LoopbackServer | SilentServer] = {"hangs": hanging, "drips": dripping, "silent": silent}
        programs = {name: start(server, program=TOO_LATE) for name, server in servers.items()}
        printed = {name: program.stdout.readline() for name, program in programs.items() if program.stdout}
        return {name: (printed[name], ended(program)) for name, program in programs.items()}


@pytest.mark.parametrize("name", ["hangs", "drips", "silent"])
def test_a_program_whose_call_was_left_in_time_ends(name: str, left_in_time: dict[str, tuple[str, Ended]]) -> None:
    """SPEC C5."""
    printed, program = left_in_time[name]
    assert 0.9 < float(printed) < 20
    assert program.seconds < 30 and (program.out, program.err, program.code) == ("", "", 0)
