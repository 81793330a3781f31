"""Workers that share a ledger with servers (SPEC X11): every question is answered, by one of them, once."""

import asyncio
import logging
from collections.abc import Callable

import psycopg
import pytest

from tests.cluster.conftest import MakeEngine, StartWorker
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, judged
from tests.server.conftest import Served, serving
from tests.server.live.test_runs import Held
from tests.waiting import until
from veracity.engine import Veracity
from veracity.errors import ConfigurationError, LostLeaseError
from veracity.ledger.jobs import make_app
from veracity.server import health
from veracity.testing import ScriptedLLM
from veracity.worker import Worker, drop


def script(answer: str = GOOD, score: float = 90) -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=answer, reviewer=PASS, judge=judged(score)[0])


def has_ended(engine: Veracity, run_id: str) -> bool:
    return engine.standing(run_id).status != "running"


def test_a_worker_answers_what_a_server_queues(
    sharing: MakeEngine, work: StartWorker, serve: Callable[[Veracity], Served]
) -> None:
    served = serve(sharing(script()))
    work(sharing(script()))
    got = served.client().post("/api/ask", json={"question": QUESTION, "conversation": "c"}).json()
    assert (got["status"], got["text"]) == ("answered", GOOD)
    asked = served.client(role="asker", name="ann")
    assert asked.post("/api/ask", json={"question": QUESTION}).json()["status"] == "answered"
    kinds = {member.kind for member in served.engine.membership.list_alive()}
    assert kinds == {"server", "worker"}
    assert served.engine.traffic.queued() == 0


def test_a_worker_carries_out_decisions(
    sharing: MakeEngine, work: StartWorker, serve: Callable[[Veracity], Served]
) -> None:
    served = serve(sharing(script(WRONG, 20), answering={"gener_epoch": 0}))
    work(sharing(script(WRONG, 20), answering={"gener_epoch": 0}))
    client = served.client()
    waiting = client.post("/api/ask", json={"question": QUESTION}).json()
    assert waiting["status"] == "awaiting_approval"
    client.post(f"/api/approvals/{waiting['approval_id']}/decision", json={"verdict": "approve"}).raise_for_status()
    until(lambda: served.engine.standing(waiting["run_id"]).status == "answered")


def test_a_worker_continues_what_a_dead_one_left(sharing: MakeEngine, work: StartWorker) -> None:
    held = Held()
    dying = sharing(ScriptedLLM.by_role(writer=held, reviewer=PASS, judge=judged(90)[0]))
    engine = sharing(script())
    run_id = engine.begin(QUESTION, queued=True)
    events = dying.resume(run_id)
    while next(events).name != "generate_answer":
        pass
    dying._parts.ledger._renewal.close()
    dying._parts.ledger._owners.close()  # as Postgres does when the process dies
    work(engine)
    until(lambda: has_ended(engine, run_id))
    answer = engine.progress(run_id).answer
    assert answer and answer.text == GOOD
    steps = len(engine.progress(run_id).steps)
    held.goes_on.set()
    with pytest.raises(LostLeaseError):  # what it writes late is refused
        list(events)
    assert len(engine.progress(run_id).steps) == steps


def test_users_take_turns(sharing: MakeEngine, url: str) -> None:
    engine = sharing(script())
    for user in ("ann", "ann", "ann", "bob"):
        engine.begin(QUESTION, user=user, queued=True)
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT r.user_name FROM procrastinate_jobs j JOIN runs r ON r.run_id = j.args->>'run_id' "
            "ORDER BY j.priority DESC, j.id"
        ).fetchall()
    assert [user for (user,) in rows] == ["ann", "bob", "ann", "ann"]


def test_a_question_that_is_not_stored_leaves_no_job(sharing: MakeEngine, url: str) -> None:
    engine = sharing(script())
    run_id = engine.begin(QUESTION, key="k", queued=True)
    with pytest.raises(Exception, match="same key"):
        engine.begin(QUESTION, key="k", queued=True)
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT args->>'run_id' FROM procrastinate_jobs").fetchall()
    assert rows == [(run_id,)]


def test_a_worker_with_other_settings_takes_no_jobs(
    sharing: MakeEngine, work: StartWorker, caplog: pytest.LogCaptureFixture
) -> None:
    server = sharing(script())
    server.membership.join("server", server.configuration)
    run_id = server.begin(QUESTION, queued=True)
    with caplog.at_level(logging.ERROR, "veracity.worker"):
        work(sharing(script(), answering={"evidence": 3}))
        until(lambda: "takes no jobs" in caplog.text)
    assert server.traffic.queued() == 1
    work(sharing(script()))
    until(lambda: has_ended(server, run_id))


