"""A server under load: many users ask and follow events, two decide. In the second part the server is restarted.

    python -m benchmarks.server [--askers 100] [--seconds 60] [--runs 4]

The models are scripted and answer immediately, so the machine is the limit; clients and server share it. Each asker
asks, follows the events to the end, and asks again. Four of nine answers wait for approval; two approvers decide on the
oldest. A decision is measured from the request to the response that confirms it. Memory is the server's resident set.
At the end the ledger must have a final status for every accepted question.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.campaigns import scenario

TOKEN = "the-token-of-the-benchmark"
FINAL_EVENTS = ("answer", "failed")
WARM_UP_SECONDS = 10.0  # before memory is compared
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


@dataclass
class Load:
    """Measurements of the clients."""

    asks: list[float] = field(default_factory=list)
    events: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    decisions: list[float] = field(default_factory=list)
    lists: list[float] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)
    errors: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, float]] = field(default_factory=list)
    resumed: int = 0


class ServerProcess:
    def __init__(self, root: Path, port: int, runs: int) -> None:
        self._command = [sys.executable, "-m", "benchmarks.server", "--serve", str(root), str(port), str(runs)]
        self.url = f"http://127.0.0.1:{port}"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        environment = {**os.environ, "VERACITY_TOKEN": TOKEN}
        self._process = await asyncio.create_subprocess_exec(*self._command, env=environment)
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(600):
                try:
                    if (await client.get(f"{self.url}/healthz")).status_code == 200:
                        return
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        raise AssertionError("the server did not start")

    async def stop(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        await self._process.wait()

    def megabytes(self) -> float:
        assert self._process
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def _read_events(response: httpx.Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    event_id = ""
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            event_id = line[4:]
        elif line.startswith("data: "):
            yield event_id, json.loads(line[6:])


async def _ask(client: httpx.AsyncClient, load: Load, ticket: int) -> None:
    """Asks a question and follows it to its end. Resumes after every lost connection."""
    started, run_id, last_id = time.monotonic(), "", ""
    while True:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if run_id else {})}
        path = f"/api/runs/{run_id}/events" if run_id else "/api/ask"
        body = None if run_id else {"question": scenario.question(ticket)}
        try:
            async with client.stream("GET" if run_id else "POST", path, json=body, headers=headers) as response:
                if response.status_code in (429, 503):
                    await asyncio.sleep(float(response.headers["retry-after"]) / 5)
                    continue
                if response.status_code != 200:
                    load.errors[f"ask: {response.status_code}"] += 1
                    return
                async for event_id, data in _read_events(response):
                    run_id, last_id = data["run_id"], event_id
                    load.accepted.add(run_id)
                    load.events += 1
                    if data["kind"] in FINAL_EVENTS:
                        load.ends[data["answer"]["status"] if data["kind"] == "answer" else "failed"] += 1
                        load.asks.append(time.monotonic() - started)
                        return
        except httpx.TransportError:  # the server is being restarted
            await asyncio.sleep(0.3)
        load.resumed += bool(run_id)


async def _asker(client: httpx.AsyncClient, load: Load, tickets: itertools.count[int], end: float) -> None:
    while time.monotonic() < end:
        await _ask(client, load, next(tickets))


async def _approver(client: httpx.AsyncClient, load: Load, number: int, end: float) -> None:
    while time.monotonic() < end:
        try:
            started = time.monotonic()
            pending = (await client.get("/api/approvals?limit=10")).json()
            load.lists.append(time.monotonic() - started)
            for approval in pending[number::2]:
                started = time.monotonic()
                path = f"/api/approvals/{approval['approval_id']}/decision"
                verdict = "approve" if approval["attempt"] > 1 or hash(approval["run_id"]) % 3 else "reject"
                response = await client.post(path, json={"verdict": verdict, "draft_hash": approval["draft_hash"]})
                load.decisions.append(time.monotonic() - started)
                if response.status_code not in (200, 409, 503):
                    load.errors[f"decision: {response.status_code}"] += 1
                await asyncio.sleep(0.05)
        except (httpx.TransportError, ValueError, TypeError):  # the server is being restarted
            await asyncio.sleep(0.3)
        await asyncio.sleep(0.1)


async def _sample_memory(server: ServerProcess, load: Load, started: float, end: float) -> None:
    while time.monotonic() < end:
        load.memory.append((time.monotonic() - started, server.megabytes()))
        await asyncio.sleep(1)


async def run_part(
    server: ServerProcess, askers: int, seconds: float, tickets: itertools.count[int], restart: bool
) -> Load:
    load, started = Load(), time.monotonic()
    end = started + seconds
    async with httpx.AsyncClient(
        base_url=server.url, headers=HEADERS, timeout=120, limits=LIMITS, trust_env=False
    ) as client:
        tasks = [asyncio.create_task(_asker(client, load, tickets, end)) for _ in range(askers)]
        tasks += [asyncio.create_task(_approver(client, load, number, end)) for number in range(2)]
        if restart:
            await asyncio.sleep(seconds / 2)
            await server.stop()
            await server.start()
        else:
            tasks.append(asyncio.create_task(_sample_memory(server, load, started, end)))
        await asyncio.gather(*tasks)
    return load


def count_unfinished(root: Path, accepted: set[str]) -> dict[str, int]:
    """Accepted questions by status in the ledger, without those that ended or wait for approval."""
    with scenario.open_engine(root) as engine:
        statuses = {run.run_id: run.status for run in engine.runs(100_000)}
    counts = Counter(statuses.get(run_id, "unknown") for run_id in accepted)
    return {
        status: count for status, count in counts.items() if status in ("running", "interrupted", "failed", "unknown")
    }


def _percentile(values: list[float], share: float) -> str:
    return f"{statistics.quantiles(values, n=100)[int(share * 100) - 1] * 1000:,.0f} ms" if len(values) > 2 else "–"


def _print_table(name: str, load: Load, seconds: float, unfinished: dict[str, int]) -> None:
    memory = [megabytes for moment, megabytes in load.memory if moment >= WARM_UP_SECONDS]
    rows = [
        ("questions answered or awaiting approval", f"{len(load.asks):,} ({len(load.asks) / seconds:.1f} per second)"),
        ("time per question, median / 95 %", f"{_percentile(load.asks, 0.5)} / {_percentile(load.asks, 0.95)}"),
        ("events read", f"{load.events:,}"),
        ("streams resumed", f"{load.resumed:,}"),
        ("decisions", f"{len(load.decisions):,}"),
        (
            "time per decision, median / 95 % / 99 %",
            " / ".join(_percentile(load.decisions, share) for share in (0.5, 0.95, 0.99)),
        ),
        ("list of approvals, 95 %", _percentile(load.lists, 0.95)),
        ("errors", str(dict(load.errors) or 0)),
        ("failed runs", str(load.ends["failed"])),
        ("accepted questions without a final status", str(unfinished or 0)),
    ]
    if memory:
        rows.append(
            (
                f"memory after {WARM_UP_SECONDS:.0f} s, maximum, at the end",
                f"{memory[0]:.0f}, {max(memory):.0f}, {memory[-1]:.0f} MB",
            )
        )
    print(f"\n| {name} | |\n|---|---:|")
    for row in rows:
        print(f"| {row[0]} | {row[1]} |")


async def measure(askers: int, seconds: float, runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workspace"
        scenario.make_workspace(root)
        server, tickets = ServerProcess(root, _free_port(), runs), itertools.count(1)
        await server.start()
        steady = await run_part(server, askers, seconds, tickets, restart=False)
        restarted = await run_part(server, askers, seconds / 2, tickets, restart=True)
        await asyncio.sleep(6)  # until the last decisions have taken effect
        await server.stop()
        _print_table(f"{askers} askers, {seconds:.0f} s", steady, seconds, count_unfinished(root, steady.accepted))
        _print_table("with a restart", restarted, seconds / 2, count_unfinished(root, restarted.accepted))


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _serve(root: Path, port: int, runs: int) -> None:
    from veracity.server.listen import open_listener
    from veracity.server.serve import serve

    settings = {"port": port, "runs": runs, "asks_per_minute": 1_000_000, "requests_per_minute": 10_000_000, "grace": 2}
    with scenario.open_engine(root, server=settings) as engine:
        serve(engine, open_listener(engine.settings.server, engine.users.any), lambda listener: None)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures a server under load.")
    parser.add_argument("--askers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--serve", nargs=3, metavar=("ROOT", "PORT", "RUNS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(Path(options.serve[0]), int(options.serve[1]), int(options.serve[2]))
    else:
        asyncio.run(measure(options.askers, options.seconds, options.runs))


if __name__ == "__main__":
    main()
