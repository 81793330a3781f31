"""OpenAI's own client for a server on loopback."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from tests.runs.scripts import GOOD, PASS, judged
from tests.server.conftest import TOKEN, Served
from veracity.testing import ScriptedLLM

Talk = Callable[..., openai.OpenAI]


@pytest.fixture
def talk() -> Iterator[Talk]:
    """`talk(served, token)`: an OpenAI client."""
    with contextlib.ExitStack() as stack:

        def make(served: Served, token: str = TOKEN, **options: Any) -> openai.OpenAI:
            http = stack.enter_context(openai.DefaultHttpxClient(trust_env=False, timeout=30, verify=False))
            client = openai.OpenAI(base_url=f"{served.url}/v1", api_key=token, http_client=http, **options)
            return stack.enter_context(client)

        yield make


def good_models(*more: str) -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=[GOOD, *more], reviewer=[PASS], judge=judged(90))


def user(text: Any) -> Any:
    return {"role": "user", "content": text}


def says(text: str | None) -> Any:
    return {"role": "assistant", "content": text}
