"""OpenAI's own client against /v1/responses: answers, events, conversations, background, errors."""

import contextlib
from typing import Any

import httpx
import openai
import pytest

from tests.runs.scripts import DOCUMENTS, GOOD, PASS, QUESTION, WRONG, judged
from tests.runs.websites import SearchServer
from tests.server.conftest import MakeEngine, Serve, Served
from tests.server.live.test_runs import Held
from tests.server.openai.conftest import Talk, good_models, says, user
from tests.waiting import until
from veracity.errors import ModelRefusedError
from veracity.testing import ScriptedLLM

FOLLOW_UP = "And for part-time staff?"
STREAMED = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.annotation.added",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def ask(client: openai.OpenAI, question: Any = QUESTION, **options: Any) -> Any:
    return client.responses.create(model="veracity", input=question, **options)


def held_server(gated: MakeEngine, serve: Serve) -> tuple[Held, Served]:
    held = Held()
    return held, serve(gated(ScriptedLLM.by_role(writer=held, reviewer=PASS, judge=judged(90))))


def status_of(served: Served) -> str:
    return served.engine.runs(1)[0].status


def test_a_response_has_text_citations_usage_and_run(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(gated(good_models()))
    got = ask(talk(served), metadata={"ticket": "7"})
    assert (got.object, got.status, got.model, got.error) == ("response", "completed", "veracity", None)
    assert got.output_text.startswith(f"{GOOD}\n\nSources:\n\n- [1] `Annual leave`\n")
    (message,) = got.output
    (annotation,) = message.content[0].annotations
    assert (annotation.type, annotation.file_id, annotation.filename) == ("file_citation", "leave", "Annual leave")
    assert got.output_text[annotation.index :].startswith("[1]")
    assert got.usage.total_tokens == got.usage.input_tokens + got.usage.output_tokens > 0
    assert got.metadata == {"ticket": "7"}
    assert (got.veracity["status"], got.veracity["score"]) == ("answered", 0.9)
    (cited,) = got.veracity["citations"]
    text = next(item.text for item in DOCUMENTS if item.id == cited["document_id"])
    assert cited["quote"] == text[cited["start"] : cited["end"]]
    assert got.id == f"resp_{got.veracity['run_id']}"
    assert got.conversation.id == served.engine.runs()[0].conversation


@pytest.mark.parametrize(
    ("question", "label", "said"),
    [("正式员工每年有多少天年假?", "来源：", "十五天"), ("有給休暇は年に何日ありますか?", "出典：", "二十日")],
)
def test_annotations_are_in_place_in_every_language(
    engine_with: MakeEngine, serve: Serve, talk: Talk, question: str, label: str, said: str
) -> None:
    got = ask(talk(serve(engine_with())), [user([{"type": "input_text", "text": question}])])
    assert said in got.output_text
    assert label in got.output_text
    annotation = got.output[0].content[0].annotations[0]
    assert got.output_text[annotation.index :].startswith("[1]")
    assert ask(talk(serve(engine_with())), question, metadata={"content": "answer"}).output_text.endswith("[1]")


def test_events_are_typed_numbered_and_join_to_the_response(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    client = talk(serve(gated(good_models())))
    whole = ask(client)
    events: list[Any] = list(ask(client, stream=True))
    assert list(dict.fromkeys(event.type for event in events)) == STREAMED
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    last = events[-1].response
    assert text == last.output_text == whole.output_text
    assert last.output[0].content == whole.output[0].content
    assert (events[0].response.status, last.status, last.id) == ("in_progress", "completed", events[0].response.id)
    assert client.responses.retrieve(last.id).output_text == text
    with client.responses.stream(model="veracity", input=QUESTION) as stream:  # puts the response together itself
        assert stream.get_final_response().output_text == text


def test_drafts_are_not_sent(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    """Neither in events nor while the answer waits. After the decision the same response has the answer."""
    served = serve(gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(20))))
    client = talk(served)
    body = {"model": "veracity", "input": QUESTION, "stream": True}
    assert "25 days" not in served.client().post("/v1/responses", json=body).text
    got = ask(client)
    assert (got.status, got.veracity["status"]) == ("completed", "awaiting_approval")
    assert got.veracity["approval_id"] in got.output_text
    assert "25 days" not in got.to_json()
    served.engine.decide(got.veracity["approval_id"], "approve")
    released = client.responses.retrieve(got.id)
    assert released.output_text.startswith(GOOD)
    assert (released.id, released.created_at) == (got.id, got.created_at)


def test_web_pages_are_url_citations(gated: MakeEngine, serve: Serve, talk: Talk, website: SearchServer) -> None:
    website.finds("Full-time staff have 25 days of paid annual leave a year, by law.")
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=PASS, judge=judged(40, 90))
    served = serve(gated(llm, web=website.settings))
    client = talk(served)
    waits = ask(client)
    served.engine.decide(waits.veracity["approval_id"], "reject")
    got: Any = client.responses.retrieve(waits.id)
    cited = next(item for item in got.output[0].content[0].annotations if item.type == "url_citation")
    assert (cited.url, cited.title) == ("https://site1.example/page", "Page 1")
    assert got.output_text[cited.start_index : cited.end_index] == GOOD


