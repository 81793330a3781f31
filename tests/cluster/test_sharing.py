"""What machines that share a Postgres ledger must not do to each other."""

import json
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from tests.cluster.conftest import MakeEngine
from tests.ledger.material import begin, make_answer, make_evidence
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.live.test_runs import Held
from veracity.errors import UnreachableLedgerError
from veracity.ledger import Ledger, Observations, RunRecords
from veracity.ledger.rows import runs
from veracity.ledger.sessions import SessionOwners
from veracity.ledger.tables import leases
from veracity.server.errors import RefusedError
from veracity.server.limits import Limits
from veracity.settings import ServerSettings
from veracity.testing import ScriptedLLM


def end_session(url: str, ledger: Ledger) -> None:
    """As if the owner's connection were cut."""
    session: Any = cast(SessionOwners, ledger._owners)._session
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (session.info.backend_pid,))


def owner_of(ledger: Ledger, run_id: str) -> Any:
    with ledger._database.reading() as connection:
        return connection.execute(leases.select().where(leases.c.run_id == run_id)).one().owner


def records(path: Path) -> list[str]:
    return [json.loads(line)["run_id"] for line in path.read_text().splitlines()] if path.exists() else []


def test_an_observation_is_in_the_file_of_one_machine(tmp_path: Path, url: str) -> None:
    ledger = Ledger(tmp_path, url)
    files = [Observations(tmp_path / name / "observational_data.json") for name in "ab"]
    token = begin(ledger, "r1")
    observation = {"output": "secret"}
    passages = [make_evidence()]
    ledger.keep_evidence("r1", passages, given=True, token=token)
    ledger.finish(make_answer("r1", passages), RunRecords(observation=observation), token=token)
    assert [ledger.deliver(file) for file in files] == [1, 0]
    ledger.forget_documents(["d1"], files[1])  # on the other machine
    assert records(tmp_path / "a" / "observational_data.json") == ["r1"]
    ledger.deliver(files[0])
    assert [records(tmp_path / name / "observational_data.json") for name in "ab"] == [[], []]
    ledger.close()


def test_a_lost_session_keeps_its_runs(tmp_path: Path, url: str) -> None:
    """Whoever notices first that it is lost."""
    ledger, other = Ledger(tmp_path, url), Ledger(tmp_path, url)
    token = begin(ledger, "r1")
    ledger.membership.join("server", "same")
    old = ledger._owners.name
    begin(other, "r2")
    for each in (ledger, other):
        end_session(url, each)
    assert ledger._owners.is_alive(other._owners.name) in (True, False)  # a probe notices the loss
    assert ledger.interrupted() == ["r2"]  # not its own
    ledger._renew()
    other._renew()
    assert ledger._owners.name != old
    assert (owner_of(ledger, "r1"), owner_of(ledger, "r2")) == (ledger._owners.name, other._owners.name)
    assert [member.name for member in other.membership.list_alive()] == [ledger._owners.name]
    assert other.acquire_lease("r1") is None
    ledger.release("r1", token)
    ledger.close()
    other.close()


def test_a_run_survives_a_cut_connection(sharing: MakeEngine, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = sharing(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(90)[0]))
    run_id, cut, add_steps = engine.begin(QUESTION), [True], runs.add_steps

    def lose_connection(connection: Any, *arguments: Any) -> None:
        if cut and arguments[1] and arguments[1][0].name == "generate_answer":
            cut.clear()
            connection.connection.driver_connection.close()
        add_steps(connection, *arguments)

    monkeypatch.setattr(runs, "add_steps", lose_connection)
    with pytest.raises(UnreachableLedgerError):
        list(engine.resume(run_id))
    assert engine.standing(run_id).status == "running"
    assert [event.answer.status for event in engine.resume(run_id) if event.answer] == ["answered"]


def test_forgetting_another_document_leaves_a_run_its_progress(sharing: MakeEngine) -> None:
    held = Held()
    first = sharing(ScriptedLLM.by_role(writer=held, reviewer=PASS, judge=judged(90)[0]))
    run_id = first.begin(QUESTION)
    events = first.resume(run_id)
    while next(events).name != "generate_answer":
        pass
    first._parts.ledger.forget_documents(["unrelated"])
    held.goes_on.set()
    while next(events).name != "eval_answer":
        pass
    first.leave()
    with pytest.raises(Exception, match="resumes"):
        list(events)
    second = sharing(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(90)[0]))
    answers = [event.answer for event in second.resume(run_id) if event.answer]
    assert [(answer.status, answer.text) for answer in answers] == [("answered", GOOD)]


def test_requests_and_streams_of_all_servers_are_counted(sharing: MakeEngine) -> None:
    settings = ServerSettings(requests_per_minute=2, streams=8)
    first, second = Limits(settings), Limits(settings)
    engines = [sharing(), sharing()]
    for _ in range(2):
        first.require_request("ann")
    close = first.open_stream("ann")
    first.exchange(engines[0])
    for _ in range(2):  # it has not heard of the first
        second.require_request("ann")
    second.exchange(engines[1])
    with pytest.raises(RefusedError, match="More than 2 requests in a minute"):
        second.require_request("ann")
    second.require_request("bob")
    second.open_stream("ann")
    with pytest.raises(RefusedError, match="Too many event streams"):
        second.open_stream("ann")  # a user may hold a quarter of eight
    close()
    first.exchange(engines[0])
    second.exchange(engines[1])
    second.open_stream("ann")
