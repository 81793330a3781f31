"""Asks through servers that misbehave in every way: each run must end in time, with a true status, and leave nothing.

    python -m benchmarks.campaigns.servers [--only WORDS]

Each kind of misbehaviour is tried on the writer, whole and streamed, the reviewer and the judge, while the other roles
are answered well. A run with a bad writer may fail, quote the documents, or wait for approval with a draft that failed
its review; one with a bad reviewer or judge must wait for approval. Afterwards no connection to the server and no
thread may be left.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.campaigns.misbehaviours import KINDS, Kind, Request, completion, packed_comments, packs_a_bomb
from veracity import Veracity
from veracity.errors import VeracityError
from veracity.models import Answer, Document
from veracity.settings import Settings

ROLES = ("writer", "streamed writer", "reviewer", "judge")
QUESTION = "How many days of annual leave do full-time staff have?"
DRAFT = "Full-time staff have 25 days of paid annual leave a year. [1]"
DOCUMENTS = [
    Document(id="leave", title="Annual leave", text="Full-time staff have 25 days of paid annual leave a year."),
    Document(id="travel", title="Travel", text="Hotels may cost up to 150 euros a night."),
]
RUN_SECONDS = 4.0
GRACE_SECONDS = 2.0  # beyond the deadline, on a busy machine
LEFT_SECONDS = 3.0  # until connections and threads must be gone
CONFIGURATION = '[[metrics]]\nname = "Relevance"\nmax_retries = 3\n'
SETTINGS: dict[str, Any] = {
    "models": {role: f"openai-chat:{role}" for role in ("writer", "reviewer", "judge")} | {"embedder": "none"},
    "llm": {"call_timeout": 1.0, "deadline": 3.0, "backoff": 0.01},
    "answering": {"gener_epoch": 0},
}


class ModelServer:
    """An OpenAI-compatible server that misbehaves if `role` is asked."""

    def __init__(self) -> None:
        self.role, self.kind = "", KINDS[0]
        self.calls = 0
        self.open: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="server", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listening.accept()
                self.open.add(peer)
                threading.Thread(target=self._serve, args=(peer,), name="server", daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        try:
            with suppress(OSError), peer:
                while request := read_request(peer):
                    self._respond(peer, request)
        finally:
            self.open.discard(peer)

    def _respond(self, peer: socket.socket, request: Request) -> None:
        if request["model"] == self.role:
            self.calls += 1
            self.kind.send(peer, request)
        else:
            content = json.dumps(_fitting(_schema(request))) if request.get("tools") else DRAFT
            peer.sendall(completion(request, content))


def read_request(peer: socket.socket) -> Request | None:
    """None if the client has disconnected."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (received := peer.recv(65536)):
            return None
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().splitlines())
    length = next(int(value) for name, _, value in lines if name == b"content-length")
    while len(body) < length:
        body += peer.recv(65536)
    request: Request = json.loads(body)
    return request


def _schema(request: Request) -> dict[str, Any]:
    schema: dict[str, Any] = request["tools"][0]["function"]["parameters"]
    return schema


