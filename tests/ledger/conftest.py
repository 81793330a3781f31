from collections.abc import Iterator
from pathlib import Path

import pytest

from veracity.ledger import Ledger, Observations


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    ledger.close()


@pytest.fixture
def observations(tmp_path: Path) -> Observations:
    return Observations(tmp_path / "observational_data.json")
