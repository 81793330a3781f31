"""Repeated questions are asked once: by their key, or by the retry header of OpenAI's clients."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from anyio import CapacityLimiter

from tests.runs.scripts import PASS, QUESTION
from tests.server.conftest import MakeEngine, Serve
from tests.server.events import events_of
from tests.server.live.test_runs import Held
from tests.waiting import until
from veracity.errors import InputError
from veracity.server import idempotency
from veracity.server.app import DEFAULT_THREADS
from veracity.server.limits import MAX_CONCURRENT_PER_USER
from veracity.server.openai import delivery
from veracity.server.openai.conversations import find_conversation
from veracity.testing import ScriptedLLM

HOTELS = "How much may a hotel cost?"
LAPTOPS = "When is a lost laptop reported?"
KEY = {"Idempotency-Key": "k 1"}


def completed(client: httpx.Client, *said: str, tries: int = 0, **more: Any) -> httpx.Response:
    """`said` are alternating questions and answers."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
    headers = {"X-Stainless-Retry-Count": str(tries), **more.pop("headers", {})}
    return client.post(
        "/v1/chat/completions", json={"model": "veracity", "messages": messages, **more}, headers=headers
    )


def run_of(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return response.headers["x-veracity-run"]


def test_a_key_asks_once(serve: Serve, engine_with: MakeEngine) -> None:
    """On all routes, and after a restart."""
    served = serve(engine_with())
    client = served.client()
    body = {"question": QUESTION, "conversation": "c"}
    asked = client.post("/api/ask", json=body, headers=KEY)
    events = events_of(serve(engine_with()).client(), "/api/ask", method="POST", json=body, headers=KEY)
    assert events[-1].data["answer"] == asked.json()
    assert run_of(asked) == run_of(completed(client, QUESTION, headers=KEY)) == events[-1].data["run_id"]
    for other in ({"question": HOTELS}, {"question": QUESTION, "conversation": "d"}):
        refused = client.post("/api/ask", json=other, headers=KEY)
        assert (refused.status_code, refused.json()["error"]["kind"]) == (422, "KeyInUse")
        assert refused.json()["error"]["message"].startswith('The key "k 1" was used for another question')
    assert completed(client, HOTELS, headers=KEY).status_code == 422
    assert len(served.engine.runs()) == 1
    stranger = served.client(role="asker").post("/api/ask", json={"question": HOTELS}, headers=KEY)
    assert run_of(stranger) != run_of(asked)
    client.delete("/api/conversations/c")
    assert run_of(client.post("/api/ask", json=body, headers=KEY)) != run_of(asked)


def test_concurrent_requests_with_one_key_share_a_run(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with(server={"asks_per_minute": 1}))
    client = served.client()
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(client.post, "/api/ask", json={"question": QUESTION}, headers=KEY) for _ in range(6)]
        assert len({run_of(item.result()) for item in asked}) == 1
    assert len(served.engine.runs()) == 1


def test_two_servers_share_the_run_of_a_key(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, served = engine_with(), serve(engine_with())
    known, begun = served.engine.asked, list[str]()

    def too_early(**who: Any) -> Any:
        """The other server starts the run between the lookup and the start."""
        if not begun:
            begun.append(other.begin(QUESTION, key=KEY["Idempotency-Key"]))
            assert list(other.resume(begun[0]))[-1].answer
            return None
        return known(**who)

    monkeypatch.setattr(served.engine, "asked", too_early)
    response = served.client().post("/api/ask", json={"question": QUESTION}, headers=KEY)
    assert (response.status_code, [run_of(response)]) == (200, begun)
    assert len(served.engine.runs()) == 1


def test_an_openai_retry_follows_the_run(serve: Serve, engine_with: MakeEngine) -> None:
    """In a new, a recognized and a named conversation."""
    held = Held()
    client = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS))).client()
    with ThreadPoolExecutor(2) as pool:
        tries = [pool.submit(completed, client, QUESTION)]
        assert held.asked.wait(10)
        tries.append(pool.submit(completed, client, QUESTION, tries=1))
        held.goes_on.set()
        first, again = (run_of(item.result()) for item in tries)
    assert first == again
    said = (QUESTION, completed(client, QUESTION, tries=2).json()["choices"][0]["message"]["content"])
    follow_up = run_of(completed(client, *said, HOTELS))
    assert run_of(completed(client, *said, HOTELS, tries=1)) == follow_up
    named: dict[str, Any] = {"metadata": {"conversation": "c"}}
    other = run_of(completed(client, HOTELS, **named))
    assert other != follow_up
    assert run_of(completed(client, HOTELS, tries=1, **named)) == other


def test_a_retry_does_not_match_other_chats_or_old_runs(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(engine_with())
    client = served.client()
    first = completed(client, QUESTION)
    said = (QUESTION, first.json()["choices"][0]["message"]["content"])
    run_of(completed(client, *said, HOTELS))
    elsewhere = run_of(completed(client, HOTELS, tries=1))
    assert len(served.engine.runs()) == 3
    assert run_of(completed(client, HOTELS, tries=1)) == elsewhere
    assert run_of(completed(client, HOTELS)) != elsewhere  # not a retry
    named = run_of(completed(client, LAPTOPS, metadata={"conversation": "payroll"}))
    unnamed = run_of(completed(client, LAPTOPS, tries=1))
    assert named != unnamed
    for no_number in ("-1", "x", "00"):
        assert run_of(completed(client, LAPTOPS, headers={"X-Stainless-Retry-Count": no_number})) != unnamed
    monkeypatch.setattr(idempotency, "RETRY_WINDOW", timedelta(0))
    before = len(served.engine.runs())
    run_of(completed(client, HOTELS, tries=1))
    assert len(served.engine.runs()) == before + 1


def test_refused_questions_search_no_conversation(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(engine_with(server={"asks_per_minute": 1}))
    client = served.client()
    first = completed(client, QUESTION)
    said = (QUESTION, first.json()["choices"][0]["message"]["content"])
    looked: list[Any] = []

    def looking(*given: Any) -> str:
        looked.append(given)
        return find_conversation(*given)

    monkeypatch.setattr(delivery, "find_conversation", looking)
    assert completed(client, *said, HOTELS).status_code == 429
    for blank in (" ", "?!", "x" * 20_000):
        assert completed(client, *said, blank).status_code == 400
        assert completed(client, *said, blank, tries=1).status_code == 400
    assert not looked
    assert run_of(completed(client, QUESTION, tries=1)) == run_of(first)


def test_many_questions_of_one_user_do_not_delay_others(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One user sends more questions than there are threads."""
    served = serve(engine_with())
    client, other = served.client(), served.client(role="asker")
    own = served.app.state.questions._users.setdefault("local", CapacityLimiter(MAX_CONCURRENT_PER_USER))
    goes_on = threading.Event()

    def held(question: str, **chosen: Any) -> str:
        assert goes_on.wait(20)
        raise InputError("Nothing is asked here.")

    monkeypatch.setattr(served.engine, "begin", held)
    with ThreadPoolExecutor(2 * DEFAULT_THREADS) as pool:
        asked = [pool.submit(completed, client, HOTELS) for _ in range(DEFAULT_THREADS)]
        asked += [pool.submit(client.post, "/api/ask", json={"question": QUESTION}) for _ in range(DEFAULT_THREADS)]
        try:
            until(lambda: own.statistics().tasks_waiting == 2 * DEFAULT_THREADS - MAX_CONCURRENT_PER_USER)
            assert other.get("/api/runs", timeout=5).status_code == 200
        finally:
            goes_on.set()
        assert {item.result().status_code for item in asked} == {400}
