"""The client against a real HTTP server, through the real SDK (SPEC B5, B9, B13, X7; DESIGN 3, 4)."""

import asyncio
import email.utils
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.llm.sample_requests import MODEL, question
from tests.loopback import (
    Behaviour,
    LoopbackServer,
    after,
    after_requests,
    call_tools,
    disconnect,
    drip_bytes,
    hang,
    raw,
    redirect_forever,
    refuse,
    reply_with,
    status,
    text,
    truncate_body,
    verdict,
)
from veracity.errors import (
    BudgetError,
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
)
from veracity.llm import LLM, Budget
from veracity.settings import LLMSettings, OutputMode

NO_TIMEOUT = LLMSettings(backoff=0.01, call_timeout=3600, deadline=3600)
SHORT_TIMEOUT = LLMSettings(backoff=0.01, call_timeout=0.3, deadline=3600)
GOOD = json.dumps({"reason": "Fine.", "score": 70})
OTHER = json.dumps({"reason": "Bad.", "score": 10})


@pytest.fixture(scope="module")
def llm() -> Iterator[LLM]:
    made = LLM(NO_TIMEOUT)
    yield made
    made.close()


def body(value: object) -> Behaviour:
    return raw(json.dumps(value).encode())


def error(message: str, code: str) -> dict[str, object]:
    return {"error": {"message": message, "code": code, "type": code}}


def fails(server: LoopbackServer, llm: LLM, behaviour: Behaviour, max_retries: int = 2) -> tuple[ModelError, int]:
    """The error, and the calls that reached the server."""
    server.respond_with(behaviour)
    with pytest.raises(ModelError) as caught:
        llm.ask(question(max_retries=max_retries))
    assert_clear(str(caught.value))
    assert caught.value.__cause__ is None and caught.value.__context__ is None  # keeps nothing of the SDK's
    return caught.value, len(server.requests)


def assert_clear(message: str) -> None:
    """One sentence that names the model."""
    assert message.endswith(".") and "\n" not in message and len(message) < 450
    assert "Traceback" not in message and f'"{MODEL}"' in message


def schema_in(prompt: str) -> Any:
    return json.JSONDecoder().raw_decode(prompt, prompt.index("{"))[0]


