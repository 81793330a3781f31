"""Ask a question, watch the steps, and print the answer with what it stands on.

    export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…
    python ask.py "How many days of annual leave do full-time staff have?"

A run goes on when the connection is lost. This client then takes up the events after the last one it has seen, as a
browser does. Needs `pip install httpx`.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx

URL = os.environ.get("VERACITY_URL", "http://127.0.0.1:8347")
TOKEN = os.environ.get("VERACITY_TOKEN", "")
ATTEMPTS = 5  # to connect again, one after another
SILENCE = 60  # seconds; the server says something every 15
LAST = ("answer", "failed")

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
    run_id, seen, attempts = "", "", 0
    while True:
        if run_id:
            asked = client.build_request("GET", f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen})
        else:
            body = {"question": question, "conversation": conversation}
            asked = client.build_request("POST", "/api/ask", json=body)
        asked.headers["Accept"] = "text/event-stream"
        try:
            with closing(client.send(asked, stream=True)) as response:
                if response.is_error:
                    raise SystemExit(json.loads(response.read())["error"]["message"])
                for event_id, event in events_of(response):
                    run_id, seen, attempts = event["run_id"], event_id, 0
                    yield event
                    if event["kind"] in LAST:
                        return
        except httpx.TransportError as problem:
            if not run_id:  # it is not known whether the question arrived: asking again might ask it twice
                raise SystemExit(f"{URL} cannot be reached: {problem}") from None
        attempts += 1
        if attempts > ATTEMPTS:
            raise SystemExit(f"The connection is lost. The run goes on: {URL}/#/runs/{run_id}")
        print("… the connection was lost: taking it up again", file=sys.stderr)
        time.sleep(0.2 * attempts)


def show(answer: dict[str, Any]) -> None:
    """The answer, what [1] is, and what should be known of it."""
    print(f"\n{answer['text']}\n")
    cited = {one["number"]: one for sentence in answer["sentences"] for one in sentence["citations"]}
    for number, citation in sorted(cited.items()):
        source = answer["evidence"][number - 1]
        page = f", page {source['page']}" if source["page"] else ""
        print(f"[{number}] {source['title']}{page}: “{citation['quote']}”")
    for notice in answer["notices"]:
        print(f"Note: {notice['text']}")
    score = "not scored" if answer["score"] is None else f"score {100 * answer['score']:.0f} of 100"
    print(f"{answer['status']}, {score}, run {answer['run_id']}")


def main(question: str) -> None:
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
