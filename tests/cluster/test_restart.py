"""Postgres is restarted while servers use it."""

import pytest

from tests.cluster.conftest import MakeEngine
from tests.postgres import running_cluster
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import serving
from veracity.errors import UnreachableLedgerError
from veracity.ledger import Ledger
from veracity.testing import ScriptedLLM


def test_requests_fail_until_postgres_is_back(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(90)[0])
    with running_cluster() as cluster:
        engine = engine_with(llm, approval={}, store={"ledger": cluster.url})
        with serving(engine) as served:
            client = served.client()
            before = client.post("/api/ask", json={"question": QUESTION}).json()
            assert before["status"] == "answered"
            cluster.stop()
            refused = client.post("/api/ask", json={"question": QUESTION})
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) >= 1
            assert "cannot be reached" in refused.json()["error"]["message"]
            cluster.start()
            after = client.post("/api/ask", json={"question": QUESTION}).json()
            assert after["status"] == "answered"
            assert {run.run_id for run in engine.runs()} == {before["run_id"], after["run_id"]}
        engine.close()


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: object) -> None:
    ledger = Ledger(tmp_path, "postgresql://nobody@127.0.0.1:1/none")  # type: ignore[arg-type]
    with pytest.raises(UnreachableLedgerError, match=r'^"postgresql://nobody@127\.0\.0\.1:1/none" cannot be reached'):
        ledger.runs()