def _fitting(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> Any:  # noqa: PLR0911 - one per type
    """The best verdict that fits a schema."""
    definitions = schema.get("$defs", definitions or {})
    if reference := schema.get("$ref"):
        return _fitting(definitions[reference.rsplit("/", 1)[-1]], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: _fitting(part, definitions) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [_fitting(schema["items"], definitions)] * schema.get("minItems", 0)
        case "boolean":
            return True
        case "number" | "integer":
            return schema.get("maximum", 1)
    return "It says what the source says."


@dataclass(frozen=True)
class Outcome:
    kind: str
    role: str
    status: str
    seconds: float
    calls: int
    problems: list[str]


def run_one(server: ModelServer, root: Path, kind: Kind, role: str) -> Outcome:
    server.role, server.kind, server.calls = role.removeprefix("streamed "), kind, 0
    threads = set(threading.enumerate())
    with Veracity(root, settings=Settings.model_validate(SETTINGS)) as engine:
        engine.prepare()
        begin = time.monotonic()
        answer, problem = _ask(engine, streams=role == "streamed writer")
        seconds = time.monotonic() - begin
        status = answer.status if answer else engine.runs(1)[0].status
    problems = [*_check(role, answer, status, problem)]
    if seconds > RUN_SECONDS + GRACE_SECONDS:
        problems.append(f"took {seconds:.1f} s of {RUN_SECONDS:.0f}")
    problems += _left_over(server, threads)
    return Outcome(kind.name, role, _describe(answer, status), seconds, server.calls, problems)


def _ask(engine: Veracity, streams: bool) -> tuple[Answer | None, str]:
    try:
        events = engine.stream(QUESTION, deadline=RUN_SECONDS, drafts=streams)
        return next(event.answer for event in events if event.answer), ""
    except VeracityError as error:
        return None, str(error)


def _check(role: str, answer: Answer | None, status: str, problem: str) -> Iterator[str]:
    """What is not true about how the run ended."""
    if answer is None:
        if not (status == "failed" and problem and role.endswith("writer")):
            yield f"ended as {status}: {problem}"
        return
    if role.endswith("writer") and status == "answered" and answer.form != "extractive":
        yield f"released {answer.text[:80]!r}"
    if role == "reviewer" and (status != "awaiting_approval" or _has_review(answer)):
        yield f"{status} with the review {answer.review}"
    if role == "judge" and (status != "awaiting_approval" or answer.score is not None):
        yield f"{status} with the score {answer.score}"


def _has_review(answer: Answer) -> bool:
    return answer.review is not None and answer.review.outcome != "not_reviewed"


def _describe(answer: Answer | None, status: str) -> str:
    return f"{status}, {answer.form}" if answer and answer.form == "extractive" else status


def _left_over(server: ModelServer, threads: set[threading.Thread]) -> list[str]:
    end = time.monotonic() + LEFT_SECONDS
    while True:
        left = [thread.name for thread in threading.enumerate() if thread not in threads and thread.name != "server"]
        left = [name for name in left if not name.startswith("LanceDB")]  # one for the whole process
        if not (server.open or left) or time.monotonic() > end:
            break
        time.sleep(0.05)
    return [f"{len(server.open)} connections left"] * bool(server.open) + [f"threads left: {left}"] * bool(left)


@contextmanager
def environment(url: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
    os.environ.update(OPENAI_BASE_URL=url, OPENAI_API_KEY="sk-none")
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def run(folder: Path, kinds: Sequence[Kind] = KINDS, roles: Sequence[str] = ROLES) -> Iterator[Outcome]:
    root = folder / "workspace"
    (root / "configs").mkdir(parents=True)
    (root / "configs/evaluator.toml").write_text(CONFIGURATION, encoding="utf-8")
    with Veracity(root, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        engine.add(DOCUMENTS)
    if any(kind.send is packs_a_bomb for kind in kinds):
        packed_comments()
    with ModelServer() as server, environment(server.url):
        for kind in kinds:
            for role in roles:
                yield run_one(server, root, kind, role)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only kinds whose name contains this")
    kinds = [kind for kind in KINDS if parser.parse_args().only in kind.name]
    outcomes = []
    print(f"{'kind':<26}{'role':<17}{'status':<24}{'seconds':>8}{'calls':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for outcome in run(Path(folder), kinds):
            outcomes.append(outcome)
            row = f"{outcome.kind:<26}{outcome.role:<17}{outcome.status:<24}{outcome.seconds:8.2f}{outcome.calls:6}"
            print(row, *outcome.problems, sep="  ", flush=True)
    bad = [outcome for outcome in outcomes if outcome.problems]
    print(f"\n{len(kinds)} kinds, {len(outcomes)} runs, slowest {max(one.seconds for one in outcomes):.1f} s")
    for role in ROLES:
        print(f"  {role}: {dict(Counter(one.status for one in outcomes if one.role == role))}")
    print(f"{len(bad)} runs with problems")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
