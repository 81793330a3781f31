"""Embedding through a provider: against a real HTTP server, through the real SDK."""

import asyncio
import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.embedding.embedding_server import (
    DIMENSIONS,
    all_zero,
    answers,
    embeds,
    empty,
    huge,
    infinite,
    no_vector_at_all,
    not_a_number,
    of_nothing,
    one_too_few,
    ragged,
    vector_of,
    words,
)
from tests.loopback import (
    Behaviour,
    LoopbackServer,
    after,
    closes,
    drips,
    hangs,
    promises_more,
    raw,
    redirects,
    status,
)
from veracity.embedding.remote import AT_ONCE, BATCH, BLANK, LONGEST, ProviderEmbedder
from veracity.errors import (
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
)
from veracity.settings import LLMSettings

MODEL = "openai:test-embedder"
QUICK = LLMSettings(backoff=0.01, call_timeout=5, deadline=20)
IMPATIENT = LLMSettings(backoff=0.01, call_timeout=0.2, deadline=20)
KEY = "sk-Zq8rT2vXw9LmN4pBc7Jd"


@pytest.fixture(scope="module")
def kept() -> Iterator[list[ProviderEmbedder]]:
    made: list[ProviderEmbedder] = []
    yield made
    for embedder in made:
        embedder.close()


@pytest.fixture
def embedder(server: LoopbackServer, kept: list[ProviderEmbedder]) -> ProviderEmbedder:
    """Connections are kept from test to test, as the server is."""
    if not kept:
        kept.append(ProviderEmbedder(MODEL, QUICK))
    return kept[0]


@pytest.fixture
def impatient(server: LoopbackServer) -> Iterator[ProviderEmbedder]:
    made = ProviderEmbedder(MODEL, IMPATIENT)
    yield made
    made.close()


def expected(text: str) -> np.ndarray:
    vector = np.array(vector_of(text))
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def failure(embedder: ProviderEmbedder) -> ModelError:
    with pytest.raises(ModelError) as caught:
        embedder.embed_passages(["one", "two"])
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 450
    assert "Traceback" not in message and f'"{MODEL}"' in message
    assert caught.value.__cause__ is None and caught.value.__context__ is None  # nothing of the SDK's stays
    return caught.value


def test_passages_become_rows_of_length_1_in_their_order(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    texts = [f"text {number}" for number in range(3 * BATCH + 5)]
    vectors = embedder.embed_passages(texts)
    assert vectors.dtype == np.float32 and vectors.shape == (len(texts), DIMENSIONS)
    assert np.allclose(vectors, [expected(text) for text in texts], atol=1e-6)
    assert sorted(len(request["input"]) for request in server.requests) == [5, BATCH, BATCH, BATCH]
    assert {request["model"] for request in server.requests} == {"test-embedder"}


def test_a_query_becomes_one_vector(embedder: ProviderEmbedder) -> None:
    vector = embedder.embed_query("why?")
    assert vector.shape == (DIMENSIONS,) and np.allclose(vector, expected("why?"), atol=1e-6)


def test_a_few_batches_are_under_way_at_once(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.behaves(after(0.05, embeds()))
    embedder.embed_passages(["x"] * BATCH * 8)
    assert 1 < server.most_at_once <= AT_ONCE


def test_batches_of_long_texts_hold_fewer(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    embedder.embed_passages(["long " * 10_000] * BATCH)
    assert len(server.requests) == 4
    assert all(len(text) == LONGEST for request in server.requests for text in request["input"])


def test_what_providers_refuse_is_not_sent(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    embedder.embed_passages(["", " \n", "half \ud83d", "nul \0"])
    assert server.requests[0]["input"] == [BLANK, BLANK, "half �", "nul \0"]


def test_no_texts_have_the_form_of_texts(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, DIMENSIONS)


def test_dimensions_are_found_by_one_call(server: LoopbackServer) -> None:
    fresh = ProviderEmbedder(MODEL, QUICK)
    assert not server.requests
    assert fresh.dimensions == DIMENSIONS and fresh.dimensions == DIMENSIONS
    assert len(server.requests) == 1
    fresh.close()


def test_every_text_is_covered(embedder: ProviderEmbedder) -> None:
    assert all(embedder.covers(text) for text in ("English", "中文", "日本語です", ""))


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(429), ModelUnreachableError, "busy"),
        (status(500), ModelUnreachableError, "HTTP 500"),
        (status(503, {"error": {"message": "overloaded"}}), ModelUnreachableError, "overloaded"),
        (closes, ModelUnreachableError, "cannot be reached|broke the connection off"),
        (promises_more, ModelUnreachableError, "broke the connection off"),
        (raw(b"<html>hello</html>", Content_Type="text/html"), ModelAnswerError, "not in its API's form"),
        (raw(b"not JSON"), ModelAnswerError, "not in its API's form"),
        (raw(b"{}"), ModelAnswerError, "not in its API's form"),
        (raw(b"[]"), ModelAnswerError, "not in its API's form"),
        (answers(lambda _: []), ModelAnswerError, "not in its API's form"),
        (answers(no_vector_at_all), ModelAnswerError, "form|one vector"),
        (answers(one_too_few), ModelAnswerError, "one vector of numbers per text"),
        (answers(ragged), ModelAnswerError, "one vector of numbers per text"),
        (answers(of_nothing), ModelAnswerError, "one vector of numbers per text"),
        (answers(not_a_number), ModelAnswerError, "one vector of numbers per text"),
        (answers(infinite), ModelAnswerError, "one vector of numbers per text"),
        (answers(all_zero), ModelAnswerError, "one vector of numbers per text"),
        (answers(empty), ModelAnswerError, "one vector of numbers per text"),
        (answers(words), ModelAnswerError, "one vector of numbers per text"),
    ],
)
def test_what_may_pass_is_tried_four_times_and_then_told(
    server: LoopbackServer, embedder: ProviderEmbedder, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.behaves(behaviour)
    with pytest.raises(kind, match=words):
        raise failure(embedder)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(401), ModelAccessError, "refused the key"),
        (status(403), ModelAccessError, "refused the key"),
        (status(404), UnknownModelError, "does not know the model"),
        (status(400, {"error": {"message": "dimensions: bad"}}), ModelRequestError, "dimensions: bad"),
        (redirects, ModelRequestError, "redirects"),
    ],
)
def test_what_will_not_pass_is_told_at_once(
    server: LoopbackServer, embedder: ProviderEmbedder, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.behaves(behaviour)
    with pytest.raises(kind, match=words):
        raise failure(embedder)
    if behaviour is not redirects:  # the SDK follows a few before it gives up
        assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [hangs(), drips()])
