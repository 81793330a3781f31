"""An experiment survives kills: every case ends once. `make campaign-experiments` kills more often."""

from pathlib import Path

import pytest
from benchmarks.campaigns import experiment_kills
from benchmarks.campaigns.fork_server import ForkServer

KILLS, CASES, SEED = 2, 8, 5


@pytest.mark.only_sqlite
def test_kills_neither_lose_nor_duplicate_a_case(tmp_path: Path) -> None:
    with ForkServer(*experiment_kills.MODULES) as server:
        tally = experiment_kills.run(server, tmp_path / "workspace", KILLS, CASES, SEED)
    assert tally.violations == []
    assert tally.kills >= 1
