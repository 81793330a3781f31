"""Processes that ask, wait and decide are killed, and deciders race (SPEC D6, A12): nothing is lost, or there twice.

`make campaign-kill N=1000` and `make campaign-races N=1000` do the same for longer.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.campaigns import kill, races
from benchmarks.campaigns.forking import ForkServer

KILLS = int(os.environ.get("VERACITY_KILLS", "20"))
RACES = 20
SEED = 11


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """Imports everything once, in a process of its own."""
    with ForkServer(*kill.MODULES, *races.MODULES) as running:
        yield running


def test_no_run_approval_decision_or_observation_is_lost_or_doubled_by_kills(
    server: ForkServer, tmp_path: Path
) -> None:
    tally = kill.Campaign(server, tmp_path, SEED).run(KILLS)
    assert tally.violations == []
    assert tally.kills >= KILLS
    assert tally.taken_up  # or nothing was interrupted, and nothing was shown
    assert max(tally.recoveries) < kill.SECONDS


def test_of_two_deciders_one_wins_and_the_other_is_told(server: ForkServer, tmp_path: Path) -> None:
    outcome = races.run(server, tmp_path, RACES, SEED)
    assert outcome.violations == []
    assert outcome.wins.total() == outcome.refused == RACES
    assert outcome.wins.keys() <= {"left", "right"}
    assert outcome.verdicts.keys() <= Counter(approve=1, edit=1, reject=1).keys()
