"""Runs are found by their exact question and by their idempotency key."""

import sqlite3
from typing import Any

import pytest
from sqlalchemy import event

from tests.ledger.material import begin
from veracity.errors import LedgerError
from veracity.ledger import Ledger
from veracity.ledger.rows import runs


def runs_with(ledger: Ledger, question: str, user: str = "ann", limit: int = 20) -> list[str]:
    return [run.run_id for run in ledger.runs_with_question(user, question, limit)]


@pytest.mark.parametrize("question", ["How long do refunds take?", "年休假" * 60, "休暇は何日？" * 1000])
def test_runs_are_found_by_their_exact_question(ledger: Ledger, question: str) -> None:
    for run_id, asked, user in (("r1", question, "ann"), ("r2", f"{question}!", "ann"), ("r3", question, "bob")):
        begin(ledger, run_id, asked, user)
    begin(ledger, "r4", question)
    assert runs_with(ledger, question) == ["r4", "r1"]
    assert runs_with(ledger, question, limit=1) == ["r4"]
    assert runs_with(ledger, question[:-1]) == []


@pytest.mark.only_sqlite
def test_lookups_use_an_index(ledger: Ledger) -> None:
    begin(ledger, "r1")
    plans: list[str] = []
    with ledger._database.reading() as connection:

        def explain(_: object, cursor: sqlite3.Cursor, statement: str, parameters: Any, *more: object) -> None:
            rows = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[-1] for row in rows)

        event.listen(connection, "before_cursor_execute", explain)
        runs.list_with_question(connection, "ann", "How many days?", 5)
        runs.find_by_key(connection, "ann", "k")
    assert len(plans) == 2
    assert "runs_by_question (user_name=? AND <expr>=?)" in plans[0]
    assert "runs_by_key (user_name=? AND request_key=?)" in plans[1]


def test_a_key_can_be_used_once_per_user(ledger: Ledger) -> None:
    begin(ledger, "r1", key="k", conversation="c")
    begin(ledger, "r2", user="bob", key="k")
    begin(ledger, "r3")
    begin(ledger, "r4")
    with pytest.raises(LedgerError, match="same key"):
        begin(ledger, "r5", key="k")
    by_key = [ledger.run_by_key(user, "k") for user in ("ann", "bob", "eve")]
    assert [run and run.run_id for run in by_key] == ["r1", "r2", None]
    assert ledger.run_by_key("ann", "") is None
    ledger.forget_conversation("ann", "c")
    assert ledger.run_by_key("ann", "k") is None
