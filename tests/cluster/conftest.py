"""Engines and workers that share a ledger in Postgres."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.postgres import schema_url, shared_url
from tests.runs.conftest import MakeEngine, engine_with, filled, root
from tests.server.conftest import Served, serving
from tests.waiting import until
from veracity.engine import Veracity
from veracity.testing import ScriptedLLM
from veracity.worker import Worker

__all__ = ["MakeEngine", "engine_with", "filled", "root"]

StartWorker = Callable[[Veracity], Worker]


@pytest.fixture
def url(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return schema_url(shared_url(tmp_path_factory), tmp_path)


@pytest.fixture
def sharing(engine_with: MakeEngine, url: str) -> MakeEngine:
    """Like `engine_with`, with the ledger in Postgres and the default approval settings."""

    def make(llm: ScriptedLLM | None = None, **sections: object) -> Veracity:
        return engine_with(llm, **{"approval": {}, "store": {"ledger": url}, **sections})

    return make


@pytest.fixture
def work() -> Iterator[StartWorker]:
    """`work(engine)`: a worker on a thread, until the test ends."""
    with ExitStack() as stack:
        yield lambda engine: stack.enter_context(working(engine))


@contextmanager
def working(engine: Veracity) -> Iterator[Worker]:
    started: list[tuple[Worker, asyncio.AbstractEventLoop]] = []

    async def run() -> None:
        worker = Worker(engine)
        started.append((worker, asyncio.get_running_loop()))
        await worker.run()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    until(lambda: bool(started))
    worker, loop = started[0]
    try:
        yield worker
    finally:
        loop.call_soon_threadsafe(worker.stop)
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def serve() -> Iterator[Callable[[Veracity], Served]]:
    """`serve(engine)`: a server that leaves questions to workers."""
    with ExitStack() as stack:
        yield lambda engine: stack.enter_context(serving(engine, works=False))
