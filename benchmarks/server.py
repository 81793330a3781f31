"""A server under load: many ask and watch, two decide; in the second part it is restarted in the midst of it.

    python -m benchmarks.server [--askers 100] [--seconds 60] [--runs 4]

The models are scripts that answer at once, so the machine is the limit; askers and server share it. Every asker asks,
follows the events to the end, and asks again. Four of nine answers wait for a person; two approvers take what waits
longest. A decision is measured from the request to the response that says it counts. Memory is the server's own
(resident). At the end the ledger must know how every question ended that the server took in.
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

from benchmarks.campaigns import stage

TOKEN = "the-token-of-the-benchmark"
LAST = ("answer", "failed")
WARM = 10.0  # seconds after which memory is compared
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


@dataclass
class Load:
    """What was seen from outside."""

    asks: list[float] = field(default_factory=list)
    events: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    decisions: list[float] = field(default_factory=list)
    lists: list[float] = field(default_factory=list)
    taken_in: set[str] = field(default_factory=set)
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
        raise AssertionError("the server does not start")

    async def stop(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        await self._process.wait()

    def megabytes(self) -> float:
        assert self._process
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def _events(response: httpx.Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    identity = ""
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            identity = line[4:]
        elif line.startswith("data: "):
            yield identity, json.loads(line[6:])


async def _ask(client: httpx.AsyncClient, load: Load, ticket: int) -> None:
    """One question to its end, resuming as often as the line breaks."""
    began, run_id, seen = time.monotonic(), "", ""
    while True:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": seen} if run_id else {})}
        path = f"/api/runs/{run_id}/events" if run_id else "/api/ask"
        body = None if run_id else {"question": stage.question(ticket)}
        try:
            async with client.stream("GET" if run_id else "POST", path, json=body, headers=headers) as response:
                if response.status_code in (429, 503):
                    await asyncio.sleep(float(response.headers["retry-after"]) / 5)
                    continue
                if response.status_code != 200:
                    load.errors[f"ask: {response.status_code}"] += 1
                    return
                async for identity, data in _events(response):
                    run_id, seen = data["run_id"], identity
                    load.taken_in.add(run_id)
                    load.events += 1
                    if data["kind"] in LAST:
                        load.ends[data["answer"]["status"] if data["kind"] == "answer" else "failed"] += 1
                        load.asks.append(time.monotonic() - began)
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
            began = time.monotonic()
            waiting = (await client.get("/api/approvals?limit=10")).json()
            load.lists.append(time.monotonic() - began)
            for one in waiting[number::2]:
                began = time.monotonic()
                path = f"/api/approvals/{one['approval_id']}/decision"
                verdict = "approve" if one["attempt"] > 1 or hash(one["run_id"]) % 3 else "reject"
                response = await client.post(path, json={"verdict": verdict, "draft_hash": one["draft_hash"]})
                load.decisions.append(time.monotonic() - began)
                if response.status_code not in (200, 409, 503):
                    load.errors[f"decision: {response.status_code}"] += 1
                await asyncio.sleep(0.05)
        except (httpx.TransportError, ValueError, TypeError):  # the server is being restarted
            await asyncio.sleep(0.3)
        await asyncio.sleep(0.1)


async def _sample(server: ServerProcess, load: Load, began: float, end: float) -> None:
    while time.monotonic() < end:
        load.memory.append((time.monotonic() - began, server.megabytes()))
        await asyncio.sleep(1)


async def part(
    server: ServerProcess, askers: int, seconds: float, tickets: itertools.count[int], restart: bool
) -> Load:
    load, began = Load(), time.monotonic()
    end = began + seconds
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
            tasks.append(asyncio.create_task(_sample(server, load, began, end)))
        await asyncio.gather(*tasks)
    return load


def lost(root: Path, taken_in: set[str]) -> dict[str, int]:
    """What the ledger says of the questions that were taken in, but for those that ended or wait."""
    with stage.open_engine(root) as engine:
        known = {run.run_id: run.status for run in engine.runs(100_000)}
    odd = Counter(known.get(run_id, "unknown") for run_id in taken_in)
    return {status: count for status, count in odd.items() if status in ("running", "interrupted", "failed", "unknown")}


def _at(values: list[float], share: float) -> str:
    return f"{statistics.quantiles(values, n=100)[int(share * 100) - 1] * 1000:,.0f} ms" if len(values) > 2 else "–"


def _print(name: str, load: Load, seconds: float, odd: dict[str, int]) -> None:
    memory = [megabytes for moment, megabytes in load.memory if moment >= WARM]
    rows = [
        ("questions answered or waiting", f"{len(load.asks):,} ({len(load.asks) / seconds:.1f} a second)"),
        ("a question, half / 95 % within", f"{_at(load.asks, 0.5)} / {_at(load.asks, 0.95)}"),
        ("events read", f"{load.events:,}"),
        ("streams resumed", f"{load.resumed:,}"),
        ("decisions", f"{len(load.decisions):,}"),
        ("a decision, half / 95 % / 99 % within", " / ".join(_at(load.decisions, one) for one in (0.5, 0.95, 0.99))),
        ("a list of what waits, 95 % within", _at(load.lists, 0.95)),
        ("errors", str(dict(load.errors) or 0)),
        ("failed", str(load.ends["failed"])),
        ("questions of which the ledger does not know the end", str(odd or 0)),
    ]
    if memory:
        rows.append(
            (
                f"memory after {WARM:.0f} s, at most, at the end",
                f"{memory[0]:.0f}, {max(memory):.0f}, {memory[-1]:.0f} MB",
            )
        )
    print(f"\n| {name} | |\n|---|---:|")
    for row in rows:
        print(f"| {row[0]} | {row[1]} |")


async def measure(askers: int, seconds: float, runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workspace"
        stage.make_workspace(root)
        server, tickets = ServerProcess(root, _free_port(), runs), itertools.count(1)
        await server.start()
        steady = await part(server, askers, seconds, tickets, restart=False)
        restarted = await part(server, askers, seconds / 2, tickets, restart=True)
        await asyncio.sleep(6)  # for what follows from the last decisions
        await server.stop()
        _print(f"{askers} askers, {seconds:.0f} s", steady, seconds, lost(root, steady.taken_in))
        _print("restarted in the midst", restarted, seconds / 2, lost(root, restarted.taken_in))


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _serve(root: Path, port: int, runs: int) -> None:
    from veracity.server.listen import open_door
    from veracity.server.serve import serve

    own = {"port": port, "runs": runs, "asks_per_minute": 1_000_000, "requests_per_minute": 10_000_000, "grace": 2}
    with stage.open_engine(root, server=own) as engine:
        serve(engine, open_door(engine.settings.server, engine.users), lambda door: None)


def main() -> None:
    parser = argparse.ArgumentParser(description="A server under load")
    parser.add_argument("--askers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--serve", nargs=3, metavar=("ROOT", "PORT", "RUNS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        _serve(Path(given.serve[0]), int(given.serve[1]), int(given.serve[2]))
    else:
        asyncio.run(measure(given.askers, given.seconds, given.runs))


if __name__ == "__main__":
    main()
