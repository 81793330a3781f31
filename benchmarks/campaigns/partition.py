"""Cuts a process off from Postgres while it writes: another one takes its run over, and its late writes are refused.

    python -m benchmarks.campaigns.partition [--cuts 10] [--max-seconds 10]

Postgres and the process that takes over are in one network namespace, the one that is cut off in another. A pair of
virtual network devices joins them. The process writes steps all the time, so that data is under way when its device
is set down. When the run is taken over, the device is set up again. Then the process must be refused, the sessions
that it had in Postgres must have ended, and no step may have been added with its token. Needs Linux, `ip`, `unshare`
and `nsenter`, and a system that lets this user create network namespaces: the program starts itself in one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from tests.ledger.leased import start
from tests.postgres import Cluster, running_cluster

from veracity.ledger import Ledger
from veracity.ledger.leases import LEASE_SECONDS

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
HERE, THERE, NETWORK = "10.213.0.1", "10.213.0.2", "10.213.0.0/24"
DEVICES = ("veracity0", "veracity1")
IN_NAMESPACE = "--in-namespace"
SKIPPED = 77  # exit status


def namespace_command() -> list[str]:
    """Executes a command in a new network namespace. Postgres refuses to run as root, so a user stays itself."""
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-current-user", "--keep-caps", "--net"]


def why_not() -> str:
    """Why no network can be cut off here; empty if one can."""
    if missing := [name for name in ("ip", "unshare", "nsenter") if shutil.which(name) is None]:
        return f"{missing[0]} is not installed"
    probe = f"ip link add {DEVICES[0]} type veth peer name {DEVICES[1]}"
    tried = subprocess.run([*namespace_command(), "sh", "-c", probe], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"network namespaces are not allowed: {tried.stderr.strip()}"


class CutOffMachine:
    """Another network namespace, with a process to keep it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.prefix = ["nsenter", f"--net=/proc/{self._process.pid}/ns/net", "--"]
        own = Path("/proc/self/ns/net").readlink()
        _wait(lambda: Path(f"/proc/{self._process.pid}/ns/net").readlink() != own)
        inner, outer = DEVICES
        _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", str(self._process.pid))
        _ip("address", "add", f"{HERE}/24", "dev", outer)
        _ip("address", "add", f"{THERE}/24", "dev", inner, prefix=self.prefix)
        _ip("link", "set", "lo", "up")
        _ip("link", "set", outer, "up")
        self.join()

    def join(self) -> None:
        _ip("link", "set", DEVICES[0], "up", prefix=self.prefix)

    def cut_off(self) -> None:
        _ip("link", "set", DEVICES[0], "down", prefix=self.prefix)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def cut(machine: CutOffMachine, cluster: Cluster, ledger: Ledger, number: int) -> tuple[float, list[str]]:
    """The seconds until the run was taken over, and what went wrong."""
    run_id = f"r{number}"
    url = cluster.url.replace("127.0.0.1", HERE)
    writer = start("keep_writing", cluster.folder, url, run_id, LEASE_SECONDS, prefix=machine.prefix)
    assert writer.stdout is not None
    writer.stdout.readline()
    _wait(lambda: len(ledger.steps(run_id)) > 5)
    machine.cut_off()
    began = time.monotonic()
    _wait(lambda: run_id in ledger.interrupted())
    token = ledger.acquire_lease(run_id)
    seconds = time.monotonic() - began
    steps, sessions = len(ledger.steps(run_id)), _sessions(cluster)
    machine.join()
    output, _ = writer.communicate(timeout=PATIENCE_SECONDS)
    problems = [] if token == 2 else [f"{run_id}: the token of the new owner is {token}"]
    if not output.endswith("refused\n"):
        problems.append(f"{run_id}: the late write was not refused: {output!r}")
    if len(ledger.steps(run_id)) != steps:
        problems.append(f"{run_id}: the late write was stored")
    if sessions:
        problems.append(f"{run_id}: {sessions} sessions of the process did not end")
    if token is not None:
        ledger.release(run_id, token)
    return seconds, problems


def run(cuts: int) -> tuple[list[float], list[str]]:
    """In a network namespace of its own."""
    machine = CutOffMachine()
    try:
        with running_cluster(f"127.0.0.1,{HERE}", NETWORK) as cluster, tempfile.TemporaryDirectory() as folder:
            ledger = Ledger(Path(folder), cluster.url)
            results = [cut(machine, cluster, ledger, number) for number in range(cuts)]
            ledger.close()
    finally:
        machine.close()
    return [seconds for seconds, _ in results], [problem for _, problems in results for problem in problems]


def _sessions(cluster: Cluster) -> int:
    """How many the other machine still has. Those without the lock of an owner end by themselves."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE client_addr = %s"

    def count() -> int:
        with psycopg.connect(cluster.url) as connection:
            [row] = connection.execute(query, (THERE,)).fetchall()
            return int(row[0])

    end = time.monotonic() + MAX_SECONDS
    while (left := count()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def _ip(*arguments: str, prefix: Sequence[str] = ()) -> None:
    subprocess.run([*prefix, "ip", *arguments], check=True)


def _wait(is_so: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--max-seconds", type=float, default=MAX_SECONDS, help="until a run is taken over")
    parser.add_argument(IN_NAMESPACE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.in_namespace:
        if reason := why_not():
            print(f"Nothing was tested: {reason}.", file=sys.stderr)
            sys.exit(SKIPPED)
        own = [sys.executable, "-m", "benchmarks.campaigns.partition", *sys.argv[1:], IN_NAMESPACE]
        sys.exit(subprocess.run([*namespace_command(), *own], cwd=ROOT, check=False).returncode)
    seconds, problems = run(options.cuts)
    problems += [f"taken over after {each:.1f} s" for each in seconds if each > options.max_seconds]
    print("| | |\n|---|---|")
    print(f"| cuts | {len(seconds)} |")
    print(f"| seconds until taken over | {statistics.median(seconds):.1f} median, {max(seconds):.1f} slowest |")
    print(f"| violations | {len(problems)} |")
    for problem in problems:
        print(f"VIOLATION: {problem}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
