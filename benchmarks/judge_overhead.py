"""Measures the overhead of a judged metric over the bare model call: CPU and wall-clock time (SPEC B14).

    python benchmarks/judge_overhead.py

A loopback server answers at once; it runs in its own process, so that its CPU time does not count. Every round makes
the same judgements three times: through `Evaluator.evaluate` with three LLM metrics, one call each; through the same
with `batch`, one call for all; and through bare calls of `pydantic_ai.direct.model_request_sync` with the messages,
schema and temperature of the first. Prints medians over the rounds.
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
BATCH_BAR = 0.5
WALL_BAR_MS = 5.0
SAMPLES = Path(__file__).parent.parent / "src" / "veracity" / "samples.jsonl"

VERDICT = {"reason": "Every part of the question is answered, in order.", "score": 82}
VERDICTS = dict.fromkeys(NAMES, VERDICT)
USAGE = {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730}


def make_reply(arguments: dict[str, Any]) -> bytes:
    call = {"id": "call_1", "type": "function", "function": {"name": "answer", "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "judge", "choices": [choice]}
    body = json.dumps({**answer, "usage": USAGE}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


ONE, ALL = make_reply(VERDICT), make_reply(VERDICTS)


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
            body = self.rfile.read(length)
            self.wfile.write(ALL if b"# Coverage" in body else ONE)

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


def evaluations(workspace: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    """Functions that judge three metrics of a sample, one by one and in one call."""
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

    def evaluate_batch() -> None:
        assert evaluator.evaluate(request, batch=True).overall_score == 82

    return evaluate, evaluate_batch


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


def report(ours: list[Cost], batched: list[Cost], bare: list[Cost]) -> None:
    ratios = [our.cpu / their.cpu for our, their in zip(ours, bare, strict=True)]
    batch_ratios = [our.cpu / their.cpu for our, their in zip(batched, bare, strict=True)]
    extra = [our.wall - their.wall for our, their in zip(ours, bare, strict=True)]
    print(f"{ROUNDS} rounds of {METRICS_PER_ROUND} judged metrics each; medians, ms per metric")
    print(f"{'':30}{'CPU':>8}{'wall clock':>14}")
    rows = (("Evaluator.evaluate", ours), ("with batch", batched), ("bare model_request_sync", bare))
    for name, costs in rows:
        cpu, wall = (statistics.median(getattr(cost, field) for cost in costs) for field in ("cpu", "wall"))
        print(f"{name:30}{cpu:8.2f}{wall:14.2f}")
    spread = f"rounds {min(ratios):.2f} to {max(ratios):.2f}"
    print(f"CPU ratio {statistics.median(ratios):.2f} ({spread}; bar {CPU_BAR})")
    print(f"CPU ratio with batch {statistics.median(batch_ratios):.2f} (bar {BATCH_BAR})")
    print(f"wall-clock overhead {statistics.median(extra):.2f} ms per metric (bar {WALL_BAR_MS:g})")


def main() -> None:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{here.recv()}/v1"
    os.environ.pop("OPENAI_API_KEY", None)
    with tempfile.TemporaryDirectory() as folder:
        evaluate, evaluate_batch = evaluations(Path(folder))
        functions = (evaluate, evaluate_batch, bare_calls(evaluate))
        for function in functions:
            measure(function)  # warm up
        rounds = [tuple(map(measure, functions)) for _ in range(ROUNDS)]
    server.terminate()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
    report(*(list(costs) for costs in zip(*rounds, strict=True)))


if __name__ == "__main__":
    main()
