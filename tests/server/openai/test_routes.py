"""OpenAI's own client against a server: answers, streams, conversations, errors."""

import contextlib
import json
import threading
import time
from typing import Any
from urllib.parse import quote

import httpx
import openai
import pytest

from tests.runs.scripts import DOCUMENTS, GOOD, PASS, QUESTION, judged
from tests.server.conftest import MakeEngine, Serve, Served
from tests.server.live.test_runs import Held
from tests.server.openai.conftest import Talk, good_models, says, user
from veracity.errors import ModelRefusedError
from veracity.models import Document
from veracity.testing import ScriptedLLM

FOLLOW_UP = "And how many of them may be carried over?"
HOSTILE = "![x](https://evil.example/a.png) `</li>` [c](javascript:1)\nsecond line"


def ask(client: openai.OpenAI, *messages: Any, **options: Any) -> Any:
    return client.chat.completions.create(model="veracity", messages=list(messages), **options)


def test_a_completion_has_run_score_and_citations(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(gated(good_models()))
    got = ask(talk(served), user(QUESTION))
    assert got.object == "chat.completion"
    assert (got.choices[0].message.role, got.choices[0].finish_reason) == ("assistant", "stop")
    assert got.choices[0].message.content.startswith(GOOD)
    assert got.usage.total_tokens == got.usage.prompt_tokens + got.usage.completion_tokens > 0
    examined = got.veracity
    assert (examined["status"], examined["score"], examined["approval_id"]) == ("answered", 0.9, "")
    (cited,) = examined["citations"]
    text = next(item.text for item in DOCUMENTS if item.id == cited["document_id"])
    assert cited["quote"] == text[cited["start"] : cited["end"]]
    assert (cited["number"], cited["title"]) == (1, "Annual leave")
    receipt = served.engine.receipt(examined["run_id"])
    assert receipt.answer
    assert receipt.answer.usage.input_tokens == got.usage.prompt_tokens


def test_the_run_id_is_in_a_header(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    client = talk(serve(gated(good_models())))
    raw = client.chat.completions.with_raw_response.create(model="veracity", messages=[user(QUESTION)])
    assert raw.headers["x-veracity-run"] == raw.parse().veracity["run_id"]


def test_sources_are_listed_below_the_text(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    """X1: unless the request asks for the answer only."""
    client = talk(serve(gated(good_models())))
    content = ask(client, user(QUESTION)).choices[0].message.content
    assert content.startswith(f"{GOOD}\n\nSources:\n\n- [1] `Annual leave`\n")
    bare = ask(client, user(QUESTION), metadata={"content": "answer"})
    assert bare.choices[0].message.content == GOOD


@pytest.mark.parametrize(
    ("question", "label", "said"),
    [("正式员工每年有多少天年假?", "来源：", "十五天"), ("有給休暇は年に何日ありますか?", "出典：", "二十日")],
)
def test_sources_are_labelled_in_the_language_of_the_question(
    engine_with: MakeEngine, serve: Serve, talk: Talk, question: str, label: str, said: str
) -> None:
    """X5."""
    content = ask(talk(serve(engine_with())), user(question)).choices[0].message.content
    assert said in content
    assert f"\n\n{label}\n\n- [1] `" in content


def test_notices_are_listed_below_the_text(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    """A5, D7."""
    got = ask(talk(serve(gated(approval={"threshold": 0.0}))), user(QUESTION))
    notices = [item["text"] for item in got.veracity["notices"]]
    assert "extractive" in [item["code"] for item in got.veracity["notices"]]
    assert all(text in got.choices[0].message.content for text in notices)


def test_hostile_titles_become_no_links_or_images(engine_with: MakeEngine, serve: Serve, talk: Talk) -> None:
    """Clients render Markdown, so titles are shown as code on one line."""
    engine = engine_with()
    engine.add(Document(id="zebra", title=HOSTILE, text="The zebra budget of the Dublin office is 7300 euros a year."))
    got = ask(talk(serve(engine)), user("What is the zebra budget of the Dublin office?"))
    (line,) = [item for item in got.choices[0].message.content.splitlines() if item.startswith("- [1]")]
    assert line.startswith("- [1] `![x](https://evil.example/a.png) '</li>'")
    assert line.count("`") == 2
    assert line.endswith("`")


def test_a_stream_joins_to_the_same_text(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    client = talk(serve(gated(good_models())))
    whole = ask(client, user(QUESTION))
    chunks = list(ask(client, user(QUESTION), stream=True, stream_options={"include_usage": True}))
    assert (chunks[0].choices[0].delta.role, chunks[0].choices[0].delta.content) == ("assistant", "")
    text = "".join(item.choices[0].delta.content or "" for item in chunks if item.choices)
    assert text == whole.choices[0].message.content
    assert len({item.id for item in chunks}) == 1
    assert [item.choices[0].finish_reason for item in chunks if item.choices][-2:] == [None, "stop"]
    assert chunks[-2].veracity["citations"] == whole.veracity["citations"]
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole.usage)


def test_usage_is_streamed_only_on_request(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    chunks = list(ask(talk(serve(gated(good_models()))), user(QUESTION), stream=True))
    assert all(item.usage is None for item in chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_drafts_are_not_streamed(gated: MakeEngine, serve: Serve) -> None:
    """Not a word of a draft that failed its review is sent."""
    failing = {**PASS, "evidence_passed": False, "suggestions": ["Say 25."]}
    wrong = "Full-time staff have 40 days of paid annual leave a year. [1]"
    llm = ScriptedLLM.by_role(writer=[wrong, GOOD], reviewer=[failing, PASS], judge=judged(90))
    served = serve(gated(llm))
    body = {"model": "veracity", "messages": [user(QUESTION)], "stream": True, "metadata": {"content": "answer"}}
    text = served.client().post("/v1/chat/completions", json=body).text
    assert "40 days" not in text
    assert text.endswith("data: [DONE]\n\n")
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert "".join(item["choices"][0]["delta"].get("content", "") for item in events) == GOOD
    assert ": " in text.split("data: ")[1]  # a keep-alive comment


@pytest.mark.parametrize("stream", [False, True])
def test_a_pending_answer_says_so_in_its_text(gated: MakeEngine, serve: Serve, talk: Talk, stream: bool) -> None:
    """D6: and the conversation continues afterwards."""
    llm = ScriptedLLM.by_role(
        writer=[GOOD, "Up to 5 days may be carried over until March. [1]"],
        reviewer=[PASS],
        judge=judged(20, 90),
        router={"reason": "A follow-up.", "route": "knowledge", "question": "How many days are carried over?"},
    )
    served = serve(gated(llm))
    client = talk(served)
    if stream:
        *chunks, last = ask(client, user(QUESTION), stream=True)
        content = "".join(item.choices[0].delta.content or "" for item in chunks)
        examined, reason = last.veracity, last.choices[0].finish_reason
    else:
        got = ask(client, user(QUESTION))
        content, examined, reason = got.choices[0].message.content, got.veracity, got.choices[0].finish_reason
    assert (examined["status"], reason, examined["citations"]) == ("awaiting_approval", "stop", [])
    assert examined["approval_id"] in content
    assert "25 days" not in content
    served.engine.decide(examined["approval_id"], "approve")
    later = ask(client, user(QUESTION), says(content), user(FOLLOW_UP))
    assert later.veracity["conversation"] == examined["conversation"]


def test_a_conversation_is_found_by_its_turns(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    """D2: by any server of the workspace and after a restart, but never another user's."""
    engine = gated(approval={"threshold": 0.0})
    served = serve(engine)
    first = ask(talk(served), user(QUESTION))
    other = ask(talk(served), user(QUESTION))
    assert first.veracity["conversation"] != other.veracity["conversation"]
    said = [user(QUESTION), says(first.choices[0].message.content)]
    again = serve(gated(approval={"threshold": 0.0}))
    second = ask(talk(again), {"role": "system", "content": "Be kind."}, *said, user(FOLLOW_UP))
    named = second.veracity["conversation"]
    assert named in (first.veracity["conversation"], other.veracity["conversation"])
    said += [user(FOLLOW_UP), says(second.choices[0].message.content)]
    third = ask(talk(served), *said, user("How much may a hotel cost?"))
    assert third.veracity["conversation"] == named
    assert [turn.question for turn in engine.turns(named)] == [QUESTION, FOLLOW_UP, "How much may a hotel cost?"]
    stranger = ask(talk(served, served.token("asker")), *said, user("How much may a hotel cost?"))
    assert stranger.veracity["conversation"] != named


def test_a_follow_up_is_understood_by_the_turns_before_it(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    """D3: without a model."""
    served = serve(gated())
    client = talk(served)
    first = ask(client, user(QUESTION))
    second = ask(client, user(QUESTION), says(first.choices[0].message.content), user("And for part-time staff?"))
    answer = served.engine.receipt(second.veracity["run_id"]).answer
    assert answer and answer.standalone == "How many days of annual leave do part-time staff have?"


def test_the_conversation_with_the_same_answers_wins(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    """Of two conversations that start with the same question."""
    llm = ScriptedLLM.by_role(writer=[GOOD], reviewer=[PASS], judge=judged(20, 90, 90), router=lambda call: ROUTED)
    client = talk(serve(gated(llm)))
    waits = ask(client, user(QUESTION))
    ask(client, user(QUESTION))
    content = waits.choices[0].message.content
    later = ask(client, user(QUESTION), says(content), user(FOLLOW_UP))
    assert later.veracity["conversation"] == waits.veracity["conversation"]


ROUTED = {"reason": "A follow-up.", "route": "knowledge", "question": "How many days are carried over?"}


def test_another_answer_to_the_same_question_stays_in_its_conversation(
    gated: MakeEngine, serve: Serve, talk: Talk
) -> None:
    """Clients send the same messages again and keep the last answer."""
    client = talk(serve(gated(approval={"threshold": 0.0})))
    first = ask(client, user(QUESTION))
    said = [user(QUESTION), says(first.choices[0].message.content)]
    names = {ask(client, *said, user(FOLLOW_UP)).veracity["conversation"] for _ in range(3)}
    again = ask(client, *said, user(FOLLOW_UP))
    said += [user(FOLLOW_UP), says(again.choices[0].message.content)]
    names.add(ask(client, *said, user("How much may a hotel cost?")).veracity["conversation"])
    assert names == {first.veracity["conversation"]}


def test_unknown_turns_start_a_new_conversation(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(gated(approval={"threshold": 0.0}))
    got = ask(talk(served), user("Who are you?"), says("Nobody."), user(QUESTION))
    assert got.veracity["status"] == "answered"
    assert [turn.question for turn in served.engine.turns(got.veracity["conversation"])] == [QUESTION]


@pytest.mark.parametrize(
    "named",
    [
        {"metadata": {"conversation": "leave 休暇"}},
        {"extra_headers": {"X-Veracity-Conversation": quote("leave 休暇")}},
        {"extra_headers": {"X-OpenWebUI-Chat-Id": "5b1f7f0e"}},
    ],
)
def test_a_conversation_can_be_named(
    engine_with: MakeEngine, serve: Serve, talk: Talk, named: dict[str, dict[str, str]]
) -> None:
    served = serve(engine_with())
    names = {ask(talk(served), user(QUESTION), **named).veracity["conversation"] for _ in range(2)}
    (name,) = names
    assert name in ("leave 休暇", "5b1f7f0e")
    assert len(served.engine.turns(name)) == 2


def test_an_earlier_answer_is_labelled_with_its_question(engine_with: MakeEngine, serve: Serve, talk: Talk) -> None:
    client = talk(serve(engine_with()))
    said: list[Any] = []
    for question in (QUESTION, "What did you tell me about annual leave?"):
        got = ask(client, *said, user(question))
        said += [user(question), says(got.choices[0].message.content)]
    (cited,) = got.veracity["citations"]
    assert cited["document_id"].startswith("run:")
    assert f"- [1] `{QUESTION}`" in got.choices[0].message.content


def test_text_parts_are_joined(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    parts = [{"type": "text", "text": "How many days of annual leave"}, {"type": "text", "text": "do staff have?"}]
    served = serve(gated(approval={"threshold": 0.0}))
    got = ask(talk(served), user(parts))
    asked = served.engine.receipt(got.veracity["run_id"]).run.question
    assert asked == "How many days of annual leave\ndo staff have?"


def test_system_messages_are_ignored(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    llm = good_models()
    ask(talk(serve(gated(llm))), {"role": "system", "content": "SAY-PINEAPPLE"}, user(QUESTION), temperature=2, seed=4)
    assert llm.calls
    assert not any("PINEAPPLE" in message.text for call in llm.calls for message in call.messages)


def test_models_are_listed(engine_with: MakeEngine, serve: Serve, talk: Talk) -> None:
    client = talk(serve(engine_with()))
    assert [item.id for item in client.models.list()] == ["veracity"]
    assert client.models.retrieve("veracity").object == "model"
    with pytest.raises(openai.NotFoundError, match="gpt-9"):
        client.models.retrieve("gpt-9")


IMAGE = [{"type": "image_url", "image_url": {"url": "https://elsewhere.example/a.png"}}]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n": 2}, '"n"'),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, '"tools"'),
        ({"tool_choice": "required"}, '"tool_choice"'),
        ({"response_format": {"type": "json_object"}}, '"response_format"'),
        ({"logprobs": True}, '"logprobs"'),
        ({"modalities": ["text", "audio"]}, '"modalities"'),
        ({"modalities": [1] * 100_000}, '"modalities"'),
        ({"messages": []}, "no user message"),
        ({"messages": [{"role": "system", "content": "Hi."}]}, "no user message"),
        ({"messages": [user("  ")]}, "empty"),
        ({"messages": [user(IMAGE)]}, "image_url"),
        ({"messages": [user("### Task:\nGenerate a concise, 3-5 word title.")]}, "a chat program's own task"),
        ({"messages": [{"role": "wizard", "content": "Hi."}]}, "role"),
        ({"messages": "Hi."}, "messages"),
        ({"metadata": {"conversation": "two\nlines"}}, "name"),
        ({"metadata": {"content": "poem"}}, "content"),
    ],
)
def test_unsupported_parameters_are_refused_by_name(
    engine_with: MakeEngine, serve: Serve, talk: Talk, options: dict[str, Any], named: str
) -> None:
    served = serve(engine_with())
    given: Any = {"model": "veracity", "messages": [user(QUESTION)], **options}
    with pytest.raises(openai.BadRequestError) as raised:
        talk(served).chat.completions.create(**given)
    assert named in raised.value.message
    assert raised.value.type == "invalid_request_error"
    assert served.engine.runs() == []


@pytest.mark.parametrize(
    "harmless", [{"n": 1}, {"tools": []}, {"tool_choice": "none"}, {"response_format": {"type": "text"}}, {"stop": "."}]
)
def test_default_parameters_are_accepted(
    engine_with: MakeEngine, serve: Serve, talk: Talk, harmless: dict[str, Any]
) -> None:
    assert ask(talk(serve(engine_with())), user(QUESTION), max_tokens=5, **harmless).veracity["status"] == "answered"


def test_unknown_model_and_wrong_key_give_openai_errors(engine_with: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(engine_with())
    with pytest.raises(openai.NotFoundError) as unknown:
        talk(served).chat.completions.create(model="gpt-9", messages=[user(QUESTION)])
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.AuthenticationError, match="token"):
        ask(talk(served, "wrong"), user(QUESTION))
    with pytest.raises(openai.AuthenticationError):
        talk(served, "wrong").models.list()
    nowhere = served.client().get("/v1/embeddings")
    assert (nowhere.status_code, set(nowhere.json()["error"])) == (404, {"message", "type", "param", "code"})


@pytest.mark.parametrize("stream", [False, True])
def test_rate_limits_say_when_to_retry(engine_with: MakeEngine, serve: Serve, talk: Talk, stream: bool) -> None:
    served = serve(engine_with(server={"asks_per_minute": 1}))
    client = talk(served, max_retries=0)
    list(ask(client, user(QUESTION), stream=stream))
    with pytest.raises(openai.RateLimitError) as raised:
        ask(client, user(QUESTION), stream=stream)
    assert int(raised.value.response.headers["retry-after"]) >= 1
    assert served.app.state.limits.streams == 0


def test_a_failed_run_raises_in_the_client(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    """Also after the stream has started. The question is asked once, although these clients retry."""
    served = serve(gated(ScriptedLLM.by_role(writer=ModelRefusedError("The model declined."), reviewer=[PASS])))
    with pytest.raises(openai.InternalServerError, match="declined") as raised:
        ask(talk(served), user(QUESTION))
    (run,) = served.engine.runs()
    body: Any = raised.value.body
    assert (raised.value.response.headers["x-veracity-run"], body["run_id"]) == (run.run_id, run.run_id)
    stream = ask(talk(served), user(QUESTION), stream=True)
    with pytest.raises(openai.APIError, match="declined"):
        list(stream)
    assert len(served.engine.runs()) == 2


def test_a_client_timeout_asks_once(
    gated: MakeEngine, serve: Serve, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its retry follows the existing run."""
    held = Held()
    # Retry once the run exists and before it is stopped, however slow the machine is.
    monkeypatch.setattr("veracity.server.live.runs.ABANDON_SECONDS", 60.0)
    monkeypatch.setattr(openai.OpenAI, "_sleep_for_retry", lambda *_, **__: held.asked.wait(10))
    served = serve(gated(ScriptedLLM.by_role(writer=held, reviewer=[PASS], judge=judged(90))))
    with pytest.raises(openai.APITimeoutError):
        ask(talk(served, timeout=httpx.Timeout(30, read=0.2)), user(QUESTION))
    assert held.asked.wait(30)
    held.goes_on.set()
    assert len(served.engine.runs()) == 1


def test_revoked_users_get_an_error_in_the_stream(
    gated: MakeEngine, serve: Serve, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veracity.server.sse.AUTH_SECONDS", 0.0)
    held = Held()
    served = serve(gated(ScriptedLLM.by_role(writer=held, reviewer=[PASS], judge=judged(90))))
    stream = ask(talk(served, served.token("asker", "ann")), user(QUESTION), stream=True)
    next(stream)
    assert held.asked.wait(30)
    served.engine.users.remove("ann")
    held.goes_on.set()
    with pytest.raises(openai.APIError, match="valid token") as raised:
        list(stream)
    assert raised.value.type == "authentication_error"


def test_images_in_earlier_messages_are_ignored(engine_with: MakeEngine, serve: Serve, talk: Talk) -> None:
    """Clients send the whole chat with every question. Bodies without a token are not read."""
    served = serve(engine_with())
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 600_000}}
    got = ask(talk(served), user([{"type": "text", "text": "What is this?"}, image]), says("A cat."), user(QUESTION))
    assert got.veracity["status"] == "answered"
    stranger = served.client(token="wrong").post("/v1/chat/completions", content=b"[" * 600_000)
    assert stranger.status_code == 401


def test_too_many_parts_are_refused(engine_with: MakeEngine, serve: Serve) -> None:
    client = serve(engine_with()).client()
    many = [{"type": "text"}] * 6_000
    for messages in ([user(many * 2)], [user(many), user(many)]):
        refused = client.post("/v1/chat/completions", json={"model": "veracity", "messages": messages})
        assert refused.status_code == 400 and "more than 10,000 parts" in refused.json()["error"]["message"]
    wrong = client.post("/v1/chat/completions", json={"model": "veracity", "messages": "parts"})
    assert wrong.status_code == 400


def test_rate_limited_bodies_are_not_read_and_count_once(engine_with: MakeEngine, serve: Serve) -> None:
    client = serve(engine_with(server={"requests_per_minute": 2})).client()
    sent = [client.post("/v1/chat/completions", content=b"no JSON").status_code for _ in range(3)]
    assert sent == [400, 400, 429]


class TestDisconnects:
    """The client is the only one who waits for the answer, so its run stops."""

    @pytest.mark.parametrize("stream", [True, False])
    def test_a_run_without_a_client_is_stopped(self, gated: MakeEngine, serve: Serve, stream: bool) -> None:
        held = Held()
        served = serve(gated(ScriptedLLM.by_role(writer=held, reviewer=PASS, judge=judged(90))))
        body = {"model": "veracity", "messages": [user(QUESTION)], "stream": stream}
        client = served.client()
        sending = client.stream("POST", "/v1/chat/completions", json=body, timeout=30 if stream else 2)
        with contextlib.suppress(httpx.ReadTimeout), sending as response:
            lines = response.iter_lines()  # kept, because its end would close the connection
            assert next(lines) and stream
            assert held.asked.wait(30)
        assert held.asked.wait(30)
        stopped = _status_after(served, "running")
        held.goes_on.set()
        assert stopped == "failed"

    def test_a_retry_keeps_the_run(self, gated: MakeEngine, serve: Serve, talk: Talk) -> None:
        held = Held()
        served = serve(gated(ScriptedLLM.by_role(writer=held, reviewer=PASS, judge=judged(90))))
        threading.Timer(6, held.goes_on.set).start()
        got = ask(talk(served, max_retries=2, timeout=4.0), user(QUESTION))
        assert got.choices[0].message.content.startswith(GOOD)
        assert len(served.engine.runs()) == 1


def _status_after(served: Served, status: str) -> str:
    """The status of the newest run when it is no longer `status`."""
    end = time.monotonic() + 30
    while served.engine.runs(1)[0].status == status and time.monotonic() < end:
        time.sleep(0.05)
    return served.engine.runs(1)[0].status


def test_a_client_with_a_key_may_return_for_its_answer(gated: MakeEngine, serve: Serve) -> None:
    held = Held()
    served = serve(gated(ScriptedLLM.by_role(writer=held, reviewer=PASS, judge=judged(90))))
    body = {"model": "veracity", "messages": [user(QUESTION)]}
    asking: Any = {"json": body, "headers": {"Idempotency-Key": "a"}}
    client = served.client()
    with pytest.raises(httpx.ReadTimeout):
        client.post("/v1/chat/completions", **asking, timeout=2)
    assert held.asked.wait(30)
    time.sleep(2)
    assert served.engine.runs(1)[0].status == "running"
    held.goes_on.set()
    assert client.post("/v1/chat/completions", **asking).json()["choices"][0]["message"]["content"].startswith(GOOD)
