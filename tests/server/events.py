"""A client for server-sent events."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx


class Event(NamedTuple):
    id: str
    kind: str
    data: dict[str, Any]


def read_events(response: httpx.Response) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line.startswith(":"):
            continue
        if not line and fields.get("data"):
            yield Event(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif line:
            name, _, value = line.partition(": ")
            fields[name] = value


def events_of(client: httpx.Client, path: str, **options: Any) -> list[Event]:
    """All events until the stream ends."""
    method = options.pop("method", "GET")
    headers = {"Accept": "text/event-stream", **options.pop("headers", {})}
    with client.stream(method, path, headers=headers, **options) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        return list(read_events(response))
