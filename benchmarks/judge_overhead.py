"""Measures the overhead of a judged metric over the bare model call: CPU and wall-clock time (SPEC B14).

    python benchmarks/judge_overhead.py

A loopback server answers at once; it runs in its own process, so that its CPU time does not count. Every round makes
the same judgements twice: through `Evaluator.evaluate` with three LLM metrics, and through bare calls of
`pydantic_ai.direct.model_request_sync` with the same messages, schema and temperature. Prints medians over the rounds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socketserver
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROUNDS = 10
METRICS_PER_ROUND = 102  # 34 evaluations of 3 metrics
MODEL = "openai-chat:judge"
NAMES = ("ClarityCoherence", "Coverage", "Relevance")
CPU_BAR = 1.25
WALL_BAR_MS = 5.0
SAMPLES = Path(__file__).parent.parent / "src" / "veracity" / "samples.jsonl"

VERDICT = json.dumps({"reason": "Every part of the question is answered, in order.", "score": 82})
CALL = {"id": "call_1", "type": "function", "function": {"name": "answer", "arguments": VERDICT}}
CHOICE = {
    "index": 0,
    "finish_reason": "stop",
    "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
}
USAGE = {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730}
ANSWER = {"id": "1", "object": "chat.completion", "created": 1, "model": "judge", "choices": [CHOICE], "usage": USAGE}
BODY = json.dumps(ANSWER).encode()
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds per judged metric."""

    cpu: float
    wall: float


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


class ImmediateHandler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        while length := self._body_length():
            self.rfile.read(length)
            self.wfile.write(REPLY)

    def _body_length(self) -> int:
        length = 0
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return length


def serve(ready: Connection) -> None:
    with Server(("127.0.0.1", 0), ImmediateHandler) as server:
        ready.send(server.server_address[1])
        server.serve_forever()


def evaluations(workspace: Path) -> Callable[[], None]:
    """A function that judges three metrics of a sample."""
    from veracity import Evaluator
    from veracity.models import EvaluationRequest

    listed = "\n".join(f'[[metrics]]\nname = "{name}"' for name in NAMES)
    (workspace / "configs").mkdir()
    (workspace / "configs" / "evaluator.toml").write_text(f'[llm_default]\nmodel = "{MODEL}"\n{listed}\n')
    evaluator = Evaluator(workspace)
    sample = json.loads(SAMPLES.read_text(encoding="utf-8").splitlines()[0])
    fields = {name: sample[name] for name in ("user_query", "submission", "context")}
    request = EvaluationRequest(**fields, team_id="benchmark")

    def evaluate() -> None:
        assert evaluator.evaluate(request).overall_score == 82

    return evaluate


def bare_calls(evaluate: Callable[[], None]) -> Callable[[], None]:
    """A function that makes the three requests of `evaluate`, and nothing else."""
    from pydantic_ai.direct import model_request_sync
    from pydantic_ai.models import infer_model
    from pydantic_ai.settings import ModelSettings

    sent = recorded_requests(evaluate)
    model = infer_model(MODEL)

    def call() -> None:
        for messages, parameters in sent:
            settings = ModelSettings(temperature=0.0)
            model_request_sync(model, messages, model_settings=settings, model_request_parameters=parameters)

    return call


def recorded_requests(evaluate: Callable[[], None]) -> list[tuple[Any, Any]]:
    """Messages and schema of the requests of one evaluation."""
    from veracity.llm import pydantic_ai

    sent: list[tuple[Any, Any]] = []
    real = vars(pydantic_ai)["model_request_sync"]

    def record(model: Any, messages: Any, **options: Any) -> Any:
        sent.append((messages, options["model_request_parameters"]))
        return real(model, messages, **options)

    vars(pydantic_ai)["model_request_sync"] = record
    try:
        evaluate()
    finally:
        vars(pydantic_ai)["model_request_sync"] = real
    return sent


def measure(three_metrics: Callable[[], None]) -> Cost:
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(METRICS_PER_ROUND // len(NAMES)):
        three_metrics()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Cost(1000 * cpu / METRICS_PER_ROUND, 1000 * wall / METRICS_PER_ROUND)


def report(ours: list[Cost], bare: list[Cost]) -> None:
    ratios = [our.cpu / their.cpu for our, their in zip(ours, bare, strict=True)]
    extra = [our.wall - their.wall for our, their in zip(ours, bare, strict=True)]
    print(f"{ROUNDS} rounds of {METRICS_PER_ROUND} judged metrics each; medians, ms per metric")
    print(f"{'':30}{'CPU':>8}{'wall clock':>14}")
    for name, costs in (("Evaluator.evaluate", ours), ("bare model_request_sync", bare)):
        cpu, wall = (statistics.median(getattr(cost, field) for cost in costs) for field in ("cpu", "wall"))
        print(f"{name:30}{cpu:8.2f}{wall:14.2f}")
    spread = f"rounds {min(ratios):.2f} to {max(ratios):.2f}"
    print(f"CPU ratio {statistics.median(ratios):.2f} ({spread}; bar {CPU_BAR})")
    print(f"wall-clock overhead {statistics.median(extra):.2f} ms per metric (bar {WALL_BAR_MS:g})")


def main() -> None:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{here.recv()}/v1"
    os.environ.pop("OPENAI_API_KEY", None)
    with tempfile.TemporaryDirectory() as folder:
        evaluate = evaluations(Path(folder))
        bare = bare_calls(evaluate)
        measure(evaluate), measure(bare)  # warm up
        rounds = [(measure(evaluate), measure(bare)) for _ in range(ROUNDS)]
    server.terminate()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
    report([ours for ours, _ in rounds], [theirs for _, theirs in rounds])


if __name__ == "__main__":
    main()
