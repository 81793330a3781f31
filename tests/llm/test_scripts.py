"""Models that answer from a script, for whoever tests with them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.llm.asking import question, writing
from veracity.errors import ModelAnswerError, ModelUnreachableError
from veracity.llm import Message
from veracity.settings import LLMSettings
from veracity.testing import ScriptedCall, ScriptedLLM

GOOD = {"reason": "Fine.", "score": 70}


def test_a_text_is_written_and_the_call_recorded() -> None:
    llm = ScriptedLLM("First.", "Second.")
    said = (Message("system", "Be brief."), Message("user", "A?"), Message("assistant", "B."), Message("user", "C?"))
    assert [llm.write(writing(*said, model="test:x")).text for _ in range(3)] == ["First.", "Second.", "Second."]
    call = llm.calls[0]
    assert (call.model, call.role, call.instructions, call.prompt) == ("test:x", "writer", "Be brief.", "C?")
    assert call.messages == list(said)
    assert call.settings["temperature"] == 0.0


def test_a_question_is_recorded_as_messages_too() -> None:
    llm = ScriptedLLM(GOOD)
    llm.ask(question(instructions="Judge.", prompt="This."))
    assert llm.calls[0].messages == [Message("system", "Judge."), Message("user", "This.")]


def test_each_role_has_a_script_of_its_own() -> None:
    llm = ScriptedLLM.by_role(writer=["First.", "Second."], judge=GOOD)
    assert llm.write(writing()).text == "First."
    assert llm.ask(question()).value.score == 70
    assert llm.write(writing(model="another:model")).text == "Second."
    assert llm.ask(question()).value.score == 70
    assert llm.write(writing()).text == "Second."
    assert [call.role for call in llm.calls] == ["writer", "judge", "writer", "judge", "writer"]


def test_a_role_without_a_script_fails_the_test() -> None:
    llm = ScriptedLLM.by_role(judge=GOOD)
    for _ in range(2):
        with pytest.raises(AssertionError, match=r'The role "writer" \(model "test:w"\) was asked and has no script'):
            llm.write(writing(model="test:w"))
    assert llm.calls == []


def test_replies_may_serve_all_roles_but_some() -> None:
    llm = ScriptedLLM("One.", "Two.", roles={"judge": [GOOD]})
    assert [llm.write(writing(role=role)).text for role in ("writer", "summarizer")] == ["One.", "Two."]
    assert llm.ask(question()).value.score == 70


def test_a_reply_of_a_role_may_be_an_error_or_a_function() -> None:
    def quotes(call: ScriptedCall) -> str:
        return f"{call.role} was asked: {call.prompt}"

    llm = ScriptedLLM.by_role(LLMSettings(backoff=0), writer=(ModelUnreachableError("Gone."), quotes))
    assert llm.write(writing()).text == "writer was asked: Why?"


def test_a_function_that_fails_is_told_as_a_failing_model() -> None:
    def fails(call: ScriptedCall) -> str:
        raise KeyError(call.model)

    with pytest.raises(ModelAnswerError, match=r"unforeseen way \(KeyError\)"):
        ScriptedLLM(fails).write(writing(max_retries=0))


def test_many_at_once_get_one_reply_each() -> None:
    together = threading.Barrier(8)

    def meets(call: ScriptedCall) -> str:
        together.wait(30)
        return call.prompt

    llm = ScriptedLLM.by_role(writer=meets)
    with ThreadPoolExecutor(8) as pool:
        texts = pool.map(lambda number: llm.write(writing(Message("user", str(number)))).text, range(8))
        assert list(texts) == [str(number) for number in range(8)]
    assert len(llm.calls) == 8


def test_a_script_has_something_to_say() -> None:
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedLLM()
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedLLM.by_role(writer=[])
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedLLM.by_role()
