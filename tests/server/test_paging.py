"""Paging: each page continues after the last item of the previous one."""

from typing import Any

import httpx

from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import MakeEngine, Serve
from veracity.testing import ScriptedLLM


def pages(client: httpx.Client, path: str, key: str, cursor: str = "after") -> list[Any]:
    """Pages of one item. Turns are listed newest last, so they are read backwards."""
    seen: list[Any] = []
    while True:
        asked = httpx.URL(path).copy_merge_params({"limit": 1, **({cursor: seen[-1]} if seen else {})})
        response = client.get(asked)
        assert response.status_code == 200, response.text
        page = response.json()
        if not page:
            return seen
        assert len(page) == 1 and page[0][key] not in seen
        seen.append(page[0][key])


def test_every_list_can_be_paged(serve: Serve, gated: MakeEngine) -> None:
    served = serve(gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(40))))
    ann, bob = served.client(role="asker", name="ann"), served.client(role="approver", name="bob")
    asked = [
        client.post("/api/ask", json={"question": QUESTION, "conversation": conversation}).json()
        for client, conversation in ((ann, "会话"), (ann, "会話/二"), (bob, "c"), (ann, "会话"))
    ]
    runs, approvals = ([item[key] for item in asked] for key in ("run_id", "approval_id"))
    own = [runs[3], runs[1], runs[0]]
    assert pages(ann, "/api/runs", "run_id") == own
    assert pages(bob, "/api/runs?everyone=true", "run_id") == runs[::-1]
    assert pages(bob, "/api/approvals", "approval_id") == approvals
    assert pages(bob, "/api/approvals?state=any", "approval_id") == approvals[::-1]
    assert pages(ann, "/api/approvals", "approval_id") == [approvals[0], approvals[1], approvals[3]]
    assert pages(ann, "/api/conversations", "conversation") == ["会话", "会話/二"]
    assert pages(ann, "/api/conversations?query=annual", "conversation") == ["会话", "会話/二"]
    assert pages(ann, "/api/conversations/会话/turns", "number", "before") == [2, 1]
    known = [item["id"] for item in ann.get("/api/documents").json()]
    assert pages(ann, "/api/documents", "id") == known
    for path in ("/api/runs", "/api/approvals", "/api/conversations", "/api/documents"):
        assert ann.get(path, params={"after": "nobody"}).json() == []
    assert ann.get("/api/runs", params={"after": runs[2]}).json() == []  # another user's run
