"""A run that is under way can be stopped: it has failed, and nobody goes on with it."""

import pytest

from tests.ledger.material import begin, make_step, ran, waits
from veracity.errors import LostLeaseError, NotFoundError
from veracity.ledger import Ledger


def test_what_is_stopped_has_failed_and_is_taken_up_by_nobody(ledger: Ledger) -> None:
    token = begin(ledger, "r1")
    stopped = ledger.stop("r1", by="ann")
    assert (stopped.status, stopped.problem) == ("failed", "Stopped by ann.")
    with pytest.raises(LostLeaseError):
        ledger.record("r1", make_step(), token=token)
    assert (ledger.interrupted(), ledger.unfinished(), ledger.take_over("r1", 60.0)) == ([], [], None)
    assert ledger.stop("r1", by="bob").problem == "Stopped by ann."


def test_what_was_left_is_not_taken_up_once_it_is_stopped(ledger: Ledger) -> None:
    ledger.release("r1", begin(ledger, "r1"))
    assert ledger.interrupted() == ["r1"]
    ledger.stop("r1", by="ann")
    assert ledger.interrupted() == []


def test_what_has_ended_or_waits_or_was_decided_stays_as_it_is(ledger: Ledger) -> None:
    ran(ledger, "ended")
    waits(ledger, "waits")
    waits(ledger, "decided")
    ledger.decide("decided", "approve", by="bob")
    ledger.take_over("decided", 60.0)
    told = [(ledger.stop(one, by="ann").status, ledger.summary(one).problem) for one in ("ended", "waits", "decided")]
    assert told == [("answered", ""), ("awaiting_approval", ""), ("running", "")]
    assert [one.approval_id for one in ledger.approvals()] == ["waits.1"]


def test_what_is_not_there_cannot_be_stopped(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError):
        ledger.stop("r1", by="ann")
