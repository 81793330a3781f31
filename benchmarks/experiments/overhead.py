"""What an experiment costs besides its judge: 1,000 rows with a judge that answers at once, and memory up to 20,000.

    python -m benchmarks.experiments.overhead [--rows 1000] [--repeat 3] [--memory 1000 20000]

One LLM metric; the judge is a server on loopback. "bare" sends the same request as often, and nothing else: one by one,
from as many threads as an experiment uses, and awaited in one event loop, as pydantic-evals and DeepEval do. With these
installed, they judge the same rows. CPU seconds of this process: medians of several rounds. Each ratio is the median of
the ratios within the rounds, because the speed of a machine varies between them. One column divides by the bare calls
one by one, the other by the bare calls made the same way. Memory is the peak of a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

import httpx2

from benchmarks.judge_overhead import MODEL, recorded_requests, serve
from veracity import EvaluationRequest, Evaluator, Veracity
from veracity.settings import ModelSettings, Settings

SETTINGS = Settings(models=ModelSettings(embedder="none", judge=MODEL))
CONFIGURATION = "[[metrics]]\nname = 'ClarityCoherence'\n"
CONCURRENCY = 4


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"r{n}", "question": f"How long is the warranty of model {n}?", "submission": f"It is {n} months."}
        for n in range(count)
    ]


def make_workspace(root: Path, count: int) -> None:
    (root / "configs").mkdir(parents=True)
    (root / "configs" / "evaluator.toml").write_text(CONFIGURATION)
    (root / "evals").mkdir()
    with (root / "evals" / "rows.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(count))


@cache
def recorded_request() -> tuple[Any, Any]:
    """Messages and schema that the evaluator sends for the first row."""
    return recorded_requests(lambda: evaluator(1))[0]


def bare_judge() -> Callable[[], None]:
    """A function that sends the request of the first row, and nothing else, with a client of its own."""
    from pydantic_ai.direct import model_request_sync
    from pydantic_ai.models import infer_model
    from pydantic_ai.settings import ModelSettings as Parameters

    messages, schema = recorded_request()
    model, parameters = infer_model(MODEL), Parameters(temperature=0.0)

    def call() -> None:
        model_request_sync(model, messages, model_settings=parameters, model_request_parameters=schema)

    return call


def bare_calls(count: int) -> None:
    call = bare_judge()
    for _ in range(count):
        call()


def bare_calls_in_threads(count: int) -> None:
    threads = [Thread(target=bare_calls, args=(count // CONCURRENCY,)) for _ in range(CONCURRENCY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def evaluator(count: int, concurrency: int = CONCURRENCY) -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_workspace(Path(folder) / "ws", 1)
        scorer = Evaluator(Path(folder) / "ws", settings=SETTINGS)
        requests = (
            EvaluationRequest(user_query=row["question"], submission=row["submission"], team_id="b")
            for row in rows(count)
        )
        for _ in scorer.evaluate_many(requests, concurrency=concurrency):
            pass


def experiment(count: int, concurrency: int = CONCURRENCY) -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_workspace(Path(folder) / "ws", count)
        with Veracity(Path(folder) / "ws", settings=SETTINGS) as engine:
            summary = engine.experiment("rows", concurrency=concurrency)
        assert summary.finished == count


def awaited_judge() -> Callable[[], Awaitable[object]]:
    """The same for frameworks that await their evaluators."""
    from pydantic_ai.direct import model_request
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.settings import ModelSettings as Parameters

    messages, schema = recorded_request()
    provider = OpenAIProvider(http_client=httpx2.AsyncClient())  # one that no other event loop uses
    model, parameters = OpenAIChatModel("judge", provider=provider), Parameters(temperature=0.0)
    return lambda: model_request(model, messages, model_settings=parameters, model_request_parameters=schema)


def bare_calls_awaited(count: int) -> None:
    async def call_in_turn(call: Callable[[], Awaitable[object]]) -> None:
        for _ in range(count // CONCURRENCY):
            await call()

    async def call_all() -> None:
        call = awaited_judge()
        await asyncio.gather(*(call_in_turn(call) for _ in range(CONCURRENCY)))

    asyncio.run(call_all())


def pydantic_evals(count: int) -> None:
    from pydantic_evals import Case, Dataset  # type: ignore[import-not-found, unused-ignore]
    from pydantic_evals.evaluators import Evaluator as Base  # type: ignore[import-not-found, unused-ignore]

    call = awaited_judge()

    class Clarity(Base):  # type: ignore[misc, unused-ignore]
        async def evaluate(self, ctx: Any) -> float:
            await call()
            return 0.82

    answers = {row["question"]: row["submission"] for row in rows(count)}
    dataset = Dataset(name="rows", cases=[Case(inputs=text) for text in answers], evaluators=[Clarity()])

    async def task(text: str) -> str:
        return str(answers[text])

    asyncio.run(dataset.evaluate(task, max_concurrency=CONCURRENCY, progress=False))


def deepeval(count: int) -> None:
    from deepeval import evaluate  # type: ignore[import-not-found, unused-ignore]
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig  # type: ignore[import-not-found, unused-ignore]
    from deepeval.metrics import BaseMetric  # type: ignore[import-not-found, unused-ignore]
    from deepeval.test_case import LLMTestCase  # type: ignore[import-not-found, unused-ignore]

    call = awaited_judge()

    class Clarity(BaseMetric):  # type: ignore[misc, unused-ignore]
        threshold = 0.75
        async_mode = True
        include_reason = False

        def measure(self, case: Any, *_: Any, **__: Any) -> float:
            raise NotImplementedError

        async def a_measure(self, case: Any, *_: Any, **__: Any) -> float:
            await call()
            self.score, self.success = 0.82, True
            return self.score

        def is_successful(self) -> bool:
            return True

        @property
        def __name__(self) -> str:
            return "Clarity"

    cases = [LLMTestCase(input=row["question"], actual_output=row["submission"]) for row in rows(count)]
    evaluate(
        cases,
        [Clarity()],
        async_config=AsyncConfig(run_async=True, max_concurrent=CONCURRENCY),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )


@contextmanager
def instant_judge() -> Iterator[None]:
    """A server on loopback that replies at once, in a process of its own."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    os.environ |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{here.recv()}/v1", "OPENAI_API_KEY": "none"}
    try:
        yield
    finally:
        server.terminate()


