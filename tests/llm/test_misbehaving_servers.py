"""A sample of `make campaign-servers`: every run ends in time with a true status, and leaves nothing behind."""

from pathlib import Path

import pytest
from benchmarks.campaigns import servers
from benchmarks.campaigns.misbehaviours import KINDS

SAMPLE = {
    "endless looping reply": "streamed writer",
    "loop in JSON": "reviewer",
    "10 MB": "streamed writer",
    "gzip that is none": "writer",
    "a number of 4,000 digits": "judge",
    "never answers": "reviewer",
}


def test_campaign_has_many_kinds() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names)) >= 20 and SAMPLE.keys() <= set(names)


def test_runs_end_truthfully_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC A13, B9, C5."""
    monkeypatch.setattr(servers, "GRACE_SECONDS", 60.0)  # for a busy machine
    monkeypatch.setattr(servers, "LEFT_SECONDS", 60.0)
    for kind in KINDS:
        if role := SAMPLE.get(kind.name):
            outcomes = servers.run(tmp_path / kind.name, [kind], [role])
            assert [(one.kind, one.problems) for one in outcomes] == [(kind.name, [])]