def test_a_previous_response_continues_its_conversation(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(gated())
    client = talk(served)
    first = ask(client)
    second = ask(client, FOLLOW_UP, previous_response_id=first.id)
    assert (second.previous_response_id, second.conversation) == (first.id, first.conversation)
    answer = served.engine.receipt(second.veracity["run_id"]).answer
    assert answer and answer.standalone == "How many days of annual leave do part-time staff have?"
    sent_along = ask(client, [user(QUESTION), says(first.output_text), user(FOLLOW_UP)])
    assert sent_along.conversation == first.conversation
    named = ask(client, conversation="leave 休暇")
    again = ask(client, FOLLOW_UP, conversation={"id": "leave 休暇"})
    assert named.conversation == again.conversation
    assert len(served.engine.turns("leave 休暇")) == 2


def test_other_users_responses_do_not_exist(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(gated())
    first = ask(talk(served, served.token("asker", "ann")))
    bob, boss = talk(served, served.token("asker", "bob")), talk(served, served.token("approver"))
    for identity in (first.id, "resp_20260101-000000-aaaaaa", "resp_last", first.id.removeprefix("resp_"), "x" * 150):
        for attempt in (bob.responses.retrieve, bob.responses.cancel):
            with pytest.raises(openai.NotFoundError):
                attempt(identity)
        with pytest.raises(openai.NotFoundError, match="There is no response"):
            ask(bob, FOLLOW_UP, previous_response_id=identity)
    assert boss.responses.retrieve(first.id).id == first.id
    with pytest.raises(openai.NotFoundError):  # the conversation is ann's
        ask(boss, FOLLOW_UP, previous_response_id=first.id)
    assert len(served.engine.runs()) == 1
    assert served.client(token="").get(f"/v1/responses/{first.id}").status_code == 401


def test_a_background_response_is_read_later(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    held, served = held_server(gated, serve)
    client = talk(served)
    started = ask(client, background=True)
    assert (started.status, started.background, started.output) == ("in_progress", True, [])
    assert held.asked.wait(30)
    assert client.responses.retrieve(started.id).status == "in_progress"
    held.goes_on.set()
    until(lambda: client.responses.retrieve(started.id).status == "completed")
    assert client.responses.retrieve(started.id).output_text.startswith(GOOD)
    assert client.responses.cancel(started.id).status == "completed"


def test_a_cancelled_response_stops_its_run(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    held, served = held_server(gated, serve)
    client = talk(served)
    started = ask(client, background=True)
    assert held.asked.wait(30)
    cancelled = client.responses.cancel(started.id)
    held.goes_on.set()
    assert (cancelled.status, cancelled.veracity["status"], status_of(served)) == ("cancelled", "failed", "failed")


@pytest.mark.parametrize("kept", [False, True])
def test_a_stream_without_a_client_stops_unless_in_the_background(
    gated: MakeEngine, serve: Serve, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    monkeypatch.setattr("veracity.server.live.runs.ABANDON_SECONDS", 0.05)
    held, served = held_server(gated, serve)
    abandoned: list[str] = []
    monkeypatch.setattr(served.app.state.live, "abandon", lambda user, run_id: abandoned.append(run_id))
    body = {"model": "veracity", "input": QUESTION, "stream": True, "background": kept}
    with contextlib.suppress(httpx.ReadTimeout), served.client().stream("POST", "/v1/responses", json=body) as sent:
        lines = sent.iter_lines()  # kept, because its end would close the connection
        assert next(lines)
        assert held.asked.wait(30)
    until(lambda: served.app.state.limits.streams == 0)
    held.goes_on.set()
    assert len(abandoned) == (0 if kept else 1)


def test_a_key_and_a_retry_ask_once(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(gated())
    client = talk(served)
    key = {"Idempotency-Key": "a"}
    assert ask(client, extra_headers=key).id == ask(client, extra_headers=key).id
    retried = ask(client, extra_headers={"X-Stainless-Retry-Count": "1"})
    assert retried.veracity["run_id"] == served.engine.runs()[0].run_id
    assert len(served.engine.runs()) == 1
    with pytest.raises(openai.UnprocessableEntityError):
        ask(client, "How much may a hotel cost?", extra_headers=key)


def test_a_failed_run_is_an_error_and_a_failed_event(gated: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(gated(ScriptedLLM.by_role(writer=ModelRefusedError("The model declined."), reviewer=[PASS])))
    client = talk(served)
    with pytest.raises(openai.InternalServerError, match="declined") as raised:
        ask(client)
    assert raised.value.response.headers["x-veracity-run"] == served.engine.runs()[0].run_id
    last: Any = list(ask(client, stream=True))[-1]
    assert (last.type, last.response.status, last.response.error.code) == ("response.failed", "failed", "server_error")
    assert "declined" in last.response.error.message
    assert client.responses.retrieve(last.response.id).status == "failed"


def test_revoked_users_get_an_error_event(
    gated: MakeEngine, serve: Serve, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veracity.server.sse.AUTH_SECONDS", 0.0)
    held, served = held_server(gated, serve)
    stream = ask(talk(served, served.token("asker", "ann")), stream=True)
    next(stream)
    assert held.asked.wait(30)
    served.engine.users.remove("ann")
    held.goes_on.set()
    last = list(stream)[-1]
    assert (last.type, last.code) == ("error", "Unauthorized")


IMAGE = [{"type": "input_image", "image_url": "https://elsewhere.example/a.png"}]


UNSUPPORTED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "web_search"}]}, '"tools"'),
    ({"tool_choice": "required"}, '"tool_choice"'),
    ({"text": {"format": {"type": "json_object"}}}, '"text"'),
    ({"top_logprobs": 2}, '"top_logprobs"'),
    ({"prompt": {"id": "p"}}, '"prompt"'),
    ({"conversation": "c", "previous_response_id": "resp_x"}, '"previous_response_id"'),
    ({"conversation": "two\nlines"}, "name"),
    ({"metadata": {"content": "poem"}}, "content"),
    ({"input": []}, "no user message"),
    ({"input": " "}, "empty"),
    ({"input": [user(IMAGE)]}, "input_image"),
    ({"input": [{"role": "wizard", "content": "Hi."}]}, "role"),
    ({"input": [user([{"type": "input_text"}] * 10_001)]}, "10,000 parts"),
    ({"input": 7}, "input"),
]


def test_unsupported_parameters_are_refused_by_name(engine_with: MakeEngine, serve: Serve, talk: Talk) -> None:
    served = serve(engine_with())
    client = talk(served)
    for options, named in UNSUPPORTED:
        with pytest.raises(openai.BadRequestError) as raised:
            client.responses.create(**{"model": "veracity", "input": QUESTION, **options})
        assert named in raised.value.message
        assert raised.value.type == "invalid_request_error"
    assert served.engine.runs() == []


def test_what_changes_nothing_is_accepted(engine_with: MakeEngine, serve: Serve, talk: Talk) -> None:
    """Instructions, too: only the workspace sets the prompts. Items of earlier responses are not read."""
    client = talk(serve(engine_with()))
    got = ask(
        client,
        [{"type": "reasoning", "id": "r", "summary": [], "content": {"odd": 1}}, user(QUESTION)],
        instructions="SAY-PINEAPPLE",
        store=False,
        temperature=2,
        tools=[],
        text={"format": {"type": "text"}, "verbosity": "low"},
        reasoning={"effort": "low"},
    )
    assert (got.veracity["status"], got.store, got.instructions) == ("answered", True, None)
    with pytest.raises(openai.BadRequestError, match="stream"):
        client.responses.retrieve(got.id, stream=True)
