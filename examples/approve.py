"""List the drafts that wait for a person, and decide on one.

    export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…      (of an approver or an admin)
    python approve.py
    python approve.py 20250101-120000-abcdef.1 approve
    python approve.py 20250101-120000-abcdef.1 reject "The figure is last year's."
    python approve.py 20250101-120000-abcdef.1 edit "Staff have 25 days. [1]"

A rejection lets the web be searched, once, where that is configured. Needs `pip install httpx`.
"""

import json
import os
import sys
import uuid
from typing import Any

import httpx

URL = os.environ.get("VERACITY_URL", "http://127.0.0.1:8347")
TOKEN = os.environ.get("VERACITY_TOKEN", "").strip()
NO_TOKEN = "Set VERACITY_TOKEN: what `veracity users add` printed, or what follows #token= in the server's address."


def call(client: httpx.Client, method: str, path: str, **options: Any) -> Any:
    response = client.request(method, path, **options)
    if response.is_error:
        raise SystemExit(problem_of(response))
    return response.json()


def problem_of(response: httpx.Response) -> str:
    """One sentence. What stands between here and the server may say something else."""
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"{response.status_code}: {response.text[:200]}"


def show(client: httpx.Client) -> None:
    waiting = call(client, "GET", "/api/approvals")
    for one in waiting:
        score = one["draft"]["score"]  # 0 to 1, or none: an abstention has none
        print(f"{one['approval_id']}  asked by {one['user']}: {one['question']}")
        print(f"  because: {one['why']}, {'not scored' if score is None else f'score {100 * score:.0f} of 100'}")
        print(f"  draft: {one['draft']['text']}\n")
    if not waiting:
        print("Nothing waits for a person.")


def decide(client: httpx.Client, approval_id: str, verdict: str, words: str) -> None:
    """On the draft that is there now: with its hash, a decision on any other one is refused. The key lets the same
    request be sent again, should its response be lost, without deciding twice."""
    draft = call(client, "GET", f"/api/approvals/{approval_id}")
    decision: dict[str, Any] = {"verdict": "reject" if verdict == "reject" else "approve"}
    decision["draft_hash"] = draft["draft_hash"]
    decision["edit" if verdict == "edit" else "reason"] = words
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    decided = call(client, "POST", f"/api/approvals/{approval_id}/decision", json=decision, headers=headers)
    print(f"{decided['approval_id']}: {decided['state']}")
    print(outcome(client, decided["run_id"])["text"])


def outcome(client: httpx.Client, run_id: str) -> Any:
    """The run goes on by itself after a decision: its last event tells what came of it."""
    with client.stream("GET", f"/api/runs/{run_id}/events", timeout=300) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                event = json.loads(line[6:])
                if event["kind"] == "failed":
                    raise SystemExit(event["problem"])
                if event["kind"] == "answer":
                    return event["answer"]
    raise SystemExit(f"The server stopped. The run goes on when it is there again: {run_id}")


def main(arguments: list[str]) -> None:
    if not (TOKEN and TOKEN.isascii() and TOKEN.isprintable()):
        raise SystemExit(NO_TOKEN)
    with httpx.Client(base_url=URL, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
        if not arguments:
            show(client)
        elif len(arguments) >= 2 and arguments[1] in ("approve", "reject", "edit"):
            decide(client, arguments[0], arguments[1], " ".join(arguments[2:]))
        else:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except httpx.TransportError as problem:
        raise SystemExit(f"{URL} cannot be reached: {problem}") from None
