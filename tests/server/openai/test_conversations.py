"""A chat of OpenAI's clients is recognized by what they send of it: whole, trimmed, edited, or begun elsewhere."""

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
from veracity.server.openai.conversations import conversation_of
from veracity.server.openai.render import content_of
from veracity.server.openai.schemas import Exchange
from veracity.testing import ScriptedLLM

ANN = User(name="ann", role="asker", created=datetime.now(UTC))
HOTELS, LAPTOPS, RAIL = (
    "How much may a hotel cost?",
    "When is a lost laptop reported?",
    "When is rail the first choice?",
)


class Chat:
    """As a client keeps it: what was said so far, and in which conversation each question was."""

    def __init__(self, engine: Veracity, said: list[Exchange] | None = None, keeps: int = 100) -> None:
        self.engine = engine
        self.said = said or []
        self.names: list[str] = []
        self._keeps = keeps

    def ask(self, *questions: str) -> None:
        for question in questions:
            before = self.said[-self._keeps :]
            named = conversation_of(self.engine, ANN, before, question) or f"new{len(self.engine.runs(1000))}"
            self.names.append(named)
            try:
                answer = self.engine.ask(question, conversation=named, user="ann")
            except VeracityError:
                continue
            self.said.append(Exchange(question, content_of(answer, "full")))


def test_a_chat_whose_questions_are_edited_goes_on_in_its_new_conversation(engine_with: MakeEngine) -> None:
    chat = Chat(engine_with())
    chat.ask(QUESTION, HOTELS)
    del chat.said[1:]
    chat.ask(LAPTOPS, RAIL)
    first, again, edited, later = chat.names
    assert first == again != edited == later


def test_a_chat_that_was_begun_with_another_model_has_one_conversation_here(engine_with: MakeEngine) -> None:
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
def test_a_client_may_send_only_the_latest(engine_with: MakeEngine, keeps: int, questions: tuple[str, ...]) -> None:
    chat = Chat(engine_with(), keeps=keeps)
    chat.ask(*questions)
    assert len(set(chat.names)) == 1


@pytest.mark.parametrize("kept", [None, "", "Error 502: The model declined."])
def test_a_turn_that_failed_is_dropped_or_kept_by_the_client(engine_with: MakeEngine, kept: str | None) -> None:
    script = [GOOD, ModelRefusedError("The model declined."), GOOD]
    chat = Chat(engine_with(ScriptedLLM.by_role(writer=script, reviewer=PASS)))
    chat.ask(QUESTION, LAPTOPS)
    assert [turn.status for turn in chat.engine.turns(chat.names[0], user="ann")] == ["answered", "failed"]
    if kept is not None:
        chat.said.append(Exchange(LAPTOPS, kept))
    chat.ask(HOTELS)
    assert len(set(chat.names)) == 1


def test_a_part_is_known_by_an_answer_and_not_by_a_question_alone(engine_with: MakeEngine) -> None:
    engine = engine_with()
    Chat(engine).ask(QUESTION)
    elsewhere = [Exchange("Who are you?", "Nobody."), Exchange(QUESTION, "17 days.")]
    assert conversation_of(engine, ANN, elsewhere, HOTELS) == ""


def test_of_two_the_one_that_holds_nothing_else_is_taken(engine_with: MakeEngine) -> None:
    engine = engine_with()
    alone, longer = Chat(engine), Chat(engine)
    alone.ask(HOTELS)
    longer.ask(QUESTION, HOTELS)
    assert alone.names[0] not in longer.names
    assert conversation_of(engine, ANN, alone.said, LAPTOPS) == alone.names[0]
    assert conversation_of(engine, ANN, longer.said, LAPTOPS) == longer.names[0]


def test_the_latest_of_those_that_ask_the_same_are_compared(engine_with: MakeEngine) -> None:
    chat = Chat(engine_with())
    chat.ask(QUESTION)
    for number in range(conversations.ALIKE):
        assert conversation_of(chat.engine, ANN, chat.said, LAPTOPS) == chat.names[0]
        chat.engine.begin(QUESTION, conversation=f"c{number}", user="ann")
    assert conversation_of(chat.engine, ANN, chat.said, LAPTOPS) != chat.names[0]


def test_many_newer_conversations_do_not_hide_it_and_nobody_has_anothers(engine_with: MakeEngine) -> None:
    chat = Chat(engine_with())
    chat.ask(QUESTION)
    same = {"user_name": "ann", "question": HOTELS, "language": "en", "models": {}, "status": "failed", "turn": 1}
    same |= {"started": datetime.now(UTC), "problem": "", "usage": {}, "forgotten": 0}
    with chat.engine._ledger._database.writing() as connection:
        rows = [{**same, "run_id": f"r{number}", "conversation": f"c{number}"} for number in range(600)]
        connection.execute(insert(runs), rows)
    assert conversation_of(chat.engine, ANN, chat.said, LAPTOPS) == chat.names[0]
    bob = ANN.model_copy(update={"name": "bob"})
    assert conversation_of(chat.engine, bob, chat.said, LAPTOPS) == ""
