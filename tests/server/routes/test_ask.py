"""POST /api/ask: answers and events in three languages."""

import pytest

from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.server.conftest import MakeEngine, Serve
from tests.server.events import events_of, read_events
from tests.server.live.test_runs import Held
from veracity.models import Answer
from veracity.testing import ScriptedLLM

LANGUAGES = {"en": QUESTION, "zh": "正式员工每年有多少天年假？", "ja": "正社員の有給休暇は年に何日ですか？"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_has_citations(serve: Serve, engine_with: MakeEngine, language: str) -> None:
    response = serve(engine_with()).client().post("/api/ask", json={"question": LANGUAGES[language]})
    answer = Answer.model_validate(response.json())
    assert (response.status_code, answer.status, answer.language) == (200, "answered", language)
    assert all(sentence.citations for sentence in answer.sentences if sentence.states)
    assert response.headers["cache-control"] == "no-store"


def test_events_contain_every_step_and_end_with_the_answer(serve: Serve, gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=[fail("Say 25."), PASS], judge=judged(90))
    client = serve(gated(llm)).client()
    events = events_of(client, "/api/ask", method="POST", json={"question": QUESTION})
    kinds = [event.kind for event in events]
    assert (kinds[0], kinds[-1]) == ("queued", "answer")
    drafts = [
        event.data["step"]["texts"]["draft"]
        for event in events
        if event.data.get("name") == "generate_answer" and event.kind == "finished"
    ]
    assert drafts == [WRONG, GOOD]
    streamed = "".join(event.data["text"] for event in events if event.kind == "draft")
    assert streamed == WRONG + GOOD
    assert len({event.data["run_id"] for event in events}) == 1
    assert events[-1].data["answer"]["text"] == GOOD
    assert [event.id for event in events] == sorted(
        {event.id for event in events}, key=lambda item: [int(part) for part in item.split(".")]
    )


def test_a_follow_up_belongs_to_its_conversation(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    for question in (QUESTION, "And who approves it?"):
        client.post("/api/ask", json={"question": question, "conversation": "c1"})
    turns = client.get("/api/conversations/c1/turns").json()
    assert [turn["question"] for turn in turns] == [QUESTION, "And who approves it?"]
    assert client.get("/api/conversations").json()[0]["conversation"] == "c1"
    assert client.delete("/api/conversations/c1").json() == {"turns": 2}
    assert client.get("/api/conversations/c1/turns").json() == []
    assert client.delete("/api/conversations/c1").status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"question": " "}, 400, "empty"),
        ({"question": "?!"}, 400, "no word"),
        ({}, 422, "question"),
        ({"question": QUESTION, "max_rewrites": 21}, 422, "max_rewrites"),
        ({"question": QUESTION, "extra": 1}, 422, "extra"),
        ({"question": 5}, 422, "question"),
    ],
)
def test_invalid_questions_are_refused_in_one_sentence(
    serve: Serve, engine_with: MakeEngine, body: dict[str, object], status: int, expected: str
) -> None:
    client = serve(engine_with()).client()
    response = client.post("/api/ask", json=body)
    problem = response.json()["error"]
    assert (response.status_code, problem["kind"]) == (status, "InputError")
    assert expected in problem["message"] and problem["message"].endswith(".")
    assert client.get("/api/runs").json() == []


def test_a_model_failure_is_reported_and_the_run_recorded(serve: Serve, engine_with: MakeEngine) -> None:
    from veracity.errors import ModelAccessError

    llm = ScriptedLLM.by_role(writer=ModelAccessError("The provider refused the key."), reviewer=PASS)
    client = serve(engine_with(llm)).client()
    response = client.post("/api/ask", json={"question": QUESTION})
    assert response.status_code == 502
    assert "refused the key" in response.json()["error"]["message"]
    run = client.get("/api/runs").json()[0]
    assert run["status"] == "failed"
    events = events_of(client, f"/api/runs/{run['run_id']}/events")
    assert events[-1].kind == "failed" and "refused the key" in events[-1].data["problem"]


@pytest.mark.parametrize("stopped_by", ["ann", "bob"])
def test_asker_and_approvers_can_stop_a_run(serve: Serve, engine_with: MakeEngine, stopped_by: str) -> None:
    """Followers see it at once; the current model call finishes later."""
    held = Held()
    served = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS)))
    ann, bob = served.client(role="asker", name="ann"), served.client(role="approver", name="bob")
    accept = {"Accept": "text/event-stream"}
    with ann.stream("POST", "/api/ask", json={"question": QUESTION}, headers=accept) as response:
        run_id = response.headers["x-veracity-run"]
        assert held.asked.wait(10)
        stop = f"/api/runs/{run_id}/stop"
        assert served.client(role="asker", name="eve").post(stop).status_code == 404
        stopped = {"ann": ann, "bob": bob}[stopped_by].post(stop).json()
        assert (stopped["status"], stopped["problem"]) == ("failed", f"Stopped by {stopped_by}.")
        last = list(read_events(response))[-1]
        assert (last.kind, last.data["problem"]) == ("failed", f"Stopped by {stopped_by}.")
    held.goes_on.set()
    assert ann.post("/api/ask", json={"question": QUESTION}).json()["text"] == GOOD
    assert served.engine.receipt(run_id).run.problem == f"Stopped by {stopped_by}."
    answered = served.engine.runs()[0]
    assert ann.post(f"/api/runs/{answered.run_id}/stop").json()["status"] == "answered"


def test_only_limits_the_documents(serve: Serve, engine_with: MakeEngine) -> None:
    """C3, X3: for askers too, by the end of a path, and with an error for what matches nothing."""
    client = serve(engine_with()).client(role="asker")
    body = {"question": QUESTION, "only": ["travel", "…/laptops"]}
    response = client.post("/api/ask", json=body)
    answer = Answer.model_validate(response.json())
    assert {passage.document_id for passage in answer.evidence} <= {"travel", "laptops"}
    assert client.get(f"/api/runs/{answer.run_id}").json()["only"] == ["…/travel", "…/laptops"]
    nothing = client.post("/api/ask", json={"question": QUESTION, "only": ["nowhere/*.md"]})
    assert nothing.status_code == 400
    assert nothing.json()["error"]["message"].startswith('No document matches "…/nowhere/*.md"')
    for only in ("travel", ["x"] * 21, [""], ["x" * 501], [5]):
        assert client.post("/api/ask", json={"question": QUESTION, "only": only}).status_code == 422


def test_questions_are_refused_while_too_many_answers_wait_for_approval(serve: Serve, gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(40))
    served = serve(gated(llm, server={"pending_per_user": 1}))
    ann, ben = served.client(role="asker", name="ann"), served.client(role="asker", name="ben")
    waiting = ann.post("/api/ask", json={"question": QUESTION}).json()
    assert waiting["status"] == "awaiting_approval"
    refused = ann.post("/api/ask", json={"question": QUESTION})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (429, "TooMany")
    assert "1 of your questions wait for approval" in refused.json()["error"]["message"]
    assert int(refused.headers["retry-after"]) > 0
    assert ben.post("/api/ask", json={"question": QUESTION}).json()["status"] == "awaiting_approval"
    decision = served.client().post(f"/api/approvals/{waiting['approval_id']}/decision", json={"verdict": "approve"})
    assert decision.status_code == 200
    assert ann.post("/api/ask", json={"question": QUESTION}).status_code == 200
