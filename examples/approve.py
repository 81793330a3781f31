"""List pending approvals, and decide on one.

    export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…      (an approver's or admin's)
    python approve.py
    python approve.py 20250101-120000-abcdef.1 approve
    python approve.py 20250101-120000-abcdef.1 reject "The figure is last year's."
    python approve.py 20250101-120000-abcdef.1 edit "Staff have 25 days. [1]"

A rejection starts one web search, if that is configured. Needs `pip install httpx`.
"""

import json
import os
import sys
import uuid
from typing import Any

import httpx

URL = os.environ.get("VERACITY_URL", "http://127.0.0.1:8347")
TOKEN = os.environ.get("VERACITY_TOKEN", "").strip()
NO_TOKEN = "Set VERACITY_TOKEN to the token from `veracity users add` or from the server's address, after #token=."


def call(client: httpx.Client, method: str, path: str, **options: Any) -> Any:
    response = client.request(method, path, **options)
    if response.is_error:
        raise SystemExit(error_message(response))
    return response.json()


def error_message(response: httpx.Response) -> str:
    """The server's message, or the start of a proxy's response."""
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"{response.status_code}: {response.text[:200]}"


def list_pending(client: httpx.Client) -> None:
    approvals = call(client, "GET", "/api/approvals")
    for approval in approvals:
        score = approval["draft"]["score"]  # from 0 to 1; None for an abstention
        print(f"{approval['approval_id']}  asked by {approval['user']}: {approval['question']}")
        print(f"  reason: {approval['why']}, {'not scored' if score is None else f'score {100 * score:.0f} of 100'}")
        print(f"  draft: {approval['draft']['text']}\n")
    if not approvals:
        print("No approvals are pending.")


def decide(client: httpx.Client, approval_id: str, verdict: str, text: str) -> None:
    """Decides on the current draft. The hash guards against a draft that changes meanwhile; the key makes it safe to
    send the request again if the response is lost."""
    draft = call(client, "GET", f"/api/approvals/{approval_id}")
    decision: dict[str, Any] = {"verdict": "reject" if verdict == "reject" else "approve"}
    decision["draft_hash"] = draft["draft_hash"]
    decision["edit" if verdict == "edit" else "reason"] = text
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    decided = call(client, "POST", f"/api/approvals/{approval_id}/decision", json=decision, headers=headers)
    print(f"{decided['approval_id']}: {decided['state']}")
    print(wait_for_answer(client, decided["run_id"])["text"])


def wait_for_answer(client: httpx.Client, run_id: str) -> Any:
    """Follows the run, which resumes after the decision, until its last event."""
    with client.stream("GET", f"/api/runs/{run_id}/events", timeout=300) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                event = json.loads(line[6:])
                if event["kind"] == "failed":
                    raise SystemExit(event["problem"])
                if event["kind"] == "answer":
                    return event["answer"]
    raise SystemExit(f"The server stopped. The run continues after its restart: {run_id}")


def main(arguments: list[str]) -> None:
    if not (TOKEN and TOKEN.isascii() and TOKEN.isprintable()):
        raise SystemExit(NO_TOKEN)
    with httpx.Client(base_url=URL, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
        if not arguments:
            list_pending(client)
        elif len(arguments) >= 2 and arguments[1] in ("approve", "reject", "edit"):
            decide(client, arguments[0], arguments[1], " ".join(arguments[2:]))
        else:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except httpx.TransportError as error:
        raise SystemExit(f"{URL} cannot be reached: {error}") from None
