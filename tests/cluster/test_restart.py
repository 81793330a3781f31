"""Postgres is restarted while servers and workers use it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import MakeEngine, StartWorker
from tests.postgres import Cluster, running_cluster, schema_url
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import Served, serving
from tests.server.live.test_runs import Held
from tests.waiting import until
from veracity.engine import Veracity
from veracity.errors import UnreachableLedgerError, VeracityError
from veracity.ledger import Ledger
from veracity.testing import ScriptedLLM


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster:
        yield cluster


def require_refusal(served: Served) -> None:
    refused = served.client().post("/api/ask", json={"question": QUESTION})
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert "cannot be reached" in refused.json()["error"]["message"]


def test_requests_fail_until_postgres_is_back(engine_with: MakeEngine, cluster: Cluster, tmp_path: Path) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(90)[0])
    engine = engine_with(llm, approval={}, store={"ledger": schema_url(cluster.url, tmp_path)})
    with serving(engine) as served:
        client = served.client()
        before = client.post("/api/ask", json={"question": QUESTION}).json()
        assert before["status"] == "answered"
        cluster.stop()
        require_refusal(served)
        cluster.start()
        after = client.post("/api/ask", json={"question": QUESTION}).json()
        assert after["status"] == "answered"
        assert {run.run_id for run in engine.runs()} == {before["run_id"], after["run_id"]}
    engine.close()


def test_a_worker_goes_on_when_postgres_is_back(
    engine_with: MakeEngine, cluster: Cluster, tmp_path: Path, work: StartWorker
) -> None:
    """With the question that it was working on, and with the next one."""
    url, held = schema_url(cluster.url, tmp_path), Held()

    def make(writer: Any) -> Veracity:
        llm = ScriptedLLM.by_role(writer=writer, reviewer=PASS, judge=judged(90)[0])
        return engine_with(llm, approval={}, store={"ledger": url})

    engine = make(GOOD)
    with serving(engine, works=False) as served:
        work(make(held))
        run_id = engine.begin(QUESTION, queued=True)
        assert held.asked.wait(60)
        cluster.stop()
        held.goes_on.set()
        require_refusal(served)
        cluster.start()
        until(lambda: _status(engine, run_id) == "answered")
        assert served.client().post("/api/ask", json={"question": QUESTION}).json()["status"] == "answered"
    names = [step.name for step in engine.progress(run_id).steps]
    assert names.count("generate_answer") == 1


def _status(engine: Veracity, run_id: str) -> str:
    try:
        return engine.standing(run_id).status
    except VeracityError:
        return "unknown"


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(UnreachableLedgerError, match=r'^"postgresql://nobody@127\.0\.0\.1:1/none" cannot be reached'):
        ledger.runs()
