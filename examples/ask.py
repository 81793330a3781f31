"""Ask a question, watch the steps, and print the answer with what it stands on.

    export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…
    python ask.py "How many days of annual leave do full-time staff have?"

A run goes on when the connection is lost. This client then takes up the events after the last one it has seen, as a
browser does; if it has seen none, it sends the question again under the same key, which asks it once. So it also lives
through a restart of the server. Needs `pip install httpx`.
"""

import json
import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx

URL = os.environ.get("VERACITY_URL", "http://127.0.0.1:8347")
TOKEN = os.environ.get("VERACITY_TOKEN", "").strip()
NO_TOKEN = "Set VERACITY_TOKEN: what `veracity users add` printed, or what follows #token= in the server's address."
PATIENCE = 60  # seconds in which it is tried to connect again
PAUSE = 0.5  # seconds between two attempts, unless the server says when to come again
AGAIN = (429, 502, 503)  # too many requests, a proxy without its server, a server that is stopping
SILENCE = 60  # seconds; the server says something every 15
LAST = ("answer", "failed")
NOT_SENT = (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.LocalProtocolError)

Event = dict[str, Any]


def events_of(response: httpx.Response) -> Iterator[tuple[str, Event]]:
    """The id and the data of each server-sent event. Lines that begin with a colon only keep the connection open."""
    event_id = ""
    for line in response.iter_lines():
        if line.startswith("id: "):
            event_id = line[4:]
        elif line.startswith("data: "):
            yield event_id, json.loads(line[6:])


def ask(client: httpx.Client, question: str, conversation: str = "") -> Iterator[Event]:
    """All events of the run, whatever happens to the connection."""
    run_id, seen, key, since = "", "", str(uuid.uuid4()), time.monotonic()
    while True:
        if run_id:
            asked = client.build_request("GET", f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen})
        else:
            body = {"question": question, "conversation": conversation}
            asked = client.build_request("POST", "/api/ask", json=body, headers={"Idempotency-Key": key})
        asked.headers["Accept"] = "text/event-stream"
        wait = PAUSE
        try:
            with closing(client.send(asked, stream=True)) as response:
                if response.is_error and not (run_id and response.status_code in AGAIN):
                    raise SystemExit(problem_of(response))
                if response.is_error:
                    wait = float(response.headers.get("Retry-After", PAUSE))
                for event_id, event in events_of(response):
                    run_id, seen, since = event["run_id"], event_id, time.monotonic()
                    yield event
                    if event["kind"] in LAST:
                        return
        except httpx.TransportError as problem:
            if not run_id and isinstance(problem, NOT_SENT):
                raise SystemExit(f"{URL} cannot be reached: {problem}") from None
        if time.monotonic() + wait > since + PATIENCE:
            left = f"The run goes on: {URL}/#/runs/{run_id}" if run_id else "Perhaps the question never arrived."
            raise SystemExit(f"The connection is lost. {left}")
        print("… the connection was lost: taking it up again", file=sys.stderr)
        time.sleep(wait)


def problem_of(response: httpx.Response) -> str:
    """One sentence. What stands between here and the server may say something else."""
    response.read()
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"{response.status_code}: {response.text[:200]}"


def show(answer: dict[str, Any]) -> None:
    """The answer, what [1] is, and what should be known of it."""
    print(f"\n{answer['text']}\n")
    cited = [(one["number"], one["quote"]) for sentence in answer["sentences"] for one in sentence["citations"]]
    for number, quote in sorted(dict.fromkeys(cited), key=lambda one: one[0]):
        source = answer["evidence"][number - 1]
        page = f", page {source['page']}" if source["page"] else ""
        print(f"[{number}] {source['title']}{page}: “{quote}”")
    for notice in answer["notices"]:
        if notice["text"] != answer["text"]:  # what waits for a person has no other text than that it does
            print(f"Note: {notice['text']}")
    score = "not scored" if answer["score"] is None else f"score {100 * answer['score']:.0f} of 100"
    print(f"{answer['status']}, {score}, run {answer['run_id']}")


def main(question: str) -> None:
    if not (TOKEN and TOKEN.isascii() and TOKEN.isprintable()):
        raise SystemExit(NO_TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=URL, headers=headers, timeout=httpx.Timeout(10, read=SILENCE)) as client:
        for event in ask(client, question):
            if event["kind"] == "finished":
                print(f"  {event['name']}  {event['step']['seconds']:.2f} s", file=sys.stderr)
            elif event["kind"] == "failed":
                raise SystemExit(event["problem"])
            elif event["kind"] == "answer":
                show(event["answer"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
