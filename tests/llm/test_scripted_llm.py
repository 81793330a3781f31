"""`ScriptedLLM`: models that answer from a script."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.llm.sample_requests import question, text_request
from veracity.errors import ModelAnswerError, ModelUnreachableError
from veracity.llm import Message
from veracity.settings import LLMSettings
from veracity.testing import ScriptedCall, ScriptedLLM

GOOD = {"reason": "Fine.", "score": 70}


def test_text_call_is_recorded() -> None:
    llm = ScriptedLLM("First.", "Second.")
    said = (Message("system", "Be brief."), Message("user", "A?"), Message("assistant", "B."), Message("user", "C?"))
    assert [llm.write(text_request(*said, model="test:x")).text for _ in range(3)] == ["First.", "Second.", "Second."]
    call = llm.calls[0]
    assert (call.model, call.role, call.instructions, call.prompt) == ("test:x", "writer", "Be brief.", "C?")
    assert call.messages == list(said)
    assert call.settings["temperature"] == 0.0


def test_question_is_recorded_as_messages() -> None:
    llm = ScriptedLLM(GOOD)
    llm.ask(question(instructions="Judge.", prompt="This."))
    assert llm.calls[0].messages == [Message("system", "Judge."), Message("user", "This.")]


def test_script_per_role() -> None:
    llm = ScriptedLLM.by_role(writer=["First.", "Second."], judge=GOOD)
    assert llm.write(text_request()).text == "First."
    assert llm.ask(question()).value.score == 70
    assert llm.write(text_request(model="another:model")).text == "Second."
    assert llm.ask(question()).value.score == 70
    assert llm.write(text_request()).text == "Second."
    assert [call.role for call in llm.calls] == ["writer", "judge", "writer", "judge", "writer"]


def test_role_without_a_script_fails_the_test() -> None:
    llm = ScriptedLLM.by_role(judge=GOOD)
    for _ in range(2):
        with pytest.raises(AssertionError, match=r'The role "writer" \(model "test:w"\) was called and has no script'):
            llm.write(text_request(model="test:w"))
    assert llm.calls == []


def test_default_replies_with_overrides_by_role() -> None:
    llm = ScriptedLLM("One.", "Two.", roles={"judge": [GOOD]})
    assert [llm.write(text_request(role=role)).text for role in ("writer", "summarizer")] == ["One.", "Two."]
    assert llm.ask(question()).value.score == 70


def test_reply_can_be_an_error_or_a_function() -> None:
    def quotes(call: ScriptedCall) -> str:
        return f"{call.role} was asked: {call.prompt}"

    llm = ScriptedLLM.by_role(LLMSettings(backoff=0), writer=(ModelUnreachableError("Gone."), quotes))
    assert llm.write(text_request()).text == "writer was asked: Why?"


def test_failing_function_is_a_failing_model() -> None:
    def fails(call: ScriptedCall) -> str:
        raise KeyError(call.model)

    with pytest.raises(ModelAnswerError, match=r"failed unexpectedly \(KeyError\)"):
        ScriptedLLM(fails).write(text_request(max_retries=0))


def test_concurrent_calls_get_one_reply_each() -> None:
    together = threading.Barrier(8)

    def meets(call: ScriptedCall) -> str:
        together.wait(300)
        return call.prompt

    llm = ScriptedLLM.by_role(writer=meets)
    with ThreadPoolExecutor(8) as pool:
        texts = pool.map(lambda number: llm.write(text_request(Message("user", str(number)))).text, range(8))
        assert list(texts) == [str(number) for number in range(8)]
    assert len(llm.calls) == 8


def test_script_needs_a_reply() -> None:
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedLLM()
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedLLM.by_role(writer=[])
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedLLM.by_role()
