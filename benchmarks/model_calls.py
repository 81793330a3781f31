"""The calls and prompt tokens of one answer, by role.

    python -m benchmarks.model_calls [--documents FOLDER --questions FILE.jsonl]

A loopback server plays every model and records what it is sent. Questions that a passage clearly answers are asked
twice, by default about the bundled handbook: once with a draft that passes its review at once, once with a draft that
needs one redraft. Writer, reviewer, rewriter and judge are models; three LLM metrics score the answer. Tokens are
counted with the tokenizer of the bundled embedder, so compare them only with each other.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

from tokenizers import Tokenizer

from veracity.engine import Veracity
from veracity.settings import ModelSettings, Settings

STRONG = 0.5  # relevance
MAX_QUESTIONS = 20
ROLES = ("rewriter", "writer", "reviewer", "judge")
VERDICT = {"reason": "It answers the question as the evidence does.", "score": 90}
PASS = {
    "evidence_detail": "It says what the evidence says.",
    "evidence_passed": True,
    "reasonableness_detail": "It answers the question.",
    "reasonableness_passed": True,
    "suggestions": [],
    "confidence": 0.9,
}
FAIL = {**PASS, "evidence_passed": False, "suggestions": ["Say it in the words of the evidence."]}


TEXT = re.compile(r'"text": ')


class Models(ThreadingHTTPServer):
    """Plays the models. `fails` is how many reviews fail before one passes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.begin(0)

    def begin(self, fails: int, question: str = "") -> None:
        self.fails = fails
        self.question = question
        self.calls: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()

    def reply(self, body: dict[str, Any]) -> str | dict[str, Any]:
        role = body["model"]
        self.calls[role] += 1
        schemas = [json.dumps(body[name]) for name in ("tools", "response_format") if name in body]
        texts = [str(message["content"]) for message in body["messages"]]
        self.tokens[role] += sum(map(count_tokens, [*texts, *schemas]))
        if role == "writer":
            return quote(body["messages"], self.question, self.calls[role])
        if role == "reviewer":
            return FAIL if self.calls[role] <= self.fails else PASS
        if role == "rewriter":
            return {"reason": "Broader.", "query": f"handbook rule {self.calls[role]}", "sources": ["graph"]}
        properties = body["tools"][0]["function"]["parameters"]["properties"]
        return VERDICT if "score" in properties else dict.fromkeys(properties, VERDICT)


class Handler(BaseHTTPRequestHandler):
    server: Models
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = self.server.reply(body)
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if isinstance(content, dict):
            function = {"name": "answer", "arguments": json.dumps(content)}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "type": "function", "function": function}],
            }
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice]}
        data = json.dumps({**reply, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def quote(messages: list[dict[str, Any]], question: str, sentences: int) -> str:
    """A draft that the code check passes: the sentences of the evidence that share most words with the question."""
    text = [str(message["content"]) for message in messages if TEXT.search(str(message["content"]))][-1]
    wanted = pairs(question)
    found = []
    for number, match in enumerate(TEXT.finditer(text), 1):
        passage, _ = json.JSONDecoder().raw_decode(text, match.end())
        found += [
            (-len(pairs(unit) & wanted), f"{unit} [{number}]")
            for unit in re.split(r"(?<=[。.])\s*|\n", passage)
            if unit
        ]
    return " ".join(unit for _, unit in sorted(found)[:sentences])


def pairs(text: str) -> set[str]:
    return {text[start : start + 2] for start in range(len(text) - 1)}


@cache
def tokenizer() -> Tokenizer:
    folder = files("veracity").joinpath("embedding", "multilingual", "tokenizer.json")
    found = Tokenizer.from_file(str(folder))
    found.no_truncation()
    found.no_padding()
    return found


def count_tokens(text: str) -> int:
    return len(tokenizer().encode(text).ids)


@contextmanager
def engine(url: str, documents: Path) -> Iterator[Veracity]:
    os.environ["OPENAI_BASE_URL"] = url
    os.environ.pop("OPENAI_API_KEY", None)
    models = ModelSettings(**{role: f"openai-chat:{role}" for role in ROLES})
    with tempfile.TemporaryDirectory() as folder, Veracity(folder, settings=Settings(models=models)) as veracity:
        veracity.ingest([documents])
        yield veracity


def strong(veracity: Veracity, questions: Iterable[str]) -> list[str]:
    """The questions that a passage clearly answers: the others may be rewritten."""
    found = {question: veracity.search(question, sources=["knowledge"]) for question in questions}
    return [
        question
        for question, passages in found.items()
        if max((passage.metadata.relevance_score for passage in passages), default=0) >= STRONG
    ][:MAX_QUESTIONS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, default=Path(str(files("veracity").joinpath("handbook"))))
    parser.add_argument("--questions", type=Path, default=Path(__file__).parent / "retrieval/handbook.questions.jsonl")
    chosen = parser.parse_args()
    lines = chosen.questions.read_text(encoding="utf-8").splitlines()
    server = Models()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with engine(f"http://127.0.0.1:{server.server_address[1]}/v1", chosen.documents) as veracity:
        questions = strong(veracity, [json.loads(line)["question"] for line in lines])
        print(f"{len(questions)} questions{'':12}{'calls':>7}{'prompt tokens':>15}   by role: calls, tokens")
        for name, fails in (("passes at once", 0), ("one redraft", 1)):
            rows = [measure(server, veracity, question, fails) for question in questions]
            print_row(name, [row for row in rows if row[0]["reviewer"] == fails + 1])
    server.shutdown()


def measure(server: Models, veracity: Veracity, question: str, fails: int) -> tuple[Counter[str], Counter[str]]:
    server.begin(fails, question)
    veracity.ask(question)
    return server.calls, server.tokens


def print_row(name: str, rows: Sequence[tuple[Counter[str], Counter[str]]]) -> None:
    """Leaves out questions whose draft the code check failed, since they had further redrafts."""
    calls, tokens = (fmean(sum(row[which].values()) for row in rows) for which in (0, 1))
    most = max(sum(row.values()) for row, _ in rows)
    roles = (f"{role} {mean(rows, 0, role):.1f}, {mean(rows, 1, role):,.0f}" for role in ROLES)
    print(f"{name} ({len(rows)}){'':8}{calls:>7.1f}{tokens:>15,.0f}   {'; '.join(roles)}; most calls {most}")


def mean(rows: Sequence[tuple[Counter[str], Counter[str]]], which: int, role: str) -> float:
    return fmean(row[which][role] for row in rows)


if __name__ == "__main__":
    main()
