"""Ask a question, show the steps, and print the answer with its citations.

    export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…
    python ask.py "How many days of annual leave do full-time staff have?"

A run continues if the connection is lost. This client then resumes the events after the last one it received; if it
received none, it sends the question again with the same key, which does not ask twice. It also survives a restart of
the server. Needs `pip install httpx`.
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
NO_TOKEN = "Set VERACITY_TOKEN to the token from `veracity users add` or from the server's address, after #token=."
RECONNECT_SECONDS = 60  # how long to try
RETRY_SECONDS = 0.5  # between attempts, unless the server sends Retry-After
RETRY_STATUSES = (429, 502, 503)  # too many requests, a proxy without its server, a server that is stopping
READ_TIMEOUT_SECONDS = 60  # the server sends something every 10
FINAL_KINDS = ("answer", "failed")
NOT_SENT = (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.LocalProtocolError)

Event = dict[str, Any]


def read_events(response: httpx.Response) -> Iterator[tuple[str, Event]]:
    """The id and data of each server-sent event. Lines that start with a colon only keep the connection open."""
    event_id = ""
    for line in response.iter_lines():
        if line.startswith("id: "):
            event_id = line[4:]
        elif line.startswith("data: "):
            yield event_id, json.loads(line[6:])


def ask(client: httpx.Client, question: str, conversation: str = "") -> Iterator[Event]:
    """All events of the run. Reconnects if the connection is lost."""
    run_id, last_id, key, last_time = "", "", str(uuid.uuid4()), time.monotonic()
    while True:
        if run_id:
            request = client.build_request("GET", f"/api/runs/{run_id}/events", headers={"Last-Event-ID": last_id})
        else:
            body = {"question": question, "conversation": conversation}
            request = client.build_request("POST", "/api/ask", json=body, headers={"Idempotency-Key": key})
        request.headers["Accept"] = "text/event-stream"
        wait = RETRY_SECONDS
        try:
            with closing(client.send(request, stream=True)) as response:
                if response.is_error and not (run_id and response.status_code in RETRY_STATUSES):
                    raise SystemExit(error_message(response))
                if response.is_error:
                    wait = float(response.headers.get("Retry-After", RETRY_SECONDS))
                for event_id, event in read_events(response):
                    run_id, last_id, last_time = event["run_id"], event_id, time.monotonic()
                    yield event
                    if event["kind"] in FINAL_KINDS:
                        return
        except httpx.TransportError as error:
            if not run_id and isinstance(error, NOT_SENT):
                raise SystemExit(f"{URL} cannot be reached: {error}") from None
        if time.monotonic() + wait > last_time + RECONNECT_SECONDS:
            hint = f"The run continues: {URL}/#/runs/{run_id}" if run_id else "The question may not have arrived."
            raise SystemExit(f"The connection is lost. {hint}")
        print("… the connection was lost: reconnecting", file=sys.stderr)
        time.sleep(wait)


def error_message(response: httpx.Response) -> str:
    """The server's message, or the start of a proxy's response."""
    response.read()
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"{response.status_code}: {response.text[:200]}"


def print_answer(answer: dict[str, Any]) -> None:
    """The answer, its citations and notices."""
    print(f"\n{answer['text']}\n")
    citations = [citation for sentence in answer["sentences"] for citation in sentence["citations"]]
    quotes = dict.fromkeys((citation["number"], citation["quote"]) for citation in citations)
    for number, quote in sorted(quotes, key=lambda numbered: numbered[0]):
        source = answer["evidence"][number - 1]
        page = f", page {source['page']}" if source["page"] else ""
        print(f"[{number}] {source['title']}{page}: “{quote}”")
    for notice in answer["notices"]:
        if notice["text"] != answer["text"]:  # a pending answer has no other text than this notice
            print(f"Note: {notice['text']}")
    score = "not scored" if answer["score"] is None else f"score {100 * answer['score']:.0f} of 100"
    print(f"{answer['status']}, {score}, run {answer['run_id']}")


def main(question: str) -> None:
    if not (TOKEN and TOKEN.isascii() and TOKEN.isprintable()):
        raise SystemExit(NO_TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=URL, headers=headers, timeout=httpx.Timeout(10, read=READ_TIMEOUT_SECONDS)) as client:
        for event in ask(client, question):
            if event["kind"] == "finished":
                print(f"  {event['name']}  {event['step']['seconds']:.2f} s", file=sys.stderr)
            elif event["kind"] == "failed":
                raise SystemExit(event["problem"])
            elif event["kind"] == "answer":
                print_answer(event["answer"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
