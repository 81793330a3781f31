"""Evaluations over HTTP of a server that does not work: a worker scores them, and nothing of them stays."""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.cluster.conftest import MakeEngine, StartWorker
from tests.runs.scripts import judged
from tests.server.conftest import TOKEN, Served
from tests.waiting import until
from veracity.deadlines import Stop
from veracity.engine import Veracity
from veracity.errors import EvaluationError, ModelAccessError, OutOfTimeError, Stopped
from veracity.queues import evaluation_queue
from veracity.testing import ScriptedLLM

ServeWithoutWork = Callable[[Veracity], Served]
BODY: dict[str, Any] = {
    "question": "How long is the warranty?",
    "answer": "The warranty lasts 24 months [1].",
    "context": ["The warranty lasts 24 months."],
}


class Waiting:
    """A judge that answers when the test allows it."""

    def __init__(self) -> None:
        self.asked, self.goes_on = threading.Event(), threading.Event()

    def __call__(self, _: object) -> Any:
        self.asked.set()
        self.goes_on.wait(60)
        return judged(80)[0]


def rows(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT user_name, state FROM evaluations ORDER BY created").fetchall()


def test_a_worker_scores_what_a_server_gets(
    sharing: MakeEngine, work: StartWorker, serve: ServeWithoutWork, url: str
) -> None:
    served = serve(sharing())
    work(sharing())
    client = served.client(role="asker", name="ann")
    got = client.post("/api/evaluate", json=BODY).json()
    here = served.engine.evaluate(**BODY).model_dump(mode="json")
    assert (got["overall_score"], got["metric_set"]) == (here["overall_score"], here["metric_set"])
    refused = client.post("/api/evaluate", json={**BODY, "metrics": ["Nothing"]})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (400, "InputError")
    assert 'no metric "Nothing"' in refused.json()["error"]["message"]
    assert rows(url) == []
    served.engine.evaluation_queue.clean_up()
    with psycopg.connect(url) as connection:  # no page of the table holds the texts
        assert connection.execute("SELECT pg_relation_size('evaluations')").fetchone() == (0,)
        persistence = "SELECT relpersistence FROM pg_class WHERE oid = 'evaluations'::regclass"
        assert connection.execute(persistence).fetchone() == ("u",)  # not in the write-ahead log
        assert connection.execute(
            "SELECT count(*) FROM procrastinate_jobs WHERE args::text LIKE '%warranty%'"
        ).fetchone() == (0,)


def test_a_client_that_disconnects_ends_the_evaluation(
    sharing: MakeEngine, work: StartWorker, serve: ServeWithoutWork, url: str
) -> None:
    judge = Waiting()
    served = serve(sharing(ScriptedLLM.by_role(judge=judge)))
    engine = sharing(ScriptedLLM.by_role(judge=judge))
    work(engine)
    content, host, port = json.dumps(BODY), "127.0.0.1", int(served.url.rpartition(":")[2])
    head = f"POST /api/evaluate HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n"
    with socket.create_connection((host, port)) as connection:
        rest = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n{content}"
        connection.sendall((head + rest).encode())
        assert judge.asked.wait(60)
    until(lambda: rows(url) == [] and not engine.evaluation_queue._stops)
    judge.goes_on.set()


def test_another_worker_scores_what_a_dead_one_left(sharing: MakeEngine, url: str) -> None:
    engine, results = sharing(), list[Any]()
    asking = threading.Thread(
        target=lambda: results.append(engine.evaluation_queue.evaluate(**BODY, user="ann").metric_set)
    )
    assert engine.evaluation_queue._rows.look("none") is None
    asking.start()
    until(lambda: len(rows(url)) == 1)
    [evaluation_id] = lost_jobs(url)
    assert engine._parts.ledger.evaluations.start(evaluation_id)
    assert rows(url) == [("ann", "started")]
    engine.evaluation_queue.queue_lost()
    assert (rows(url), lost_jobs(url)) == ([("ann", "queued")], [evaluation_id])
    for _ in range(2):
        engine.evaluation_queue.execute(evaluation_id, engine.evaluate)
    asking.join(60)
    assert results == ["default-local"]


def lost_jobs(url: str) -> list[str]:
    """As if their workers died."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("DELETE FROM procrastinate_jobs RETURNING args->>'evaluation_id'").fetchall()
    return [row[0] for row in found]


def test_errors_of_a_worker_are_raised_on_the_server(sharing: MakeEngine, url: str) -> None:
    engine = sharing()
    cause = ModelAccessError("The provider refused the key.")
    rows = engine._parts.ledger.evaluations
    rows.add("one", "ann", {})
    rows.finish("one", EvaluationError("Coverage", cause))
    found = rows.look("one")
    assert found and isinstance(found.result, EvaluationError) and isinstance(found.result.cause, ModelAccessError)
    assert str(found.result) == 'The metric "Coverage" failed: The provider refused the key.'


def test_nobody_waits_for_ever(sharing: MakeEngine, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_queue, "GRACE_SECONDS", 0)
    engine = sharing(evaluator={"deadline": 0.1})
    with pytest.raises(OutOfTimeError, match="No worker was free"):
        engine.evaluation_queue.evaluate(**BODY, user="ann")
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        engine.evaluation_queue.evaluate(**BODY, user="ann", stop=stop)
    assert rows(url) == []
