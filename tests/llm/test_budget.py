"""What a budget adds up by role, and the calls that it keeps for the receipt (`receipts.prompts`)."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.sample_requests import MODEL, question, text_request
from tests.loopback import LoopbackServer, hang, raw, status, verdict
from veracity.deadlines import Deadline
from veracity.errors import ModelError
from veracity.llm import LLM, Budget, CallLog, Message
from veracity.llm import call_log as limits
from veracity.llm.call_log import CallRecord
from veracity.llm.replies import Reply
from veracity.llm.requests import text_request as make_request
from veracity.models import ModelCall, Usage
from veracity.secrets import HIDDEN
from veracity.settings import LLMSettings
from veracity.testing import ScriptedLLM

GOOD = {"reason": "Clear.", "score": 70}
KEY = "sk-proj-a8Fk20Dmx91LqPz77Ty3Rw5Vn6Bc4Hs"


def usage(calls: int = 1, tokens: int = 10, cached: int = 0, cost: float | None = 0.0) -> Usage:
    return Usage(calls=calls, input_tokens=tokens, cached_tokens=cached, output_tokens=1, cost_usd=cost)


def kept(*messages: Message, reply: Any = "So.", log: CallLog | None = None) -> ModelCall:
    """A call with these messages and this reply, as it is kept."""
    log = log or CallLog()
    record = CallRecord(make_request(text_request(*messages)), messages)
    with log.recording(record):
        record.reply = Reply([reply], "stop", usage())
    return log.take()[0]


class TestByRole:
    def test_usage_adds_up_by_role(self) -> None:
        budget = Budget()
        for role, spent in [("writer", usage(cached=4)), ("judge", usage(tokens=5)), ("writer", usage(cost=None))]:
            budget.spend(spent, role)
        assert budget.by_role == {"writer": usage(2, 20, 4, None) + Usage(output_tokens=1), "judge": usage(tokens=5)}
        assert sum(budget.by_role.values(), Usage()) == budget.spent

    def test_a_resumed_run_goes_on_with_what_each_role_used(self) -> None:
        before = {"writer": usage(3, 300, 100)}
        budget = Budget(spent=before["writer"], by_role=before)
        budget.spend(usage(1, 50, 40), "writer")
        assert budget.by_role["writer"] == budget.spent == usage(4, 350, 140) + Usage(output_tokens=1)
        assert before == {"writer": usage(3, 300, 100)}

    def test_an_unusable_answer_counts_for_its_role(self, server: LoopbackServer) -> None:
        server.respond_with(verdict(150), verdict(70))
        llm, budget = LLM(LLMSettings(backoff=0)), Budget()
        llm.ask(question(), budget)
        llm.close()
        assert set(budget.by_role) == {"judge"}
        assert (budget.by_role["judge"].calls, budget.by_role["judge"].tokens) == (2, 240)

    def test_it_is_thread_safe(self) -> None:
        budget = Budget()

        def spend(role: str) -> None:
            for _ in range(200):
                budget.spend(usage(), role)

        threads = [threading.Thread(target=spend, args=(role,)) for role in ("writer", "judge") * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {role: used.calls for role, used in budget.by_role.items()} == {"writer": 800, "judge": 800}


class TestCachedTokens:
    @pytest.mark.parametrize(("reported", "counted"), [(768, 768), (1_000_000, 900)])
    def test_they_are_part_of_the_input_tokens(self, server: LoopbackServer, reported: int, counted: int) -> None:
        tokens = {"prompt_tokens": 900, "completion_tokens": 7, "total_tokens": 907}
        body = completion({**tokens, "prompt_tokens_details": {"cached_tokens": reported}})
        server.respond_with(raw(json.dumps(body).encode(), Content_Type="application/json"))
        llm = LLM(LLMSettings(backoff=0))
        used = llm.write(text_request()).usage
        llm.close()
        assert (used.input_tokens, used.cached_tokens, used.output_tokens) == (900, counted, 7)


def completion(counted: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "So."}}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": counted}


class TestKeptCalls:
    def test_without_a_log_nothing_is_kept(self) -> None:
        budget = Budget()
        ScriptedLLM("So.").write(text_request(), budget)
        assert budget.take_calls() == []

    def test_a_call_with_its_texts(self) -> None:
        budget = Budget(log=CallLog())
        request = text_request(Message("system", "Be brief."), Message("user", "Why?"), role="writer")
        ScriptedLLM("So.").write(request, budget)
        (call,) = budget.take_calls()
        assert budget.take_calls() == []
        assert (call.role, call.model, call.usage, call.seconds >= 0) == ("writer", MODEL, budget.spent, True)
        assert call.texts is not None and call.texts.reply is not None
        assert [(sent.role, sent.text) for sent in call.texts.prompt] == [("system", "Be brief."), ("user", "Why?")]
        assert (call.texts.reply.text, call.texts.problem) == ("So.", "")

    def test_every_attempt_is_kept_with_what_was_wrong(self) -> None:
        budget = Budget(log=CallLog())
        ScriptedLLM({"reason": "Odd.", "score": 150}, GOOD).ask(question(), budget)
        first, second = [call.texts for call in budget.take_calls()]
        assert first and first.reply and second and second.reply
        assert json.loads(first.reply.text) == {"reason": "Odd.", "score": 150}
        assert "could not be used" in first.problem and second.problem == ""
        assert "Your previous answer could not be used" in second.prompt[-1].text
        assert json.loads(second.reply.text) == GOOD

    def test_a_failed_call_is_kept_without_a_reply(self, server: LoopbackServer) -> None:
        server.respond_with(status(400))
        llm, budget = LLM(LLMSettings(backoff=0)), Budget(log=CallLog())
        with pytest.raises(ModelError):
            llm.write(text_request(), budget)
        llm.close()
        (call,) = budget.take_calls()
        assert call.texts and call.texts.reply is None and call.texts.problem
        assert [sent.text for sent in call.texts.prompt] == ["Why?"]
        assert call.usage.calls == 0

    def test_a_call_that_was_not_sent_is_not_kept(self) -> None:
        budget = Budget(log=CallLog())
        with pytest.raises(ModelError):
            ScriptedLLM("So.").write(text_request(), budget, deadline=Deadline.within(0))
        assert budget.take_calls() == []

    def test_a_call_that_hangs_is_kept(self, server: LoopbackServer) -> None:
        server.respond_with(hang())
        llm, budget = LLM(LLMSettings(backoff=0, call_timeout=0.3)), Budget(log=CallLog())
        with pytest.raises(ModelError):
            llm.write(text_request(max_retries=0), budget)
        llm.close()
        assert [bool(call.texts and call.texts.problem) for call in budget.take_calls()] == [True]


class TestHiddenKeys:
    @pytest.mark.parametrize("place", ["prompt", "reply"])
    def test_keys_are_hidden(self, place: str) -> None:
        texts = {"prompt": "Why?", "reply": "So.", place: f"The key is {KEY}, keep it."}
        call = kept(Message("user", texts["prompt"]), reply=texts["reply"])
        assert KEY not in call.model_dump_json() and HIDDEN in call.model_dump_json()

    def test_keys_of_the_environment_are_hidden(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "correct horse battery")
        call = kept(Message("user", "It is correct horse battery."), reply={"said": "correct horse battery"})
        assert "correct horse" not in call.model_dump_json()

    @given(st.integers(0, len(KEY)), st.integers(0, 300))
    def test_half_a_key_is_never_kept(self, before_cut: int, other_keys: int) -> None:
        """Hidden keys make a text shorter, so that what was cut off could move into sight."""
        filler = f"{KEY} " * other_keys
        head = filler + "x " * ((limits.MAX_PROMPT_LENGTH - len(filler)) // 2)
        text = head[: limits.MAX_PROMPT_LENGTH - before_cut] + " " + KEY + " and more" * 3000
        call = kept(Message("user", text))
        assert call.texts and call.texts.prompt[-1].cut
        assert KEY[:16] not in call.texts.prompt[-1].text


class TestBounds:
    def test_a_long_text_is_cut_and_says_so(self) -> None:
        call = kept(Message("user", "a b " * 50_000), reply="c d " * 10_000)
        assert call.texts and call.texts.reply
        prompt, reply = call.texts.prompt[-1], call.texts.reply
        assert len(prompt.text) <= limits.MAX_PROMPT_LENGTH and len(prompt.text) + prompt.cut == 200_000
        assert len(reply.text) <= limits.MAX_REPLY_LENGTH and len(reply.text) + reply.cut == 40_000
        assert prompt.text and reply.text

    def test_all_messages_of_a_call_share_the_limit(self) -> None:
        long = "a b " * 25_000
        call = kept(Message("user", long), Message("assistant", long), Message("user", "Why?"))
        assert call.texts
        assert sum(len(sent.text) for sent in call.texts.prompt) <= limits.MAX_PROMPT_LENGTH
        assert [bool(sent.cut) for sent in call.texts.prompt] == [True, True, True]

    def test_the_calls_of_a_run_share_a_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "MAX_RUN_LENGTH", 1000)
        log = CallLog()
        calls = [kept(Message("user", "a b " * 60), reply="So.", log=log) for _ in range(8)]
        texts = [call.texts for call in calls if call.texts]
        assert len(texts) == 8
        length = sum(len(sent.text) for kept in texts for sent in (*kept.prompt, *([kept.reply] if kept.reply else [])))
        assert length <= 1000
        assert texts[0].prompt[-1].cut == 0 and texts[-1].prompt[-1].cut == 240
