"""Authentication, roles, foreign pages, request sizes and rates."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, judged
from tests.server import conftest
from tests.server.conftest import MODULES, TOKEN, MakeEngine, Serve, Served
from tests.server.events import events_of
from veracity.engine import Veracity
from veracity.ledger.database import BUSY_SECONDS
from veracity.server.limits import MAX_WRONG_TOKENS
from veracity.testing import ScriptedLLM

ASKED = {"question": QUESTION}
OF_USERS = [
    ("GET", "/api/me"),
    ("GET", "/api/runs"),
    ("GET", "/api/runs/last"),
    ("GET", "/api/runs/last/events"),
    ("GET", "/api/runs/last/page"),
    ("POST", "/api/ask"),
    ("GET", "/api/approvals"),
    ("GET", "/api/conversations"),
    ("GET", "/api/documents"),
    ("POST", "/api/documents"),
    ("POST", "/api/documents/reindex"),
    ("DELETE", "/api/document?id=leave"),
    ("POST", "/api/search"),
    ("GET", "/api/evaluator"),
    ("POST", "/api/evaluate"),
    ("GET", "/api/events"),
    ("GET", "/metrics"),
    ("GET", "/v1/models"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("GET", "/v1/responses/resp_x"),
    ("POST", "/v1/responses/resp_x/cancel"),
    ("POST", "/mcp"),
]


@pytest.fixture
def served(serve: Serve, gated: MakeEngine) -> Served:
    return serve(gated(ScriptedLLM.by_role(writer=WRONG, reviewer=PASS, judge=judged(40))))


@pytest.mark.parametrize("token", ["", "wrong", "vt_" + "A" * 43, "é", TOKEN + "x", TOKEN[:-1]])
def test_every_route_needs_a_valid_token(served: Served, token: str) -> None:
    headers = [(b"Authorization", f"Bearer {token}".encode())] if token else []
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        for method, path in OF_USERS:
            response = client.request(method, path, headers=headers, json=ASKED if method == "POST" else None)
            assert response.status_code == 401, (method, path, response.text)
            assert response.headers["www-authenticate"] == "Bearer"
            assert token not in response.text or not token


def test_a_token_is_valid_until_it_is_revoked(served: Served) -> None:
    token = served.token("asker", "ann")
    client = served.client(token=token)
    assert client.get("/api/me").json()["user"] == "ann"
    newer = served.engine.users.renew("ann")
    assert client.get("/api/me").status_code == 401
    assert served.client(token=newer).get("/api/me").status_code == 200
    served.engine.users.remove("ann")
    assert served.client(token=newer).get("/api/me").status_code == 401


def test_a_browser_signs_in_with_a_cookie_that_scripts_cannot_read(served: Served) -> None:
    client = served.client(token="")
    assert client.post("/api/session", json={"token": "wrong"}).status_code == 401
    response = client.post("/api/session", json={"token": TOKEN})
    cookie = response.headers["set-cookie"].lower()
    assert response.status_code == 204 and "httponly" in cookie and "samesite=strict" in cookie
    assert client.get("/api/me").json()["user"] == "local"
    client.delete("/api/session")
    assert client.get("/api/me").status_code == 401


def test_other_users_resources_are_404(served: Served) -> None:
    ann, ben = served.client(role="asker", name="ann"), served.client(role="asker", name="ben")
    answer = ann.post("/api/ask", json={**ASKED, "conversation": "c"}).json()
    run_id, approval_id = answer["run_id"], answer["approval_id"]
    for path in (
        f"/api/runs/{run_id}",
        f"/api/runs/{run_id}/events",
        f"/api/runs/{run_id}/page",
        f"/api/approvals/{approval_id}",
        f"/api/approvals/{approval_id}/history",
    ):
        assert ann.get(path).status_code == 200, path
        refused = ben.get(path)
        assert (refused.status_code, refused.json()["error"]["kind"]) == (404, "NotFoundError"), path
        unknown = ben.get(path.replace(run_id, "20200101-000000-zzzzzz"))
        assert (
            unknown.json()["error"]["message"].replace("20200101-000000-zzzzzz", run_id)
            == refused.json()["error"]["message"]
        )
    assert ben.get("/api/runs").json() == ben.get("/api/approvals").json() == []
    assert ben.get("/api/conversations/c/turns").json() == []
    assert ben.delete("/api/conversations/c").status_code == 404
    decision = {"verdict": "approve"}
    assert ben.post(f"/api/approvals/{approval_id}/decision", json=decision).status_code == 404
    assert ben.post(f"/api/runs/{run_id}/feedback", json={"thumb": "down"}).status_code == 404
    assert ann.post(f"/api/approvals/{approval_id}/decision", json=decision).status_code == 403
    assert served.engine.approval(approval_id).state == "pending"


def test_roles_limit_access(served: Served) -> None:
    ann, bob = served.client(role="asker", name="ann"), served.client(role="approver", name="bob")
    answer = ann.post("/api/ask", json=ASKED).json()
    assert ann.get("/api/runs?everyone=true").status_code == 403
    assert [run["run_id"] for run in bob.get("/api/runs?everyone=true").json()] == [answer["run_id"]]
    assert bob.get("/api/runs").json() == []
    for client, status in ((ann, 403), (bob, 403)):
        assert client.post("/api/documents/reindex").status_code == status
        assert client.delete("/api/document?id=leave").status_code == status
        assert client.post("/api/documents", files={"files": ("a.txt", b"text")}).status_code == status
    decided = bob.post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": "approve"})
    assert (decided.status_code, decided.json()["decision"]["by"]) == (200, "bob")


def test_drafts_can_be_hidden_from_askers(serve: Serve, gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=WRONG, reviewer=PASS, judge=judged(40))
    served = serve(gated(llm, server={"drafts": "approvers"}, receipts={"prompts": True}))
    ann = served.client(role="asker", name="ann")
    events = events_of(ann, "/api/ask", method="POST", json=ASKED)
    answer = events[-1].data["answer"]
    places = [
        str(events),
        ann.get(f"/api/runs/{answer['run_id']}").text,
        ann.get(f"/api/runs/{answer['run_id']}/page").text,
        ann.get(f"/api/approvals/{answer['approval_id']}").text,
        ann.get("/api/approvals").text,
        ann.get(f"/api/approvals/{answer['approval_id']}/history").text,
        str(events_of(ann, f"/api/runs/{answer['run_id']}/events")),
    ]
    assert not any("40 days" in place for place in places)
    bob = served.client(role="approver", name="bob")
    assert "40 days" in bob.get(f"/api/approvals/{answer['approval_id']}").text
    assert "40 days" in str(bob.get(f"/api/runs/{answer['run_id']}").json()["calls"])
    bob.post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": "approve"})
    assert events_of(ann, f"/api/runs/{answer['run_id']}/events")[-1].data["answer"]["text"] == WRONG
    assert "40 days" in ann.get(f"/api/runs/{answer['run_id']}").text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": "localhost.evil.example"},
        {"Host": ""},
        {"Host": "evil.example@127.0.0.1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/api/ask"), ("GET", "/api/runs"), ("POST", "/v1/chat/completions")]
)
def test_foreign_hosts_and_origins_are_refused(served: Served, headers: dict[str, str], method: str, path: str) -> None:
    response = served.client().request(method, path, json=ASKED if method == "POST" else None, headers=headers)
    assert response.status_code in (400, 403), response.text
    assert served.engine.runs() == []


def test_allowed_hosts_and_addresses_are_accepted(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with(server={"allowed_hosts": ["Answers.example.com:8443"]}))
    for host in ("answers.example.com", "ANSWERS.example.com:443", "localhost:9999", "[::1]:80", "10.1.2.3"):
        origin = f"https://{host}"
        response = served.client().get(
            "/api/me", headers={"Host": host, "Origin": origin, "Sec-Fetch-Site": "same-origin"}
        )
        assert response.status_code == 200, host


def test_bodies_without_a_token_are_not_read(served: Served) -> None:
    """Not even invalid JSON is noticed."""
    stranger = served.client(token="")
    paths = ("/api/ask", "/api/search", "/api/evaluate", "/api/approvals/a/decision", "/api/runs/r/feedback")
    for path in (*paths, "/v1/chat/completions"):
        assert stranger.post(path, content=b"{", headers={"Content-Type": "application/json"}).status_code == 401, path
    sent = stranger.post("/api/session", json={"token": "x" * 5000})
    assert (sent.status_code, sent.json()["error"]["kind"]) == (413, "TooLarge")


def test_every_response_has_security_headers(served: Served) -> None:
    client = served.client()
    for path in ("/", "/healthz", "/api/me", "/api/nothing", f"{MODULES}/app.js", "/static/nothing", "/openapi.json"):
        headers = client.get(path).headers
        assert "script-src 'self';" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def _endless() -> Iterator[bytes]:
    for _ in range(40):
        yield b'{"question": "' + b"x" * 100_000


@pytest.mark.parametrize("chunked", [False, True])
def test_too_large_requests_are_refused(served: Served, chunked: bool) -> None:
    body = _endless() if chunked else b"x" * 600 * 1024
    try:
        response = served.client().post("/api/ask", content=body, headers={"Content-Type": "application/json"})
    except httpx.TransportError:
        pytest.skip("the server closed the line before all was sent, as it may")
    assert (response.status_code, response.json()["error"]["kind"]) == (413, "TooLarge")


def test_rate_limits_are_per_user(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with(server={"requests_per_minute": 5, "asks_per_minute": 1}))
    ann, ben = served.client(role="asker"), served.client(role="asker")
    statuses = [ann.get("/api/me").status_code for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    assert int(ann.get("/api/me").headers["retry-after"]) >= 1
    assert [ben.post("/api/ask", json=ASKED).status_code for _ in range(2)] == [200, 429]
    assert ben.get("/api/me").status_code == 200


def test_open_streams_are_limited(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with(server={"streams": 1}))
    client = served.client()
    with client.stream("GET", "/api/events") as response:
        assert response.status_code == 200
        assert served.client().get("/api/events").status_code == 429
    for _ in range(50):
        with client.stream("GET", "/api/events") as response:
            if response.status_code == 200:
                break
    assert response.status_code == 200
    assert "veracity_streams" in client.get("/metrics").text


def test_health_needs_no_token_and_metrics_contain_no_text(served: Served) -> None:
    client = served.client()
    client.post("/api/ask", json=ASKED)
    assert served.client(token="").get("/healthz").json() == {"status": "ok"}
    assert [client.head(path).status_code for path in ("/healthz", "/")] == [200, 200]
    metrics = client.get("/metrics").text
    assert 'veracity_requests_total{method="POST",route="/api/ask",status="200"} 1.0' in metrics
    assert 'veracity_run_seconds_count{status="awaiting_approval"} 1.0' in metrics
    assert "leave" not in metrics and GOOD not in metrics


@pytest.mark.parametrize("host", ["::1", "[::1]", "", "127.0.0.1"])
def test_an_invalid_host_is_refused(serve: Serve, engine_with: MakeEngine, host: str) -> None:
    settings = {"host": host} if host else {}
    response = serve(engine_with(server=settings)).client().get("/api/me", headers={"Host": "a@b"})
    assert response.status_code == 403


def _last_seen(engine: Veracity, name: str) -> bool:
    return next(item for item in engine.users.list() if item.name == name).last_seen is not None


def test_visits_are_recorded_in_the_background(serve: Serve, engine_with: MakeEngine, root: Path) -> None:
    served = serve(engine_with())
    ann, bob = served.client(role="asker", name="ann"), served.client(role="asker", name="bob")
    served.token("asker", "never")
    with closing(sqlite3.connect(root / "ledger" / "ledger.sqlite", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # a slow writer
        begun = time.monotonic()
        assert [client.get("/api/me").status_code for client in (ann, bob, ann, served.client())] == [200] * 4
        assert time.monotonic() - begun < BUSY_SECONDS
        assert not _last_seen(served.engine, "ann")
        connection.execute("ROLLBACK")
    end = time.monotonic() + 30
    while not (_last_seen(served.engine, "ann") and _last_seen(served.engine, "bob")):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert not _last_seen(served.engine, "never")


def test_wrong_tokens_are_limited(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with())
    ann, stranger = served.client(role="asker"), served.client(token="")

    def status(token: str) -> int:
        return stranger.get("/api/me", headers={"Authorization": f"Bearer {token}"}).status_code

    assert {status("left-open-since-yesterday") for _ in range(MAX_WRONG_TOKENS + 1)} == {401}
    found = [stranger.post("/api/session", json={"token": f"guess {n}"}) for n in range(MAX_WRONG_TOKENS + 5)]
    assert {item.status_code for item in found[:20]} == {401}
    assert (found[-1].status_code, found[-1].json()["error"]["kind"]) == (429, "TooMany")
    assert int(found[-1].headers["retry-after"]) >= 1
    assert (status(TOKEN), stranger.get("/api/me").status_code) == (429, 401)
    assert ann.get("/api/me").status_code == 200  # a token that cannot be guessed


def test_guesses_of_an_own_token_that_looks_like_a_users_are_limited(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conftest, "TOKEN", "vt_chosen-by-a-person")
    served = serve(engine_with())
    ann, local = served.client(role="asker"), served.client()
    assert local.get("/api/me").json()["user"] == "local"
    guesses = [served.client(token=f"vt_guess-{n}").get("/api/me").status_code for n in range(MAX_WRONG_TOKENS + 5)]
    assert (set(guesses[:20]), guesses[-1]) == ({401}, 429)
    assert local.get("/api/me").status_code == 429  # right or wrong: the answer must not tell
    assert ann.get("/api/me").status_code == 200


@pytest.mark.parametrize("path", ["/api/me", "/v1/models"])
def test_wrong_tokens_count_on_all_routes(serve: Serve, engine_with: MakeEngine, path: str) -> None:
    stranger = serve(engine_with()).client(token="")
    statuses = [
        stranger.get(path, headers={"Authorization": f"Bearer guess {n}"}).status_code
        for n in range(MAX_WRONG_TOKENS + 5)
    ]
    assert (statuses[0], statuses[-1]) == (401, 429)
