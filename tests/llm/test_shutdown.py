"""A program that called a model exits at once and quietly (DESIGN 3)."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from tests.loopback import LoopbackServer, SilentServer, drip_bytes, hang

STRICT = ("-X", "dev", "-W", "error")
ASKS = """
import logging
logging.getLogger("asyncio").setLevel(logging.ERROR)  # -X dev logs every slow step there
from pydantic import BaseModel
from veracity.llm import LLM, Question
class Verdict(BaseModel):
    reason: str
    score: float
llm = LLM()
print(llm.ask(Question("openai-chat:m", "judge", "Judge.", "{}", Verdict)).value.score, flush=True)
"""
# Abandons a call that never ends, and exits.
ABANDONS = """
from veracity.deadlines import Deadline
from veracity.errors import ModelTimeoutError
from veracity.llm import LLM, Message, TextRequest
llm = LLM()
llm.require("openai-chat:m", "writer")
try:
    llm.write(TextRequest("openai-chat:m", "writer", (Message("user", "Why?"),)), deadline=Deadline.within(1))
except ModelTimeoutError:
    print("abandoned", flush=True)
"""


@dataclass
class Ended:
    out: str
    err: str
    code: int


def start(server: LoopbackServer | SilentServer, *flags: str, program: str = ASKS) -> subprocess.Popen[str]:
    environment = {**os.environ, "OPENAI_BASE_URL": server.url}
    command = [sys.executable, *flags, "-c", program]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(program: subprocess.Popen[str]) -> Ended:
    """Fails if the program outlasts the timeout, which is shorter than the servers hang."""
    out, err = program.communicate(timeout=300)
    return Ended(out, err, program.returncode)


@pytest.fixture(scope="module")
def finished_programs() -> dict[str, Ended]:
    """Started together, since most of the time goes into imports."""
    with LoopbackServer() as answering, LoopbackServer() as hanging:
        hanging.respond_with(hang(600))
        plain, strict, interrupted = start(answering), start(answering, *STRICT), start(hanging)
        while not hanging.requests and interrupted.poll() is None:
            time.sleep(0.02)
        interrupted.send_signal(signal.SIGINT)
        programs = {"interrupted": interrupted, "plain": plain, "strict": strict}
        return {name: ended(program) for name, program in programs.items()}


@pytest.mark.parametrize("name", ["plain", "strict"])
def test_program_exits_without_output(name: str, finished_programs: dict[str, Ended]) -> None:
    program = finished_programs[name]
    assert (program.out, program.err, program.code) == ("80.0\n", "", 0)


def test_interrupt_ends_a_program_with_a_hanging_call(finished_programs: dict[str, Ended]) -> None:
    program = finished_programs["interrupted"]
    assert program.out == "" and program.code != 0
    assert program.err.rstrip().endswith("KeyboardInterrupt")
    assert program.err.count("Traceback") == 1 and "Exception ignored" not in program.err


@pytest.fixture(scope="module")
def abandoned() -> dict[str, tuple[str, Ended]]:
    """The first line of each program, and how it ended."""
    with LoopbackServer() as hanging, LoopbackServer() as dripping, SilentServer() as silent:
        hanging.respond_with(hang(600))
        dripping.respond_with(drip_bytes(600, every=0.2))
        servers: dict[str, LoopbackServer | SilentServer] = {"hangs": hanging, "drips": dripping, "silent": silent}
        programs = {name: start(server, program=ABANDONS) for name, server in servers.items()}
        printed = {name: program.stdout.readline() for name, program in programs.items() if program.stdout}
        return {name: (printed[name], ended(program)) for name, program in programs.items()}


@pytest.mark.parametrize("name", ["hangs", "drips", "silent"])
def test_program_exits_after_an_abandoned_call(name: str, abandoned: dict[str, tuple[str, Ended]]) -> None:
    """SPEC C5."""
    printed, program = abandoned[name]
    assert printed == "abandoned\n"
    assert (program.out, program.err, program.code) == ("", "", 0)