TRANSIENT: dict[str, tuple[Behaviour, type[ModelError], str]] = {
    "500": (status(500), ModelUnreachableError, "HTTP 500: status 500"),
    "503": (status(503), ModelUnreachableError, "HTTP 503"),
    "502, a page": (status(502, "<html>Bad Gateway</html>"), ModelUnreachableError, "(HTTP 502)"),
    "408": (status(408), ModelUnreachableError, "HTTP 408"),
    "429": (status(429), ModelUnreachableError, "HTTP 429"),
    "closes": (disconnect, ModelUnreachableError, "closed the connection early"),
    "wrong length": (truncate_body, ModelUnreachableError, "closed the connection early"),
    "a page": (raw(b"<html>hello</html>", Content_Type="text/html"), ModelAnswerError, "not in its API's format"),
    "empty": (raw(b""), ModelAnswerError, "not in its API's format"),
    "half JSON": (raw(b'{"choices": ['), ModelAnswerError, "not in its API's format"),
    "not UTF-8": (raw(b"\xff\xfe\x00"), ModelAnswerError, "not in its API's format"),
    "{}": (body({}), ModelAnswerError, "not in its API's format"),
    "[]": (body([]), ModelAnswerError, "not in its API's format"),
    "null": (body(None), ModelAnswerError, "not in its API's format"),
    "no choices": (body({"choices": []}), ModelAnswerError, "not in its API's format"),
    "only no choices": (
        body({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}),
        ModelAnswerError,
        "not in its API's format",
    ),
    "20 MB": (raw(b"x" * 20_000_000), ModelAnswerError, "not in its API's format"),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_transient_failure_is_retried(name: str, server: LoopbackServer, llm: LLM) -> None:
    """SPEC B9: 1 + max_retries calls, no more: the SDK's own retries are off."""
    behaviour, kind, words = TRANSIENT[name]
    problem, calls = fails(server, llm, behaviour, max_retries=2)
    assert type(problem) is kind and words in str(problem)
    assert calls == 3 and "(3 calls made" in str(problem)


FINAL: dict[str, tuple[Behaviour, type[ModelError], str]] = {
    "400": (status(400), ModelRequestError, "rejected the request (HTTP 400: status 400)"),
    "401": (status(401), ModelAccessError, "refused the key"),
    "403": (status(403), ModelAccessError, "refused the key"),
    "404": (status(404), UnknownModelError, "does not know the model"),
    "402": (status(402), ModelAccessError, "no quota or credit left"),
    "413": (status(413), ModelRequestError, "rejected the request"),
    "no quota": (status(429, error("None left", "insufficient_quota")), ModelAccessError, "no quota or credit left"),
    "too long": (status(400, error("Too long", "context_length_exceeded")), ModelRequestError, "shorten it"),
    "redirect loop": (redirect_forever, ModelRequestError, "redirects to"),
    "detail": (status(422, {"detail": "no such field"}), ModelRequestError, "HTTP 422: no such field"),
    "bare text": (status(400, {"error": "bad model file"}), ModelRequestError, "HTTP 400: bad model file"),
    "long text": (status(400, {"error": "long " * 999}), ModelRequestError, "…"),
    "refusal": (refuse, ModelRefusedError, "refused to answer"),
    "content filter": (reply_with(GOOD, "content_filter"), ModelRefusedError, "refused to answer"),
}


@pytest.mark.parametrize("name", FINAL)
def test_permanent_failure_is_not_retried(name: str, server: LoopbackServer, llm: LLM) -> None:
    """SPEC B9."""
    behaviour, kind, words = FINAL[name]
    problem, calls = fails(server, llm, behaviour)
    assert type(problem) is kind and words in str(problem)
    assert calls == 1 and "(1 call made)" in str(problem)


UNUSABLE: dict[str, tuple[Behaviour, str]] = {
    "prose": (text("I think it is rather good."), "no JSON object"),
    "truncated": (reply_with('{"reason": "It is', "stop"), "no JSON object"),
    "cut off": (reply_with('{"reason": "It is', "length"), "raise max_tokens.judge, or use another model"),
    "150": (verdict(150), "less than or equal to 100 (got 150)"),
    "-1": (verdict(-1), "greater than or equal to 0 (got -1)"),
    "null": (verdict(None), "valid number (got null)"),
    "NaN": (reply_with('{"reason": "x", "score": NaN}'), "finite number"),
    '"NaN"': (verdict("NaN"), 'finite number (got "NaN")'),
    "Infinity": (reply_with('{"reason": "x", "score": 1e999}'), "finite number (got Infinity)"),
    "true": (verdict(True), "not true or false"),
    "no reason": (reply_with('{"score": 5}'), "reason: Field required"),
    "no arguments": (reply_with(""), "it was empty"),
    "two verdicts": (call_tools(("answer", GOOD), ("answer", OTHER)), "2 different answers"),
    "20 MB": (verdict(50, "".join(map("{:07x} ".format, range(2_500_000)))), "20,000,027 characters long"),
    "a loop": (verdict(50, "It is fine. " * 100), "it repeats itself over and over: use another model"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_answer_is_requested_again(name: str, server: LoopbackServer, llm: LLM) -> None:
    """SPEC B9: the re-ask quotes the validation error and counts as a call."""
    behaviour, words = UNUSABLE[name]
    problem, calls = fails(server, llm, behaviour, max_retries=1)
    assert isinstance(problem, ModelAnswerError) and words in str(problem)
    assert calls == 2
    first, second = (request["messages"][-1]["content"] for request in server.requests)
    assert first == "{}"
    assert second == f"{{}}\n\nYour previous answer could not be used: {json.dumps(problem.complaint)}\n" + (
        "Answer again in the required form."
    )


USABLE: dict[str, Behaviour] = {
    "tool call": reply_with(GOOD),
    "plain JSON": text(GOOD),
    "fence": text(f"```json\n{GOOD}\n```"),
    "brace in a string": reply_with('{"reason": "a } and a { in it", "score": 70}'),
    "thinking first": text(f"<think>Is {{it}} good?</think>\nSo: {GOOD}"),
    "thinking aloud": text(f"Let me see {{...}}. It is good. {GOOD}"),
    "tool of another name": call_tools(("final_result", GOOD)),
    "the same twice": call_tools(("answer", GOOD), ("answer", GOOD)),
    "number as text": verdict("70"),
    "cut off after its end": reply_with(GOOD, "length"),
}


@pytest.mark.parametrize("name", USABLE)
def test_usable_answer_takes_one_call(name: str, server: LoopbackServer, llm: LLM) -> None:
    server.respond_with(USABLE[name])
    answer = llm.ask(question())
    assert answer.value.score == 70
    assert len(server.requests) == answer.usage.calls == 1
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (100, 20)


def test_usage_includes_unusable_answers(server: LoopbackServer, llm: LLM) -> None:
    """SPEC B9, X3."""
    server.respond_with(verdict(150), status(500), verdict(80))
    answer = llm.ask(question())
    assert answer.value.score == 80
    assert (len(server.requests), answer.usage.calls, answer.usage.tokens) == (3, 2, 240)
    again = [request["messages"][-1]["content"] for request in server.requests[1:]]
    assert again[0] == again[1] and "less than or equal to 100" in again[0]  # a failure between keeps the complaint


def test_no_retries(server: LoopbackServer, llm: LLM) -> None:
    """SPEC B9."""
    for number, behaviour in enumerate((status(500), verdict(150), disconnect), 1):
        assert fails(server, llm, behaviour, max_retries=0)[1] == number


class TestRetryWaits:
    """SPEC B9: backoff, Retry-After, and the deadline over all of it."""

    def test_rate_limit_is_retried(self, server: LoopbackServer, llm: LLM) -> None:
        server.respond_with(status(429, retry_after="0"), status(429, retry_after="0"), verdict(70))
        assert llm.ask(question()).value.score == 70
        assert len(server.requests) == 3

    @pytest.mark.parametrize("form", ["seconds", "date", "milliseconds"])
    def test_retry_after_is_honoured(self, form: str, server: LoopbackServer, llm: LLM) -> None:
        header, least = {
            "seconds": ({"retry_after": "1"}, 1.0),
            "date": ({"retry_after": email.utils.formatdate(time.time() + 2, usegmt=True)}, 0.8),
            "milliseconds": ({"retry_after_ms": "400"}, 0.4),
        }[form]
        server.respond_with(status(429, **header), verdict(70))
        assert llm.ask(question()).value.score == 70
        first, second = server.times
        assert second - first >= least

    @pytest.mark.parametrize("code", [429, 503])
    def test_no_wait_beyond_the_deadline(self, code: int, server: LoopbackServer, llm: LLM) -> None:
        problem, calls = fails(server, llm, status(code, retry_after="7200"))
        assert calls == 1 and "the provider asks to wait 7200 s, llm.deadline leaves" in str(problem)
        assert problem.retry_after == 7200

    @pytest.mark.parametrize("behaviour", [hang(600), drip_bytes(600)], ids=["hangs", "drips"])
    def test_hanging_server_is_abandoned(self, behaviour: Behaviour, server: LoopbackServer) -> None:
        llm = LLM(SHORT_TIMEOUT)
        llm.require(MODEL, "judge")
        problem, calls = fails(server, llm, behaviour, max_retries=1)
        assert isinstance(problem, ModelTimeoutError) and "(2 calls made; the limit of a call is llm.call" in str(
            problem
        )
        assert calls <= 2  # fewer if a connection took longer than the timeout
        llm.settings = NO_TIMEOUT
        server.respond_with(verdict(70))
        assert llm.ask(question()).value.score == 70  # the worker is free again
        llm.close()

    def test_deadline_ends_the_retries(self, server: LoopbackServer) -> None:
        llm = LLM(LLMSettings(backoff=0.01, call_timeout=0.4, deadline=1))
        llm.require(MODEL, "judge")
        problem, _ = fails(server, llm, hang(600), max_retries=99_999)
        # "leaves 0 s" after a call that timed out, "has passed" if the next one could not be sent in time
        assert isinstance(problem, ModelTimeoutError) and "llm.deadline" in str(problem)
        llm.close()

    def test_call_without_a_free_worker_is_not_sent(self, server: LoopbackServer) -> None:
        llm = LLM(LLMSettings(workers=1, backoff=0, call_timeout=3600, deadline=3600))
        llm.require(MODEL, "judge")
        server.respond_with(after(600, verdict(70)))
        with ThreadPoolExecutor(1) as other:
            busy = other.submit(llm.ask, question(max_retries=0))
            while not server.requests:
                assert not busy.done()
                time.sleep(0.01)
            llm.settings = LLMSettings(workers=1, backoff=0, call_timeout=2, deadline=0.2)
            with pytest.raises(
                ModelTimeoutError, match=r"all 1 workers were busy.*raise llm\.workers.*\(0 calls made\)"
            ):
                llm.ask(question(prompt="late"))
            sent = server.requests
            server.reset()  # and with that it answers
            busy.result(300)
        llm.settings = NO_TIMEOUT
        llm.ask(question(prompt="after"))
        sent += server.requests
        assert [request["messages"][-1]["content"] for request in sent] == ["{}", "after"]
        llm.close()

    def test_unreachable_server(self, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        llm = LLM(NO_TIMEOUT)
        problem, calls = fails(server, llm, verdict())
        llm.close()
        assert isinstance(problem, ModelUnreachableError) and "cannot be reached" in str(problem)
        assert calls == 0 and "(3 calls made)" in str(problem)


@pytest.fixture
def new_llm() -> Iterator[LLM]:
    """It has not learned anything about a server."""
    llm = LLM()
    yield llm
    llm.close()


def form(sent: dict[str, Any]) -> str:
    """How a request asks for structured output."""
    if "tools" in sent:
        return "tools"
    return "schema" if sent.get("response_format", {}).get("type") == "json_schema" else "prompt"


class TestRequestBody:
    """SPEC B3, B5."""

    def test_temperature_and_max_tokens_are_always_sent(self, server: LoopbackServer, llm: LLM) -> None:
        """SPEC B3: the metric's own `max_tokens`, else the bound of the role."""
        llm.ask(question(role="reviewer"))
        llm.ask(question(role="reviewer", temperature=0.7, max_tokens=123))
        first, second = server.requests
        assert first["temperature"] == 0.0 and second["temperature"] == 0.7
        assert (first["max_completion_tokens"], second["max_completion_tokens"]) == (1500, 123)

    def test_instructions_and_prompt_are_separate_messages(self, server: LoopbackServer, llm: LLM) -> None:
        llm.ask(question(instructions="Be strict.", prompt="What now?"))
        assert [(message["role"], message["content"]) for message in server.requests[0]["messages"]] == [
            ("system", "Be strict."),
            ("user", "What now?"),
        ]

    @pytest.mark.parametrize("mode", ["auto", "tool", "native", "prompted"])
    def test_output_modes(self, mode: OutputMode, server: LoopbackServer) -> None:
        llm = LLM(LLMSettings(output_mode=mode))
        assert llm.ask(question()).value.score == 80
        llm.close()
        sent = server.requests[0]
        schema = {
            "auto": lambda: sent["tools"][0]["function"]["parameters"],
            "tool": lambda: sent["tools"][0]["function"]["parameters"],
            "native": lambda: sent["response_format"]["json_schema"]["schema"],
            "prompted": lambda: schema_in(sent["messages"][1]["content"]),
        }[mode]()
        assert list(schema["properties"]) == ["reason", "score"]  # the reason comes first
        assert ("tools" in sent) == (mode in ("auto", "tool"))
        if "tools" in sent:
            assert sent["tool_choice"] == "required"

    def test_a_server_that_ignores_tools_is_asked_by_schema(self, server: LoopbackServer, new_llm: LLM) -> None:
        """Also in later requests of this role. The last resort is the schema in the prompt."""
        good = text('{"reason": "good", "score": 80}')
        server.respond_with(text("It is good."), good, good, text("Well."), good, good)
        assert [new_llm.ask(question()).value.score for _ in range(4)] == [80] * 4
        assert [form(sent) for sent in server.requests] == ["tools", "schema", "schema", "schema", "prompt", "prompt"]
        new_llm.ask(question(role="reviewer"))
        assert form(server.requests[-1]) == "tools"

    def test_a_server_that_rejects_the_schema_gets_it_in_the_prompt(self, server: LoopbackServer, new_llm: LLM) -> None:
        rejected = status(400, {"error": "response_format is not supported"})
        server.respond_with(text("It is good."), rejected, text('{"reason": "good", "score": 70}'))
        assert new_llm.ask(question()).value.score == 70
        assert [form(sent) for sent in server.requests] == ["tools", "schema", "prompt"]

    @pytest.mark.parametrize(
        "bad",
        [
            reply_with('{"reason": "It is', finish_reason="length"),
            call_tools(("answer", '{"reason": "It is')),
            call_tools(("answer", "")),
            text(""),
        ],
    )
    def test_an_unusable_call_of_a_tool_changes_nothing(
        self, bad: Behaviour, server: LoopbackServer, new_llm: LLM
    ) -> None:
        server.respond_with(bad, verdict(70))
        assert new_llm.ask(question()).value.score == 70
        assert [form(sent) for sent in server.requests] == ["tools", "tools"]

    def test_a_schema_is_kept_when_a_reply_is_cut_off(self, server: LoopbackServer, new_llm: LLM) -> None:
        cut_off = reply_with('{"reason": "It is', finish_reason="length")
        server.respond_with(text("It is good."), cut_off, text('{"reason": "good", "score": 70}'))
        assert new_llm.ask(question()).value.score == 70
        assert [form(sent) for sent in server.requests] == ["tools", "schema", "schema"]

    def test_a_chosen_output_mode_is_kept(self, server: LoopbackServer) -> None:
        llm = LLM(LLMSettings(output_mode="tool"))
        server.respond_with(text("It is good."), verdict(80))
        assert llm.ask(question()).value.score == 80
        llm.close()
        assert all("tools" in sent for sent in server.requests)

    def test_lone_surrogates_are_replaced(self, server: LoopbackServer, llm: LLM) -> None:
        """SPEC B11: odd texts are evaluated."""
        llm.ask(question(prompt="cut \ud83d here, whole 😀 here, \0"))
        assert server.requests[0]["messages"][-1]["content"] == "cut \ufffd here, whole 😀 here, \0"


class TestConcurrency:
    def test_forty_questions_on_eight_workers(self, server: LoopbackServer) -> None:
        """DESIGN 3: the pool is the cap."""
        llm = LLM(LLMSettings(workers=8, deadline=60))
        server.respond_with(after_requests(8, verdict(70)))
        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(lambda n: llm.ask(question(prompt=str(n))), range(40)))
        assert [answer.value.score for answer in answers] == [70] * 40
        assert sorted(int(request["messages"][-1]["content"]) for request in server.requests) == list(range(40))
        assert server.max_concurrent_requests == 8
        llm.close()

    def test_inside_a_running_event_loop(self, server: LoopbackServer, llm: LLM) -> None:
        """As in a notebook."""

        async def cell() -> float:
            return llm.ask(question()).value.score

        assert asyncio.run(cell()) == 80
        assert asyncio.run(cell()) == 80  # and in another event loop


class TestBudget:
    """SPEC X7."""

    def test_spent_tokens_allow_no_call(self, server: LoopbackServer, llm: LLM) -> None:
        budget = Budget(tokens=200)
        llm.ask(question(), budget)
        llm.ask(question(), budget)
        with pytest.raises(BudgetError, match=r"budget of 200 tokens is spent \(240 used\): raise budget\.tokens"):
            llm.ask(question(), budget)
        assert len(server.requests) == 2

    def test_unusable_answer_counts(self, server: LoopbackServer, llm: LLM) -> None:
        server.respond_with(verdict(150))
        with pytest.raises(BudgetError):
            llm.ask(question(), Budget(tokens=100))
        assert len(server.requests) == 1

    def test_unknown_price_allows_no_further_call(self, server: LoopbackServer, llm: LLM) -> None:
        budget = Budget(cost_usd=1)
        answer = llm.ask(question(model="openai-chat:gpt-4o"), budget)
        assert answer.usage.cost_usd is None  # a known model name on another server
        with pytest.raises(BudgetError, match=r"price of the model is unknown.*set budget\.tokens instead"):
            llm.ask(question(), budget)
        assert len(server.requests) == 1

    def test_unreported_tokens_allow_no_further_call(self, server: LoopbackServer, llm: LLM) -> None:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": GOOD}}
        server.respond_with(body({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}))
        budget = Budget(tokens=1000)
        assert llm.ask(question(), budget).value.score == 70
        with pytest.raises(BudgetError, match="does not report how many tokens"):
            llm.ask(question(), budget)
        assert len(server.requests) == 1


class TestKeys:
    """SPEC B13: a key is never shown, even if the server quotes it."""

    @pytest.mark.parametrize(
        "key", ["sk-test-abcDEF1234567890xyz", "Tr0ub4dor&3 / x=y", 'quo"te\\d-key', "zwölf-Schlüssel"]
    )
    def test_key_quoted_by_the_server_is_hidden(
        self,
        key: str,
        server: LoopbackServer,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", key if key.isascii() else "k" * 20)
        monkeypatch.setenv("SOME_OTHER_TOKEN", key)
        caplog.set_level("DEBUG", logger="veracity")
        llm = LLM(NO_TIMEOUT)
        problem, calls = fails(server, llm, status(401, error(f"Wrong key: {key}, really {key}", "bad")))
        llm.close()
        assert calls == 1
        assert "Wrong key: •••, really •••" in str(problem)
        assert not any(form in caplog.text for form in (key, json.dumps(key)[1:-1], repr(key)[1:-1]))
        assert "•••" in caplog.text
