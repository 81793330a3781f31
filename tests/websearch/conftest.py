from collections.abc import Iterator

import pytest

from tests.websearch.web_server import WebServer


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as running:
        yield running
