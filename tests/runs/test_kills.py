"""Processes are killed while they ask, wait and decide, and decisions race (SPEC D6, A12, X3): nothing is lost or
doubled.

`make campaign-kill N=1000` and `make campaign-races N=1000` do the same for longer.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from benchmarks.campaigns import kill, races, records, worker
from benchmarks.campaigns.fork_server import ForkServer
from benchmarks.campaigns.step_invariants import check_path, read_shown
from benchmarks.campaigns.webhook import receiving

KILLS = int(os.environ.get("VERACITY_KILLS", "5"))
RACES = 8
SEED = 11


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """Imports everything once, in another process."""
    with ForkServer(*kill.MODULES, *races.MODULES) as running:
        yield running


def test_kills_neither_lose_nor_duplicate_anything(tmp_path: Path) -> None:
    with receiving() as received, ForkServer(*kill.MODULES) as server:  # which inherits the secret of the webhook
        campaign = kill.Campaign(server, tmp_path, SEED, received, max_recovery_seconds=600)  # however slow the machine
        tally = campaign.run(KILLS)
    assert tally.violations == []
    assert tally.kills >= KILLS
    assert tally.resumed  # otherwise nothing was interrupted


def test_x3_a_step_that_was_shown_before_a_kill_is_in_the_receipt(server: ForkServer, root: Path) -> None:
    """Killed after the retrieval round was shown, then resumed by another process."""
    log = root.parent / "log"
    ask = worker.Job("ask", str(root), str(log), die_at="event finished grade_documents", ticket=1)
    assert server.start(worker.run, asdict(ask)).wait() == kill.KILLED
    assert server.start(worker.run, asdict(worker.Job("recover", str(root), str(root.parent / "log2")))).wait() == 0
    shown = read_shown([json.loads(line) for line in log.read_text().splitlines()])
    (run,) = records.read(root).runs
    assert shown[run.run_id][-1][0] == "grade_documents"
    assert [(step.name, step.started) for step in run.steps][: len(shown[run.run_id])] == shown[run.run_id]
    assert list(check_path(run)) == []


def test_of_two_concurrent_decisions_one_wins(server: ForkServer, tmp_path: Path) -> None:
    result = races.run(server, tmp_path, RACES, SEED)
    assert result.violations == []
    assert result.wins.total() == result.refused == RACES
    assert result.wins.keys() <= {"left", "right"}
    assert result.verdicts.keys() <= Counter(approve=1, edit=1, reject=1).keys()
