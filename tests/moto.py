"""An S3-compatible server on this machine, and its keys."""

from collections.abc import Iterator

import pytest
from benchmarks.campaigns.s3_servers import ENVIRONMENT, NOT_INSTALLED, Moto, is_moto_installed


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    if not is_moto_installed():
        pytest.skip(NOT_INSTALLED)
    with Moto() as running:
        yield running


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
