"""Chats are matched with conversations: whole, trimmed, edited, or started with another model."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert

from tests.runs.scripts import GOOD, PASS, QUESTION
from tests.server.conftest import MakeEngine
from veracity.engine import Veracity
from veracity.errors import ModelRefusedError, VeracityError
from veracity.ledger.tables import runs
from veracity.models import User
from veracity.server.openai import conversations
from veracity.server.openai.completions import render_content
from veracity.server.openai.conversations import find_conversation
from veracity.server.openai.schemas import Exchange
from veracity.testing import ScriptedLLM

ANN = User(name="ann", role="asker", created=datetime.now(UTC))
HOTELS, LAPTOPS, RAIL = (
    "How much may a hotel cost?",
    "When is a lost laptop reported?",
    "When is rail the first choice?",
)


class Chat:
    """A client's chat: the messages so far, and the conversation of each question."""

    def __init__(self, engine: Veracity, said: list[Exchange] | None = None, keeps: int = 100) -> None:
        self.engine = engine
        self.said = said or []
        self.names: list[str] = []
        self._keeps = keeps

    def ask(self, *questions: str) -> None:
        for question in questions:
            before = self.said[-self._keeps :]
            named = find_conversation(self.engine, ANN, before, question) or f"new{len(self.engine.runs(1000))}"
            self.names.append(named)
            try:
                answer = self.engine.ask(question, conversation=named, user="ann")
            except VeracityError:
                continue
            self.said.append(Exchange(question, render_content(answer, "full")))


def test_an_edited_chat_continues_in_a_new_conversation(engine_with: MakeEngine) -> None:
    chat = Chat(engine_with())
    chat.ask(QUESTION, HOTELS)
    del chat.said[1:]
    chat.ask(LAPTOPS, RAIL)
    first, again, edited, later = chat.names
    assert first == again != edited == later


def test_a_chat_started_with_another_model_gets_one_conversation(engine_with: MakeEngine) -> None:
    chat = Chat(engine_with(), [Exchange("Who are you?", "Nobody."), Exchange(HOTELS, "Much.")])
    chat.ask(QUESTION, LAPTOPS)
    assert len(set(chat.names)) == 1


@pytest.mark.parametrize(
    ("keeps", "questions"),
    [
        (1, (QUESTION, HOTELS, LAPTOPS)),
        (2, ("正式员工每年有多少天年假？", "有給休暇は年に何日ですか？", HOTELS, LAPTOPS)),
    ],
)
def test_a_client_may_drop_old_turns(engine_with: MakeEngine, keeps: int, questions: tuple[str, ...]) -> None:
    chat = Chat(engine_with(), keeps=keeps)
    chat.ask(*questions)
    assert len(set(chat.names)) == 1


@pytest.mark.parametrize("kept", [None, "", "Error 502: The model declined."])
def test_a_client_may_drop_or_keep_failed_turns(engine_with: MakeEngine, kept: str | None) -> None:
    script = [GOOD, ModelRefusedError("The model declined."), GOOD]
    chat = Chat(engine_with(ScriptedLLM.by_role(writer=script, reviewer=PASS)))
    chat.ask(QUESTION, LAPTOPS)
    assert [turn.status for turn in chat.engine.turns(chat.names[0], user="ann")] == ["answered", "failed"]
    if kept is not None:
        chat.said.append(Exchange(LAPTOPS, kept))
    chat.ask(HOTELS)
    assert len(set(chat.names)) == 1


def test_a_partial_match_needs_an_answer(engine_with: MakeEngine) -> None:
    engine = engine_with()
    Chat(engine).ask(QUESTION)
    elsewhere = [Exchange("Who are you?", "Nobody."), Exchange(QUESTION, "17 days.")]
    assert find_conversation(engine, ANN, elsewhere, HOTELS) == ""


def test_a_complete_match_wins(engine_with: MakeEngine) -> None:
    engine = engine_with()
    alone, longer = Chat(engine), Chat(engine)
    alone.ask(HOTELS)
    longer.ask(QUESTION, HOTELS)
    assert alone.names[0] not in longer.names
    assert find_conversation(engine, ANN, alone.said, LAPTOPS) == alone.names[0]
    assert find_conversation(engine, ANN, longer.said, LAPTOPS) == longer.names[0]


def test_only_the_newest_candidates_are_compared(engine_with: MakeEngine) -> None:
    chat = Chat(engine_with())
    chat.ask(QUESTION)
    for number in range(conversations.MAX_CANDIDATES):
        assert find_conversation(chat.engine, ANN, chat.said, LAPTOPS) == chat.names[0]
        chat.engine.begin(QUESTION, conversation=f"c{number}", user="ann")
    assert find_conversation(chat.engine, ANN, chat.said, LAPTOPS) != chat.names[0]


def test_newer_conversations_do_not_hide_a_match_and_users_are_separate(engine_with: MakeEngine) -> None:
    chat = Chat(engine_with())
    chat.ask(QUESTION)
    same = {"user_name": "ann", "question": HOTELS, "language": "en", "models": {}, "status": "failed", "turn": 1}
    same |= {"started": datetime.now(UTC), "problem": "", "usage": {}, "forgotten": 0}
    with chat.engine._parts.ledger._database.writing() as connection:
        rows = [{**same, "run_id": f"r{number}", "conversation": f"c{number}"} for number in range(600)]
        connection.execute(insert(runs), rows)
    assert find_conversation(chat.engine, ANN, chat.said, LAPTOPS) == chat.names[0]
    bob = ANN.model_copy(update={"name": "bob"})
    assert find_conversation(chat.engine, bob, chat.said, LAPTOPS) == ""
