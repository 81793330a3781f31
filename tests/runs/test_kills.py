"""Processes are killed while they ask, wait and decide, and decisions race (SPEC D6, A12): nothing is lost or doubled.

`make campaign-kill N=1000` and `make campaign-races N=1000` do the same for longer.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.campaigns import kill, races
from benchmarks.campaigns.fork_server import ForkServer

KILLS = int(os.environ.get("VERACITY_KILLS", "20"))
RACES = 20
SEED = 11


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """Imports everything once, in another process."""
    with ForkServer(*kill.MODULES, *races.MODULES) as running:
        yield running


def test_kills_neither_lose_nor_duplicate_anything(server: ForkServer, tmp_path: Path) -> None:
    tally = kill.Campaign(server, tmp_path, SEED, max_recovery_seconds=600).run(KILLS)  # however slow the machine
    assert tally.violations == []
    assert tally.kills >= KILLS
    assert tally.resumed  # otherwise nothing was interrupted


def test_of_two_concurrent_decisions_one_wins(server: ForkServer, tmp_path: Path) -> None:
    result = races.run(server, tmp_path, RACES, SEED)
    assert result.violations == []
    assert result.wins.total() == result.refused == RACES
    assert result.wins.keys() <= {"left", "right"}
    assert result.verdicts.keys() <= Counter(approve=1, edit=1, reject=1).keys()
