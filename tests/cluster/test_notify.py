"""Processes tell each other of changes, so that nobody has to poll often."""

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.cluster.conftest import MakeEngine, StartWorker
from tests.ledger.material import begin, make_step, suspend_run
from tests.postgres import schema_url
from tests.runs.scripts import PASS, QUESTION, WRONG, judged
from tests.server.conftest import Served
from tests.waiting import until
from veracity.engine import Veracity
from veracity.ledger import Ledger
from veracity.ledger.shared_lock import PostgresLock
from veracity.models import LedgerChange
from veracity.server.live import events, feed, wakeups
from veracity.testing import ScriptedLLM

EVERYTHING = LedgerChange(kind="all")
NEVER = 3600.0


@pytest.fixture
def without_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "POLL_SECONDS", NEVER)
    monkeypatch.setattr(feed, "POLL_SECONDS", NEVER)
    monkeypatch.setattr(wakeups, "MAX_POLL_SECONDS", NEVER)


@pytest.mark.usefixtures("without_polling")
def test_followers_and_the_feed_are_woken(
    sharing: MakeEngine, work: StartWorker, serve: Callable[[Veracity], Served]
) -> None:
    def script() -> ScriptedLLM:
        return ScriptedLLM.by_role(writer=WRONG, reviewer=PASS, judge=judged(20)[0])

    served = serve(sharing(script(), answering={"gener_epoch": 0}))
    until(lambda: served.app.state.wakeups._listener.is_connected)
    client = served.client()
    with client.stream("GET", "/api/events") as listening:
        lines = (line for line in listening.iter_lines() if line.startswith("data:"))
        assert json.loads(next(lines)[5:])["kind"] == "hello"
        work(sharing(script(), answering={"gener_epoch": 0}))
        asked = client.post("/api/ask", json={"question": QUESTION}).json()  # follows the run of the worker
        assert asked["status"] == "awaiting_approval"
        heard = json.loads(next(lines)[5:])
    assert (heard["kind"], heard["run_id"], heard["state"]) == ("approval", asked["run_id"], "pending")


def test_a_listener_hears_its_own_workspace_also_after_a_lost_connection(tmp_path: Path, url: str) -> None:
    ledger, other = Ledger(tmp_path, url), Ledger(tmp_path, schema_url(url.partition("?")[0], tmp_path / "other"))
    heard: list[LedgerChange] = []
    listener = ledger.membership.listen(heard.append)
    assert listener
    until(lambda: heard == [EVERYTHING])
    suspend_run(other, "elsewhere")
    token = begin(ledger, "r1")
    ledger.record("r1", make_step(), token=token)
    until(lambda: LedgerChange(kind="run", run_id="r1") in heard)
    assert LedgerChange(kind="approvals") not in heard
    heard.clear()
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' "
            "AND query LIKE '%' || md5(current_schema()) || '%'"
        ).fetchall()
    assert ended == [(True,)]
    until(lambda: heard.count(EVERYTHING) == 2 and listener.is_connected)
    with PostgresLock(url)("knowledge", 0):
        pass
    until(lambda: heard[-1] == LedgerChange(kind="documents"))
    listener.close()
    assert not listener.is_connected
    for each in (ledger, other):
        each.close()


def test_a_ledger_in_a_file_has_no_listener(tmp_path: Path) -> None:
    assert Ledger(tmp_path).membership.listen(lambda _: None) is None
