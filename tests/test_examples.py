"""The examples, run against a real server on loopback."""

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.runs.scripts import DOCUMENTS, GOOD, PASS, QUESTION, judged
from tests.server.conftest import TOKEN, Served, serving
from veracity.engine import Veracity
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

EXAMPLES = Path(__file__).parents[1] / "examples"
FOLLOW_UP = "How many days may be carried over until March?"
CARRIED = "Up to 5 days may be carried over until March. [1]"
ARGUMENTS = {"ask.py": [QUESTION], "openai_client.py": [QUESTION, FOLLOW_UP], "approve.py": []}
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"


@contextlib.contextmanager
def serve_answers(workspace: Path, *answers: str, scores: Sequence[float]) -> Iterator[Served]:
    models = {"embedder": "none", "writer": "test:writer", "reviewer": "test:reviewer", "judge": "test:judge"}
    llm = ScriptedLLM.by_role(writer=list(answers), reviewer=[PASS], judge=judged(*scores))
    engine = Veracity(workspace, settings=Settings.model_validate({"models": models}), llm=llm)
    engine.add(DOCUMENTS)
    with engine, serving(engine) as running:
        yield running


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The first answer scores high, the second low, the third high."""
    with serve_answers(tmp_path / "workspace", GOOD, CARRIED, GOOD, scores=(90, 20, 90)) as running:
        yield running


def run(example: str, *arguments: object, url: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    interpreter = [sys.executable, "-W", "error"] if example.endswith(".py") else [shutil.which("sh") or "sh"]
    variables = {"VERACITY_URL": url, "VERACITY_TOKEN": token, "NO_PROXY": "127.0.0.1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [*interpreter, str(EXAMPLES / example), *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], **variables},
    )


def load_example(example: str) -> Any:
    spec = importlib.util.spec_from_file_location(example.removesuffix(".py"), EXAMPLES / example)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FlakyProxy:
    """Cuts each connection after a number of bytes of the response, or answers itself; later connections pass."""

    def __init__(self, url: str, *limits: int | bytes) -> None:
        self._target = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        self._limits = list(limits)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            limit = self._limits.pop(0) if self._limits else 1 << 40
            if isinstance(limit, bytes):
                with client:
                    client.recv(65536)
                    client.sendall(limit)
                continue
            server = socket.create_connection(self._target)
            threading.Thread(target=_forward, args=(client, server, 1 << 40), daemon=True).start()
            threading.Thread(target=_forward, args=(server, client, limit), daemon=True).start()


def _forward(source: socket.socket, target: socket.socket, limit: int) -> None:
    with contextlib.suppress(OSError):
        while limit > 0 and (data := source.recv(min(limit, 65536))):
            target.sendall(data)
            limit -= len(data)
    for connection in (source, target):
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


def test_ask_shows_steps_answer_and_citations(served: Served) -> None:
    ran = run("ask.py", QUESTION, url=served.url)
    assert ran.returncode == 0, ran.stderr
    assert GOOD in ran.stdout
    assert "[1] Annual leave: “Full-time staff have 25 days of paid annual leave a year.”" in ran.stdout
    assert "answered, score 90 of 100, run " in ran.stdout
    assert "retrieve" in ran.stderr
    assert "generate_answer" in ran.stderr


def test_ask_resumes_after_a_lost_connection(served: Served) -> None:
    """Every event is seen once and the question is asked once, even if the first connection breaks."""
    uninterrupted = run("ask.py", QUESTION, url=served.url).stderr
    proxy = FlakyProxy(served.url, 20, 3000, BAD_GATEWAY, 900, 3500)
    try:
        ran = run("ask.py", QUESTION, url=proxy.url)
    finally:
        proxy.close()
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("the connection was lost") == 5
    assert proxy.connections == 6
    assert [line.split()[0] for line in ran.stderr.splitlines() if line.startswith("  ")] == [
        line.split()[0] for line in uninterrupted.splitlines() if line.startswith("  ")
    ]
    assert "awaiting_approval" in ran.stdout
    assert len(served.engine.runs()) == 2


def test_ask_prints_every_quote_once(tmp_path: Path) -> None:
    carried = CARRIED.removesuffix(" [1]")
    with serve_answers(tmp_path / "workspace", f"{GOOD} {CARRIED} {CARRIED}", scores=[90]) as served:
        ran = run("ask.py", QUESTION, url=served.url)
    assert [line for line in ran.stdout.splitlines() if line.startswith("[1]")] == [
        "[1] Annual leave: “Full-time staff have 25 days of paid annual leave a year.”",
        f"[1] Annual leave: “{carried}”",
    ]


def test_ask_reports_a_question_that_may_not_have_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = load_example("ask.py")
    monkeypatch.setattr(ask, "RECONNECT_SECONDS", 0)

    def lose_connection(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("lost")

    client = httpx.Client(base_url="http://127.0.0.1", transport=httpx.MockTransport(lose_connection))
    with client, pytest.raises(SystemExit, match=r"^The connection is lost\. The question may not have arrived\.$"):
        list(ask.ask(client, QUESTION))


@pytest.mark.parametrize("example", ARGUMENTS)
def test_a_wrong_token_is_reported_in_one_sentence(served: Served, example: str) -> None:
    ran = run(example, *ARGUMENTS[example], url=served.url, token="wrong")
    assert ran.returncode == 1
    assert "needs a valid token" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("token", ["", " \n", "…", "two\nlines"])
@pytest.mark.parametrize("example", ARGUMENTS)
def test_a_missing_token_is_reported_with_where_to_get_one(example: str, token: str) -> None:
    ran = run(example, *ARGUMENTS[example], url="http://127.0.0.1:9", token=token)
    assert ran.returncode == 1
    assert ran.stderr.startswith("Set VERACITY_TOKEN to ")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("example", ARGUMENTS)
def test_a_line_break_after_the_token_is_ignored(served: Served, example: str) -> None:
    ran = run(example, *ARGUMENTS[example], url=served.url, token=f"{TOKEN}\r\n")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "127.0.0.1:8347"])
@pytest.mark.parametrize("example", ["ask.py", "approve.py"])
def test_an_unreachable_server_is_reported_in_one_sentence(example: str, url: str) -> None:
    ran = run(example, *ARGUMENTS[example], url=url)
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"{url} cannot be reached: ")
    assert len(ran.stderr.splitlines()) == 1


def test_approve_lists_and_decides(served: Served) -> None:
    asked = [run("ask.py", question, url=served.url) for question in (QUESTION, FOLLOW_UP)]
    assert asked[1].stdout.count("waiting for approval") == 1
    (pending,) = served.engine.approvals()
    listed = run("approve.py", url=served.url)
    assert pending.approval_id in listed.stdout
    assert CARRIED in listed.stdout
    assert "reason: low_score, score 20 of 100" in listed.stdout
    ran = run("approve.py", pending.approval_id, "edit", "Five days. [1]", url=served.url)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [f"{pending.approval_id}: approved", "Five days. [1]"]
    late = run("approve.py", pending.approval_id, "reject", "Too late.", url=served.url)
    assert late.returncode == 1
    assert "your decision is ignored" in late.stderr
    assert run("approve.py", url=served.url).stdout == "No approvals are pending.\n"
    proxy = FlakyProxy(served.url, BAD_GATEWAY)
    assert run("approve.py", url=proxy.url).stderr == "502: <html>\n"
    proxy.close()


def test_askers_cannot_decide(served: Served) -> None:
    asker = served.token("asker")
    run("ask.py", QUESTION, url=served.url)
    run("ask.py", FOLLOW_UP, url=served.url, token=asker)
    (pending,) = served.engine.approvals()
    ran = run("approve.py", pending.approval_id, "approve", url=served.url, token=asker)
    assert ran.returncode == 1
    assert "approver" in ran.stderr


def test_the_openai_client_asks_a_follow_up(served: Served) -> None:
    ran = run("openai_client.py", QUESTION, FOLLOW_UP, url=served.url)
    assert ran.returncode == 0, ran.stderr
    assert GOOD in ran.stdout
    assert "(answered, run " in ran.stdout
    assert "(awaiting_approval, run " in ran.stdout
    (first,) = served.engine.conversations()
    assert [turn.question for turn in served.engine.turns(first.conversation)] == [QUESTION, FOLLOW_UP]


def test_curl_asks_watches_and_decides(served: Served) -> None:
    asked = json.loads(run("curl.sh", "ask", QUESTION, url=served.url).stdout)
    assert asked["text"] == GOOD
    seen = run("curl.sh", "watch", f'{FOLLOW_UP} "Quoted" \\ and\nbroken', url=served.url).stdout
    kinds = [line.removeprefix("event: ") for line in seen.splitlines() if line.startswith("event: ")]
    assert (kinds[0], kinds[-1]) == ("queued", "answer")
    (pending,) = json.loads(run("curl.sh", "inbox", url=served.url).stdout)
    assert pending["question"] == f'{FOLLOW_UP} "Quoted" \\ and broken'
    decided = json.loads(run("curl.sh", "approve", pending["approval_id"], url=served.url).stdout)
    assert decided["state"] == "approved"
    late = run("curl.sh", "reject", pending["approval_id"], "Too late.", url=served.url)
    assert late.returncode != 0
    assert json.loads(late.stdout)["error"]["kind"] == "DecidedError"
    events = run("curl.sh", "events", pending["run_id"], url=served.url).stdout
    assert "event: answer" in events


def test_curl_uploads(served: Served, tmp_path: Path) -> None:
    paths = [tmp_path / 'a "quoted" name.md', tmp_path / "休暇 二.md"]
    for path in paths:
        path.write_text(f"# {path.stem}\n\nThe zebra budget is 7300 euros a year.\n", encoding="utf-8")
    ran = run("curl.sh", "upload", *paths, url=served.url)
    assert ran.returncode == 0, ran.stdout
    assert [outcome["status"] for outcome in json.loads(ran.stdout)["outcomes"]] == ["added", "added"]


def test_examples_print_their_usage(served: Served) -> None:
    for example in ("ask.py", "openai_client.py"):
        ran = run(example, url=served.url)
        assert (ran.returncode, "export VERACITY_URL" in ran.stderr) == (1, True)
    assert "sh curl.sh upload FILE" in run("curl.sh", url=served.url).stdout


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A workspace with a suite, and documents beside it."""
    workspace = tmp_path / "workspace"
    (workspace / "evals").mkdir(parents=True)
    (workspace / "veracity.toml").write_text("[models]\nembedder = 'none'\n")
    facts = {
        "leave": ("How many days of annual leave do staff get?", "Staff get 24 days of annual leave.", "24 days"),
        "warranty": ("How long is the warranty?", "The warranty is 36 months.", "36 months"),
        "lunch": ("When does the canteen open?", "The canteen opens at 11:30.", "11:30"),
        "parking": ("What does a parking space cost?", "A parking space costs 80 euros a month.", "80 euros"),
    }
    cases = [{"id": name, "question": question, "answers": [gold]} for name, (question, _, gold) in facts.items()]
    (workspace / "evals" / "team.jsonl").write_text("\n".join(map(json.dumps, cases)))
    (tmp_path / "documents").mkdir()
    for name, (_, text, _) in facts.items():
        (tmp_path / "documents" / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    return workspace


@pytest.mark.parametrize(("pass_rate", "code", "verdict"), [(0.3, 0, "passed"), (0.99, 6, "Too few cases")])
def test_the_ci_recipe_ends_with_the_verdict_of_the_gate(
    suite: Path, pass_rate: float, code: int, verdict: str
) -> None:
    (suite / "evals" / "team.toml").write_text(f"[gate]\npass_rate = {pass_rate}\n")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["sh", str(EXAMPLES / "experiment.sh"), str(suite), str(suite.parent / "documents"), "team"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, verdict in ran.stdout) == (code, True), ran.stdout + ran.stderr
    assert "| passed | 100.0 |" in ran.stdout
    assert (suite / "experiments" / "ci" / "junit.xml").exists()


def test_a_suite_runs_as_a_test(suite: Path) -> None:
    with Veracity(suite) as engine:
        engine.ingest(suite.parent / "documents")
    environment = {**os.environ, "VERACITY_WORKSPACE": str(suite)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--confcutdir", str(EXAMPLES)]
    ran = subprocess.run(
        [*command, str(EXAMPLES / "test_answers.py")], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