def measure(task: Callable[[int], None], count: int) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    task(count)
    return time.process_time() - cpu, time.perf_counter() - wall


def ratio(times: list[tuple[float, float]], bare: list[tuple[float, float]]) -> float:
    """The median of the ratios of CPU time within each round."""
    return median(own / other for (own, _), (other, _) in zip(times, bare, strict=True))


def peak_megabytes(count: int) -> float:
    """Of a process that runs one experiment."""
    code = f"from benchmarks.experiments.overhead import print_peak; print_peak({count})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(ran.stdout.splitlines()[-1])


def print_peak(count: int) -> None:
    with instant_judge():
        experiment(count)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", type=int, nargs="*", default=[1000, 20_000])
    chosen = parser.parse_args()
    one_by_one, threads, awaited = "bare, one by one", f"bare, {CONCURRENCY} threads", f"bare, {CONCURRENCY} awaited"
    tasks: dict[str, tuple[Callable[[int], None], str]] = {  # with the name of the bare calls made the same way
        one_by_one: (bare_calls, one_by_one),
        threads: (bare_calls_in_threads, threads),
        awaited: (bare_calls_awaited, awaited),
        "Evaluator, one by one": (lambda count: evaluator(count, 1), one_by_one),
        f"Evaluator, {CONCURRENCY} threads": (evaluator, threads),
        "experiment, one by one": (lambda count: experiment(count, 1), one_by_one),
        f"experiment, {CONCURRENCY} threads": (experiment, threads),
    }
    tasks |= {"pydantic-evals": (pydantic_evals, awaited)} if importlib.util.find_spec("pydantic_evals") else {}
    tasks |= {"DeepEval": (deepeval, awaited)} if importlib.util.find_spec("deepeval") else {}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    with instant_judge():
        for task, _ in tasks.values():
            task(CONCURRENCY)  # imports
        for _ in range(chosen.repeat):
            for name, (task, _) in tasks.items():
                times[name].append(measure(task, chosen.rows))
    print(f"{'':24}{'CPU s':>8}{'wall s':>8}{'ms a row':>10}{'times one by one':>18}{'times the same way':>20}")
    for name, found in times.items():
        cpu, wall = median(cpu for cpu, _ in found), median(wall for _, wall in found)
        ratios = [ratio(found, times[bare]) for bare in (one_by_one, tasks[name][1])]
        print(f"{name:24}{cpu:8.2f}{wall:8.2f}{1000 * cpu / chosen.rows:10.2f}{ratios[0]:18.2f}{ratios[1]:20.2f}")
    for count in chosen.memory:
        print(f"peak memory, {count:,} cases: {peak_megabytes(count):.0f} MB")


if __name__ == "__main__":
    main()
