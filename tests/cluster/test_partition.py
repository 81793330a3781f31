"""A process that is cut off from Postgres, or whose connection hangs, loses its run: late writes are refused."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from benchmarks.campaigns import partition

from tests.cluster.proxy import proxying
from tests.cluster.test_sharing import owner_of
from tests.ledger.leased import ROOT, read_output, start
from tests.waiting import until
from veracity.ledger import Ledger

LEASE_SECONDS = 3.0


def test_a_frozen_connection_loses_its_run_when_the_lease_expires(tmp_path: Path, url: str) -> None:
    """The machine in between still acknowledges packets: only time tells that nothing arrives."""
    ledger, port = Ledger(tmp_path, url), urlsplit(url).port
    assert port
    with proxying("127.0.0.1", port) as (proxy, own_port):
        writer = start("keep_writing", tmp_path, url.replace(f":{port}/", f":{own_port}/"), "r1", LEASE_SECONDS)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "1\n"
        until(lambda: len(ledger.steps("r1")) > 2)
        owner = owner_of(ledger, "r1")
        os.kill(proxy.pid, signal.SIGSTOP)
        assert ledger.interrupted() == []
        until(lambda: ledger.interrupted() == ["r1"])
        assert ledger._owners.is_alive(owner)
        assert ledger.acquire_lease("r1") == 2
        assert not ledger._owners.is_alive(owner)  # its session was ended
        steps = ledger.steps("r1")
        os.kill(proxy.pid, signal.SIGCONT)
        assert read_output(writer)[-1] == "refused"
    assert ledger.steps("r1") == steps
    ledger.close()


def test_a_machine_that_is_cut_off_loses_its_run() -> None:
    """In network namespaces: see the campaign."""
    if reason := partition.why_not():
        pytest.skip(reason)
    command = [sys.executable, "-m", "benchmarks.campaigns.partition", "--cuts", "1", "--max-seconds", "600"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
