"""Which form of a response is asked for."""

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
def test_events_come_where_they_are_wanted_rather_than_json(accept: str, events: bool) -> None:
    assert wants_events(accept) == events
