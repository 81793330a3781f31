"""Content negotiation between JSON and events."""

import pytest

from veracity.server.sse import wants_events


@pytest.mark.parametrize(
    ("accept", "events"),
    [
        ("text/event-stream", True),
        ("Text/Event-Stream; charset=utf-8, */*;q=0.1", True),
        ("text/event-stream, application/json", True),
        ("application/json;q=0.5, text/event-stream", True),
        ("application/json, text/event-stream", False),
        ("application/json, text/event-stream;q=0.1", False),
        ("text/event-stream;q=0", False),
        ("text/event-stream;q=often", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_accept_headers_choose_between_events_and_json(accept: str, events: bool) -> None:
    assert wants_events(accept) == events