def test_a_server_without_workers_is_not_ready(
    sharing: MakeEngine, work: StartWorker, serve: Callable[[Veracity], Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor with one whose configuration differs."""
    monkeypatch.setattr(health, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(health, "CHECK_SECONDS", 60.0)
    served = serve(sharing(script()))
    other = sharing(script(), answering={"evidence": 3})
    other.membership.join("worker", other.configuration)
    response = served.client(token="").get("/readyz")
    assert (response.status_code, response.json()["checks"]["workers"]) == (503, False)
    assert response.json()["problems"] == [health.PROBLEMS["workers"]]
    same = sharing(script())
    same.membership.join("worker", same.configuration)
    ready = served.client(token="").get("/readyz")
    assert (ready.status_code, ready.json()["problems"], ready.json()["warnings"]) == (200, [], [])
    same.close()
    until(lambda: served.client(token="").get("/readyz").status_code == 503)


def test_a_server_with_other_settings_continues_nothing_of_others(
    sharing: MakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """But answers its own questions, and is ready."""
    leader, llm = sharing(script()), script(WRONG, 20)
    leader.membership.join("server", leader.configuration)
    waiting = sharing(script(WRONG, 20), answering={"gener_epoch": 0}).ask(QUESTION)
    left = leader.begin(QUESTION, queued=True)
    with caplog.at_level(logging.ERROR, "veracity.server"), serving(sharing(llm, answering={"evidence": 3})) as served:
        client = served.client()
        until(lambda: "answers its own questions only" in caplog.text)
        assert client.post("/api/ask", json={"question": QUESTION}).json()["status"] == "awaiting_approval"
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["configuration"]) == (200, False)
        assert ready.json()["warnings"] == [health.PROBLEMS["configuration"]]
        decision = client.post(f"/api/approvals/{waiting.approval_id}/decision", json={"verdict": "approve"})
        assert decision.status_code == 200
        assert caplog.text.count("answers its own questions only") == 1
        assert set(leader.interrupted()) == {left, waiting.run_id}  # nobody took them
    with psycopg.connect(leader.settings.store.ledger) as connection:
        jobs = connection.execute("SELECT queue_name FROM procrastinate_jobs ORDER BY id").fetchall()
    assert jobs == [("runs",), ("decisions",)]


def test_a_member_registers_again_after_an_outage(sharing: MakeEngine) -> None:
    """Another one that started meanwhile took it for dead."""
    engine, other = sharing(script()), sharing(script())
    engine.membership.join("worker", engine.configuration)
    [before] = engine.membership.list_alive()
    ledger = engine._parts.ledger
    ledger._renewal.close()  # the test renews
    ledger._owners._discard()  # type: ignore[attr-defined]  # as if Postgres had ended its session
    other.membership.join("server", other.configuration)
    assert [member.kind for member in other.membership.list_alive()] == ["server"]
    ledger._renew()
    after = other.membership.list_alive()[0]
    assert (after.kind, after.started) == ("worker", before.started) and after.name != before.name


def test_limits_hold_for_all_servers(sharing: MakeEngine, serve: Callable[[Veracity], Served]) -> None:
    limits = {"asks_per_minute": 2, "queue": 10}
    servers = [serve(sharing(script(), server=limits)) for _ in range(2)]
    token = servers[0].token("asker", "ann")
    engines = [server.engine for server in servers]
    for engine in engines:
        engine.begin(QUESTION, user="ann", queued=True)
    for server in servers:
        refused = server.client(token=token).post("/api/ask", json={"question": QUESTION})
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 1


def test_a_worker_needs_a_shared_ledger(engine_with: MakeEngine) -> None:
    with pytest.raises(ConfigurationError, match=r"set store\.ledger"):
        Worker(engine_with())
    with pytest.raises(ConfigurationError, match=r"set store\.ledger"):
        engine_with().begin(QUESTION, queued=True)


def test_two_workers_may_drop_the_same_stalled_job(sharing: MakeEngine, url: str) -> None:
    engine = sharing(script())
    engine.begin(QUESTION, queued=True)

    async def drop_twice() -> None:
        async with make_app(url).open_async() as app:
            (job,) = await app.job_manager.list_jobs_async()
            await drop(app, job)
            await drop(app, job)
            assert not list(await app.job_manager.list_jobs_async())

    asyncio.run(drop_twice())
