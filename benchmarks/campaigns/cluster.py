"""Workers on one Postgres: how throughput grows with them, and whether kills lose or repeat anything.

    python -m benchmarks.campaigns.cluster scale [--questions 128] [--seconds 0.5] [--experiment]
    python -m benchmarks.campaigns.cluster kill [--kills 100] [--seed 1]

Models are scripted: each call waits `--seconds`, as a provider would. A question takes three calls, and every third
answer waits for approval. `scale` answers the same questions with one, two and four workers; with `--experiment` they
are the cases of a suite, which another process runs. `kill` has three workers
and two processes that ask and decide. It repeatedly kills one of the five, chosen at random, and restarts it. At the
end every question that was accepted must have ended, every decision must have been carried out, and no step and no
answer may exist twice. A run is taken over when another owner has its lease.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psycopg
from tests.postgres import running_cluster
from tests.runs.scripts import DOCUMENTS, GOOD, PASS, QUESTION, judged

from veracity import worker
from veracity.engine import Veracity
from veracity.errors import DecisionError, VeracityError
from veracity.settings import Settings
from veracity.testing import ScriptedCall, ScriptedLLM

USERS = ("ann", "bob", "eve")
PRELOADED = [  # all that a process needs: kills are more frequent than it could import them
    "benchmarks.campaigns.cluster",
    "veracity.evaluator",
    "veracity.ledger.jobs",
    "veracity.runs.postgres_checkpoints",
    "veracity.runs.runner",
]
WORKERS, ASKERS = 3, 2
PAUSE_SECONDS = (0.2, 2.0)  # between kills
PATIENCE_SECONDS = 120.0
MAX_TAKE_OVER_SECONDS = 2.0
# Fewer than the workers that survive a kill can run at once: a run that waits for a place is not taken over late.
MAX_UNDER_WAY = 4
CALL_SECONDS = 0.5  # of a model, so that kills hit runs in every step


def open_engine(root: Path, url: str, seconds: float, runs: int = 4) -> Veracity:
    calls = iter(range(10**9))

    def wait(reply: Any) -> Callable[[ScriptedCall], Any]:
        def answer(_: ScriptedCall) -> Any:
            time.sleep(seconds)
            return reply() if callable(reply) else reply

        return answer

    llm = ScriptedLLM.by_role(
        writer=wait(GOOD), reviewer=wait(PASS), judge=wait(lambda: judged(20 if next(calls) % 3 == 0 else 90)[0])
    )
    models = {"embedder": "none", **{role: f"test:{role}" for role in ("writer", "reviewer", "judge")}}
    settings = {"models": models, "store": {"ledger": url}, "worker": {"runs": runs}, "server": {"grace": 0}}
    settings["quality"] = {"max_rewrites": 0}  # so that no step is repeated on purpose
    return Veracity(root, settings=Settings.model_validate(settings), llm=llm)


def work(root: Path, url: str, seconds: float, runs: int = 4) -> None:
    """A worker, until it is killed."""
    with open_engine(root, url, seconds, runs) as engine:
        worker.work(engine)


def ask(root: Path, url: str, log: Path) -> None:
    """Asks and decides until it is killed, and logs what was accepted."""
    chance = random.Random(os.getpid())
    with open_engine(root, url, 0) as engine, log.open("a", buffering=1) as file:
        while True:
            try:
                if sum(run.status in ("running", "interrupted") for run in engine.runs(20)) < MAX_UNDER_WAY:
                    file.write(f"asked {engine.begin(QUESTION, user=chance.choice(USERS), queued=True)}\n")
                for approval in engine.approvals(limit=5):
                    verdict: Any = chance.choice(("approve", "reject"))
                    engine.inbox.store_decision(approval.approval_id, verdict, by="approver", queued=True)
                    file.write(f"decided {approval.run_id} {verdict}\n")
            except DecisionError:
                pass  # the other one was first
            except VeracityError as error:
                file.write(f"error {error}\n")
            time.sleep(0.1)


@contextmanager
def prepared() -> Iterator[tuple[Path, str]]:
    """A workspace with documents, and the URL of a Postgres for it."""
    with running_cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workspace"
        with open_engine(root, cluster.url, 0) as engine:
            engine.add(DOCUMENTS)
            engine.prepare()
        yield root, cluster.url


def context() -> Any:
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(PRELOADED)
    return made


def measure_scale(questions: int, seconds: float, run: Callable[[Veracity, int], None]) -> None:
    print(f"{questions} questions, three model calls of {seconds} s each, 2 runs at once per worker\n")
    print("| workers | seconds | questions a second | ratio |\n|---|---|---|---|")
    first = 0.0
    for count in (1, 2, 4):
        with prepared() as (root, url):
            workers = [context().Process(target=work, args=(root, url, seconds, 2), daemon=True) for _ in range(count)]
            for process in workers:
                process.start()
            with open_engine(root, url, 0) as engine:
                end = time.monotonic() + PATIENCE_SECONDS
                while sum(member.kind == "worker" for member in engine.membership.list_alive()) < count:
                    assert time.monotonic() < end, "the workers did not start"
                    time.sleep(0.1)
                time.sleep(2)  # they load what the first question needs
                started = time.monotonic()
                run(engine, questions)
                took = time.monotonic() - started
            for process in workers:
                process.kill()
        rate = questions / took
        first = first or rate
        print(f"| {count} | {took:.1f} | {rate:.2f} | {rate / first:.2f} |", flush=True)


def ask_all(engine: Veracity, questions: int) -> None:
    run_ids = [engine.begin(QUESTION, user=USERS[at % 3], queued=True) for at in range(questions)]
    while any(engine.standing(run_id).status == "running" for run_id in run_ids):
        time.sleep(0.05)


def experiment(engine: Veracity, questions: int) -> None:
    """The questions as cases of a suite."""
    (engine.root / "evals").mkdir()
    cases = (json.dumps({"id": str(number), "question": QUESTION}) + "\n" for number in range(questions))
    (engine.root / "evals" / "team.jsonl").write_text("".join(cases))
    assert engine.experiment("team", concurrency=16).finished == questions


class KillCampaign:
    def __init__(self, root: Path, url: str, seed: int) -> None:
        self._root, self._url = root, url
        self._chance = random.Random(seed)
        self._context = context()
        self._processes: dict[str, BaseProcess] = {}
        self._kills: Counter[str] = Counter()
        self._take_overs: list[float] = []
        self._database = psycopg.connect(url, autocommit=True)

    def run(self, kills: int) -> list[str]:
        names = [*(f"worker{at}" for at in range(WORKERS)), *(f"asker{at}" for at in range(ASKERS))]
        for name in names:
            self._start(name)
        self._wait(lambda: self._count("SELECT count(*) FROM runs") > 3)
        while self._kills.total() < kills:
            time.sleep(self._chance.uniform(*PAUSE_SECONDS))
            self._kill(self._chance.choice(names))
        for name in names[WORKERS:]:
            self._processes[name].kill()
        problems = self._settle()
        for process in self._processes.values():
            process.kill()
        return problems + self._verify()

    def print_table(self, problems: list[str]) -> None:
        print("| | |\n|---|---|")
        print(f"| kills | {self._kills.total()} ({', '.join(f'{n} {k}' for k, n in sorted(self._kills.items()))}) |")
        print(f"| questions | {self._count('SELECT count(*) FROM runs')} |")
        print(f"| decisions | {self._count('SELECT count(*) FROM approvals WHERE verdict IS NOT NULL')} |")
        print(f"| runs taken over | {len(self._take_overs)} |")
        if self._take_overs:
            slowest, median = max(self._take_overs), statistics.median(self._take_overs)
            print(f"| seconds until taken over | {median:.2f} median, {slowest:.2f} slowest |")
        print(f"| violations | {len(problems)} |")

    def _start(self, name: str) -> None:
        is_worker = name.startswith("worker")
        arguments = (self._root, self._url, CALL_SECONDS if is_worker else self._root.parent / name)
        process = self._context.Process(target=work if is_worker else ask, args=arguments, daemon=True)
        process.start()
        self._processes[name] = process

    def _kill(self, name: str) -> None:
        owners = {run_id: owner for run_id, owner, _ in self._leases() if owner}
        process = self._processes[name]
        if process.pid:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed = time.monotonic()
        self._kills["worker" if name.startswith("worker") else "asker"] += 1
        self._start(name)
        if name.startswith("worker"):
            self._measure_take_over(owners, killed)

    def _measure_take_over(self, owners: dict[str, str], killed: float) -> None:
        """Of the runs whose owner is gone: Postgres knows its session no more."""
        alive = {owner for owner in set(owners.values()) if self._is_alive(owner)}
        orphans = {run_id for run_id, owner in owners.items() if owner not in alive}
        while orphans and time.monotonic() - killed < 30:
            held = {run_id: owner for run_id, owner, status in self._leases() if status == "running"}
            for run_id in list(orphans):
                if held.get(run_id, "ended") not in (owners[run_id], None):
                    self._take_overs.append(time.monotonic() - killed)
                    orphans.discard(run_id)
            time.sleep(0.02)
        self._take_overs += [30.0] * len(orphans)

    def _is_alive(self, owner: str) -> bool:
        query = "SELECT pg_try_advisory_xact_lock_shared(hashtextextended('veracity:owner:' || %s::text, 0))"
        row = self._database.execute(query, (owner,)).fetchone()
        return not (row and row[0])

    def _leases(self) -> list[tuple[str, str | None, str]]:
        query = "SELECT r.run_id, l.owner, r.status FROM runs r JOIN leases l USING (run_id) WHERE r.status = 'running'"
        return self._database.execute(query).fetchall()

    def _settle(self) -> list[str]:
        """Waits until nothing is left to do."""
        unfinished = (
            "SELECT count(*) FROM runs r WHERE status = 'running' OR (status = 'awaiting_approval' AND NOT EXISTS "
            "(SELECT 1 FROM approvals a WHERE a.run_id = r.run_id AND a.state = 'pending'))"
        )
        try:
            self._wait(lambda: self._count(unfinished) == 0)
        except AssertionError:
            return [f"{self._count(unfinished)} runs did not end"]
        return []

    def _verify(self) -> list[str]:
        logs = [log.read_text().splitlines() for log in self._root.parent.glob("asker*")]
        lines = [line.split() for log in logs for line in log]
        problems = [" ".join(line) for line in lines if line[0] == "error"]
        known: dict[str, str] = dict(self._database.execute("SELECT run_id, status FROM runs").fetchall())
        problems += [f"question {line[1]} was lost" for line in lines if line[0] == "asked" and line[1] not in known]
        verdicts: dict[str, str] = dict(
            self._database.execute("SELECT run_id, verdict FROM approvals WHERE verdict IS NOT NULL").fetchall()
        )
        for line in lines:
            if line[0] == "decided" and verdicts.get(line[1]) != line[2]:
                problems.append(f"decision on {line[1]} was lost")
        problems += [f"run {run_id} failed" for run_id, status in known.items() if status == "failed"]
        repeated = "SELECT run_id, name, count(*) FROM steps WHERE name <> 'retrieve' GROUP BY 1, 2 HAVING count(*) > 1"
        problems += [f"run {row[0]} has {row[1]} {row[2]} times" for row in self._database.execute(repeated).fetchall()]
        return problems

    def _count(self, query: str) -> int:
        row = self._database.execute(query.encode()).fetchone()
        return int(row[0]) if row else 0

    def _wait(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("mode", choices=("scale", "kill"))
    parser.add_argument("--questions", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--experiment", action="store_true")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.mode == "scale":
        measure_scale(options.questions, options.seconds, experiment if options.experiment else ask_all)
        return
    with prepared() as (root, url):
        campaign = KillCampaign(root, url, options.seed)
        problems = campaign.run(options.kills)
        campaign.print_table(problems)
        for problem in problems[:20]:
            print(problem)
        slow = [seconds for seconds in campaign._take_overs if seconds > MAX_TAKE_OVER_SECONDS]
        if slow:
            print(f"{len(slow)} runs were taken over after more than {MAX_TAKE_OVER_SECONDS} s")
        sys.exit(bool(problems))


if __name__ == "__main__":
    main()
