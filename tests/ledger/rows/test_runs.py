"""Conversations are found by what was said in them, in every language, and only by what may be shown; runs by what was
asked, and by the key under which it was."""

import sqlite3
import time
from typing import Any

import pytest
from sqlalchemy import event

from tests.ledger.material import answered, begin, make_evidence, waits
from veracity.errors import LedgerError
from veracity.ledger import Ledger
from veracity.ledger.rows import runs


def names(ledger: Ledger, query: str, user: str = "ann", limit: int = 20) -> list[str]:
    return [one.conversation for one in ledger.conversations(user, limit, query)]


@pytest.fixture
def said(ledger: Ledger) -> Ledger:
    answered(ledger, "r1", "How long do REFUNDS take?", "Within 14 days, 100% of the price.", "money")
    answered(ledger, "r2", "上海员工每年有多少天年休假？", "上海员工有12天年休假。", "假期")
    answered(ledger, "r3", "有給休暇は何日ですか？", "正社員は年に２０日、ｶｰﾄﾞは不要です。", "休暇")
    answered(ledger, "r4", "Who starts the café's A_B test?", "The café staff.", "coffee")
    answered(ledger, "r5", "And the price?", "4 euro.", "money")
    return ledger


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("refunds", ["money"]),
        ("Refund", ["money"]),
        ("refund days", ["money"]),
        ("refund euro", []),  # in two turns, not in one
        ("price", ["money"]),
        ("art", []),  # not the middle of "starts"
        ("start", ["coffee"]),
        ("CAFÉ", ["coffee"]),
        ("年休假", ["假期"]),
        ("休假 上海", ["假期"]),
        ("休", ["休暇", "假期"]),
        ("有給", ["休暇"]),
        ("20日", ["休暇"]),
        ("カード", ["休暇"]),
        ("正社員\u3000２０", ["休暇"]),
        ("100%", ["money"]),
        ("%", ["money"]),
        ("_", ["coffee"]),
        ("A_B", ["coffee"]),
        ("AxB", []),
        ("\\", []),
        ("[a-z]+", []),
        ("' OR 1=1", []),
        ("half \ud83d", []),
        ("nothing of the kind", []),
        (" ", ["money", "coffee", "休暇", "假期"]),
    ],
)
def test_conversations_are_found_by_words_and_parts_of_text(said: Ledger, query: str, found: list[str]) -> None:
    assert names(said, query) == found


def test_the_newest_come_first_whichever_turn_fits(said: Ledger) -> None:
    answered(said, "r6", "Refunds again?", "No.", "later")
    begin(said, "r7", "And now?", conversation="money")
    assert names(said, "refunds") == ["money", "later"]
    assert names(said, "refunds", limit=1) == ["money"]
    (found, _) = said.conversations("ann", 5, "refunds")
    assert (found.title, found.turns) == ("How long do REFUNDS take?", 3)


def test_nobody_finds_what_another_said(said: Ledger) -> None:
    assert names(said, "refunds", "bob") == names(said, "refunds", "") == names(said, "refunds", "%") == []


def test_an_answer_that_may_not_be_shown_is_no_match_by_its_text(ledger: Ledger) -> None:
    answered(ledger, "rejected", "Who pays?", "The secret one.", "rejected", status="rejected")
    answered(ledger, "failed", "Who pays?", "The secret one.", "failed", status="failed")
    waits(ledger, "waits", "The secret one.", conversation="waits")
    evidence = [make_evidence(document="d9", text="The secret one.")]
    answered(ledger, "forgotten", "Who pays?", "The secret one.", "forgotten", evidence=evidence)
    answered(ledger, "single", "Who pays?", "The secret one.")
    ledger.forget_documents(["d9"])
    assert names(ledger, "secret") == []
    assert names(ledger, "pays") == ["forgotten", "failed", "rejected"]
    assert names(ledger, "days") == ["waits"]


def test_what_was_forgotten_with_its_conversation_is_not_found(said: Ledger) -> None:
    said.forget_conversation("ann", "money")
    assert names(said, "refunds") == []


def test_many_turns_are_searched_in_time(ledger: Ledger) -> None:
    for number in range(200):
        answered(ledger, f"r{number}", f"Question {number}?", "Refunds take 14 days. " * 50, f"c{number // 5}")
    begun = time.process_time()
    assert names(ledger, "question 77") == ["c15"]
    assert time.process_time() - begun < 2


def asking(ledger: Ledger, question: str, user: str = "ann", limit: int = 20) -> list[str]:
    return [run.run_id for run in ledger.runs_asking(user, question, limit)]


@pytest.mark.parametrize("question", ["How long do refunds take?", "年休假" * 60, "休暇は何日？" * 1000])
def test_runs_are_found_by_their_exact_question(ledger: Ledger, question: str) -> None:
    for run_id, asked, user in (("r1", question, "ann"), ("r2", f"{question}!", "ann"), ("r3", question, "bob")):
        begin(ledger, run_id, asked, user)
    begin(ledger, "r4", question)
    assert asking(ledger, question) == ["r4", "r1"]
    assert asking(ledger, question, limit=1) == ["r4"]
    assert asking(ledger, question[:-1]) == []


def test_to_look_for_a_question_an_index_is_used(ledger: Ledger) -> None:
    begin(ledger, "r1")
    plans: list[str] = []
    with ledger._database.reading() as connection:

        def explain(_: object, cursor: sqlite3.Cursor, statement: str, parameters: Any, *more: object) -> None:
            rows = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[-1] for row in rows)

        event.listen(connection, "before_cursor_execute", explain)
        runs.runs_asking(connection, "ann", "How many days?", 5)
        runs.run_under(connection, "ann", "k")
    assert len(plans) == 2
    assert "runs_by_question (user_name=? AND <expr>=?)" in plans[0]
    assert "runs_by_key (user_name=? AND request_key=?)" in plans[1]


def test_under_one_key_a_user_asks_once(ledger: Ledger) -> None:
    begin(ledger, "r1", key="k", conversation="c")
    begin(ledger, "r2", user="bob", key="k")
    begin(ledger, "r3")
    begin(ledger, "r4")
    with pytest.raises(LedgerError, match="same key"):
        begin(ledger, "r5", key="k")
    found = [ledger.run_under(user, "k") for user in ("ann", "bob", "eve")]
    assert [one and one.run_id for one in found] == ["r1", "r2", None]
    assert ledger.run_under("ann", "") is None
    ledger.forget_conversation("ann", "c")
    assert ledger.run_under("ann", "k") is None