def test_a_server_that_takes_its_time_is_not_waited_for(
    server: LoopbackServer, impatient: ProviderEmbedder, behaviour: Behaviour
) -> None:
    impatient.embed_query("connect first: loading the SDK takes a while")
    server.forget()
    server.behaves(behaviour)
    started = time.monotonic()
    assert isinstance(failure(impatient), ModelTimeoutError)
    assert len(server.requests) == 4 and time.monotonic() - started < 10


def test_the_deadline_ends_the_tries(server: LoopbackServer) -> None:
    hurried = ProviderEmbedder(MODEL, LLMSettings(backoff=0.01, call_timeout=60, deadline=0.3))
    server.behaves(hangs())
    assert isinstance(failure(hurried), ModelTimeoutError)
    assert len(server.requests) == 1
    hurried.close()


def test_a_server_that_recovers_is_forgiven(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.behaves(status(500), answers(one_too_few), closes, embeds())
    assert np.allclose(embedder.embed_query("why?"), expected("why?"), atol=1e-6)
    assert len(server.requests) == 4


def test_the_provider_is_given_the_time_it_asks_for(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.behaves(status(429, Retry_After="1"), embeds())
    embedder.embed_query("why?")
    first, second = server.times
    assert 1 <= second - first < 2


def test_who_asks_for_more_time_than_there_is_is_told_at_once(
    server: LoopbackServer, embedder: ProviderEmbedder
) -> None:
    server.behaves(status(429, Retry_After="3600"))
    assert failure(embedder).retry_after == 3600
    assert len(server.requests) == 1


def test_vectors_of_other_dimensions_than_before_are_refused(
    server: LoopbackServer, embedder: ProviderEmbedder
) -> None:
    assert embedder.dimensions == DIMENSIONS
    server.behaves(embeds(DIMENSIONS - 1))
    assert f"{DIMENSIONS - 1} dimensions" in str(failure(embedder))
    assert embedder.dimensions == DIMENSIONS


def test_huge_numbers_are_numbers(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.behaves(answers(huge))
    assert np.allclose(embedder.embed_query("why?"), expected("why?"), atol=1e-6)


def test_one_failure_ends_the_other_batches(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.behaves(status(401))
    with pytest.raises(ModelAccessError):
        embedder.embed_passages(["x"] * BATCH * 50)
    time.sleep(0.05)
    assert len(server.requests) < 50


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    lonely = ProviderEmbedder(MODEL, QUICK)
    assert "cannot be reached" in str(failure(lonely))
    lonely.close()


def test_a_key_is_never_shown(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.behaves(status(401, {"error": {"message": f"the key {KEY} is wrong"}}))
    opened = ProviderEmbedder(MODEL, QUICK)
    assert KEY not in str(failure(opened))
    opened.close()


def test_threads_and_event_loops_can_share_it(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(embedder.embed_query, [f"text {number}" for number in range(60)]))
    assert np.allclose(vectors, [expected(f"text {number}") for number in range(60)], atol=1e-6)

    async def inside() -> np.ndarray:
        return embedder.embed_query("in a loop")

    assert np.allclose(asyncio.run(inside()), expected("in a loop"), atol=1e-6)


def test_it_leaves_no_connection_open(server: LoopbackServer) -> None:
    passing = ProviderEmbedder(MODEL, QUICK)
    passing.embed_passages(["x"] * BATCH * 4)
    passing.close()
    del passing
    gc.collect()  # an open connection would warn, and a warning fails the test
