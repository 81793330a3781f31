"""Embedding through a provider: against a real HTTP server, through the real SDK."""

import asyncio
import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.embedding.embedding_server import (
    DIMENSIONS,
    all_null,
    all_zero,
    empty,
    huge,
    infinite,
    not_a_number,
    not_vectors,
    ragged,
    response_of,
    too_few,
    vector_of,
    vector_response,
    words,
)
from tests.loopback import (
    Behaviour,
    Handler,
    LoopbackServer,
    after_requests,
    disconnect,
    drip_bytes,
    hang,
    raw,
    redirect_forever,
    status,
    truncate_body,
)
from tests.recording import RecordingServer
from veracity.embedding.remote import BLANK, MAX_BATCH_TEXTS, MAX_CONCURRENT_CALLS, MAX_TEXT_LENGTH, ProviderEmbedder
from veracity.errors import (
    ConfigurationError,
    MissingKeyError,
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
)
from veracity.settings import LLMSettings, ModelServer

MODEL = "openai:test-embedder"
NO_TIMEOUT = LLMSettings(backoff=0.01, call_timeout=3600, deadline=3600)
SHORT_TIMEOUT = LLMSettings(backoff=0.01, call_timeout=0.2, deadline=3600)
KEY = "sk-Zq8rT2vXw9LmN4pBc7Jd"


@pytest.fixture(scope="module")
def cached_embedders() -> Iterator[list[ProviderEmbedder]]:
    embedders: list[ProviderEmbedder] = []
    yield embedders
    for embedder in embedders:
        embedder.close()


@pytest.fixture
def embedder(server: LoopbackServer, cached_embedders: list[ProviderEmbedder]) -> ProviderEmbedder:
    """Keeps its connections from test to test."""
    if not cached_embedders:
        cached_embedders.append(ProviderEmbedder(MODEL, NO_TIMEOUT))
    return cached_embedders[0]


@pytest.fixture
def short_timeout_embedder(server: LoopbackServer) -> Iterator[ProviderEmbedder]:
    embedder = ProviderEmbedder(MODEL, SHORT_TIMEOUT)
    yield embedder
    embedder.close()


def unit_vector(text: str) -> np.ndarray:
    vector = np.array(vector_of(text))
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def embedding_error(embedder: ProviderEmbedder) -> ModelError:
    with pytest.raises(ModelError) as caught:
        embedder.embed_passages(["one", "two"])
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 450
    assert "Traceback" not in message and f'"{MODEL}"' in message
    assert caught.value.__cause__ is None and caught.value.__context__ is None  # keeps nothing of the SDK's
    return caught.value


def test_passages_become_unit_rows_in_order(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    texts = [f"text {number}" for number in range(3 * MAX_BATCH_TEXTS + 5)]
    vectors = embedder.embed_passages(texts)
    assert vectors.dtype == np.float32 and vectors.shape == (len(texts), DIMENSIONS)
    assert np.allclose(vectors, [unit_vector(text) for text in texts], atol=1e-6)
    assert sorted(len(request["input"]) for request in server.requests) == [
        5,
        MAX_BATCH_TEXTS,
        MAX_BATCH_TEXTS,
        MAX_BATCH_TEXTS,
    ]
    assert {request["model"] for request in server.requests} == {"test-embedder"}


def test_query_becomes_one_vector(embedder: ProviderEmbedder) -> None:
    vector = embedder.embed_query("why?")
    assert vector.shape == (DIMENSIONS,) and np.allclose(vector, unit_vector("why?"), atol=1e-6)


def test_batches_run_concurrently(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.respond_with(after_requests(MAX_CONCURRENT_CALLS, vector_response()))
    embedder.embed_passages(["x"] * MAX_BATCH_TEXTS * 2 * MAX_CONCURRENT_CALLS)
    assert server.max_concurrent_requests == MAX_CONCURRENT_CALLS


def test_batches_of_long_texts_are_smaller(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    embedder.embed_passages(["long " * 10_000] * MAX_BATCH_TEXTS)
    assert len(server.requests) == 4
    assert all(len(text) == MAX_TEXT_LENGTH for request in server.requests for text in request["input"])


def test_blank_and_invalid_texts_are_replaced(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    embedder.embed_passages(["", " \n", "half \ud83d", "nul \0"])
    assert server.requests[0]["input"] == [BLANK, BLANK, "half �", "nul \0"]


def test_empty_input(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, DIMENSIONS)


def test_dimensions_take_one_call(server: LoopbackServer) -> None:
    embedder = ProviderEmbedder(MODEL, NO_TIMEOUT)
    assert not server.requests
    assert embedder.dimensions == DIMENSIONS and embedder.dimensions == DIMENSIONS
    assert len(server.requests) == 1
    embedder.close()


def test_covers_every_text(embedder: ProviderEmbedder) -> None:
    assert all(embedder.covers(text) for text in ("English", "中文", "日本語です", ""))


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(429), ModelUnreachableError, "busy"),
        (status(500), ModelUnreachableError, "HTTP 500"),
        (status(503, {"error": {"message": "overloaded"}}), ModelUnreachableError, "overloaded"),
        (disconnect, ModelUnreachableError, "cannot be reached|closed the connection early"),
        (truncate_body, ModelUnreachableError, "closed the connection early"),
        (raw(b"<html>hello</html>", Content_Type="text/html"), ModelAnswerError, "not in its API's format"),
        (raw(b"not JSON"), ModelAnswerError, "not in its API's format"),
        (raw(b"{}"), ModelAnswerError, "not in its API's format"),
        (raw(b"[]"), ModelAnswerError, "not in its API's format"),
        (response_of(lambda _: []), ModelAnswerError, "not in its API's format"),
        (response_of(not_vectors), ModelAnswerError, "format|one vector"),
        (response_of(too_few), ModelAnswerError, "one vector of numbers per text"),
        (response_of(ragged), ModelAnswerError, "one vector of numbers per text"),
        (response_of(all_null), ModelAnswerError, "one vector of numbers per text"),
        (response_of(not_a_number), ModelAnswerError, "one vector of numbers per text"),
        (response_of(infinite), ModelAnswerError, "one vector of numbers per text"),
        (response_of(all_zero), ModelAnswerError, "one vector of numbers per text"),
        (response_of(empty), ModelAnswerError, "one vector of numbers per text"),
        (response_of(words), ModelAnswerError, "one vector of numbers per text"),
    ],
)
def test_transient_failure_takes_four_calls(
    server: LoopbackServer, embedder: ProviderEmbedder, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.respond_with(behaviour)
    with pytest.raises(kind, match=words):
        raise embedding_error(embedder)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(401), ModelAccessError, "refused the key"),
        (status(403), ModelAccessError, "refused the key"),
        (status(404), UnknownModelError, "does not know the model"),
        (status(400, {"error": {"message": "dimensions: bad"}}), ModelRequestError, "dimensions: bad"),
        (redirect_forever, ModelRequestError, "redirects"),
    ],
)
def test_permanent_failure_takes_one_call(
    server: LoopbackServer, embedder: ProviderEmbedder, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.respond_with(behaviour)
    with pytest.raises(kind, match=words):
        raise embedding_error(embedder)
    if behaviour is not redirect_forever:  # the SDK follows a few before it gives up
        assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [hang(600), drip_bytes(600)])
def test_hanging_server_times_out(
    server: LoopbackServer, short_timeout_embedder: ProviderEmbedder, behaviour: Behaviour
) -> None:
    short_timeout_embedder.embed_query("connect first: loading the SDK takes a while")
    server.reset()
    server.respond_with(behaviour)
    problem = embedding_error(short_timeout_embedder)
    assert isinstance(problem, ModelTimeoutError) and "(4 calls made; the limit of a call is llm.call" in str(problem)


def test_deadline_ends_the_retries(server: LoopbackServer) -> None:
    embedder = ProviderEmbedder(MODEL, LLMSettings(backoff=0.01, call_timeout=3600, deadline=0.3))
    server.respond_with(hang(600))
    problem = embedding_error(embedder)
    assert isinstance(problem, ModelTimeoutError) and "(1 call made; no time for a retry" in str(problem)
    embedder.close()


def test_server_recovers(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.respond_with(status(500), response_of(too_few), disconnect, vector_response())
    assert np.allclose(embedder.embed_query("why?"), unit_vector("why?"), atol=1e-6)
    assert len(server.requests) == 4


def test_retry_after_is_honoured(
    server: LoopbackServer, embedder: ProviderEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("veracity.deadlines.Stop.sleep", lambda _, seconds: pauses.append(seconds))
    server.respond_with(status(429, Retry_After="1"), vector_response())
    embedder.embed_query("why?")
    assert [pause >= 1 for pause in pauses] == [True]


def test_retry_after_beyond_the_deadline_is_not_waited_for(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.respond_with(status(429, Retry_After="7200"))
    assert embedding_error(embedder).retry_after == 7200
    assert len(server.requests) == 1


def test_changed_dimensions_are_an_error(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    assert embedder.dimensions == DIMENSIONS
    server.respond_with(vector_response(DIMENSIONS - 1))
    assert f"{DIMENSIONS - 1} dimensions" in str(embedding_error(embedder))
    assert embedder.dimensions == DIMENSIONS


def test_huge_numbers_are_normalized(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    server.respond_with(response_of(huge))
    assert np.allclose(embedder.embed_query("why?"), unit_vector("why?"), atol=1e-6)


def test_failure_cancels_other_batches(server: LoopbackServer) -> None:
    embedder = ProviderEmbedder(MODEL, NO_TIMEOUT)
    server.respond_with(status(401), hang(600))
    with pytest.raises(ModelAccessError):
        embedder.embed_passages(["x"] * MAX_BATCH_TEXTS * 50)
    assert len(server.requests) <= 1 + MAX_CONCURRENT_CALLS
    server.reset()  # ends the calls that hang
    embedder.close()


def test_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    embedder = ProviderEmbedder(MODEL, NO_TIMEOUT)
    assert "cannot be reached" in str(embedding_error(embedder))
    embedder.close()


def test_key_is_never_shown(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.respond_with(status(401, {"error": {"message": f"the key {KEY} is wrong"}}))
    embedder = ProviderEmbedder(MODEL, NO_TIMEOUT)
    assert KEY not in str(embedding_error(embedder))
    embedder.close()


def test_embedder_works_in_threads_and_event_loops(server: LoopbackServer, embedder: ProviderEmbedder) -> None:
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(embedder.embed_query, [f"text {number}" for number in range(60)]))
    assert np.allclose(vectors, [unit_vector(f"text {number}") for number in range(60)], atol=1e-6)

    async def inside() -> np.ndarray:
        return embedder.embed_query("in a loop")

    assert np.allclose(asyncio.run(inside()), unit_vector("in a loop"), atol=1e-6)


def test_connections_are_closed(server: LoopbackServer) -> None:
    embedder = ProviderEmbedder(MODEL, NO_TIMEOUT)
    embedder.embed_passages(["x"] * MAX_BATCH_TEXTS * 4)
    embedder.close()
    del embedder
    gc.collect()  # an open connection would warn, and a warning fails the test


def test_own_server_gets_its_own_key_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """`[servers.NAME]`, while OpenAI's own variables are set."""
    monkeypatch.setenv("OPENAI_API_KEY", "openai-Key-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("GPU_API_KEY", "gpu-Key-0123456789")
    with RecordingServer() as first, RecordingServer() as second:
        servers = {"gpu": ModelServer(url=first.url, key_env="GPU_API_KEY"), "open": ModelServer(url=second.url)}
        for name in servers:
            embedder = ProviderEmbedder(f"{name}:m", NO_TIMEOUT, servers)
            assert np.allclose(embedder.embed_query("why?"), unit_vector("why?"))
            embedder.close()
        assert (first.keys, second.keys) == ({"Bearer gpu-Key-0123456789"}, {None})
        assert {request.path for request in (*first.recorded, *second.recorded)} == {"/v1/embeddings"}


def test_own_server_that_is_unknown_or_lacks_its_key() -> None:
    servers = {"gpu": ModelServer(url="http://gpu", key_env="GPU_API_KEY")}
    with pytest.raises(MissingKeyError, match=r'for the server "gpu": set GPU_API_KEY in the environment'):
        ProviderEmbedder("gpu:m", NO_TIMEOUT, servers)
    with pytest.raises(ConfigurationError, match=r'"gpuu"; did you mean "gpu:m"\? Configured servers: gpu\.'):
        ProviderEmbedder("gpuu:m", NO_TIMEOUT, servers)
    with pytest.raises(ConfigurationError, match=r'No provider or server is called "what" .* servers: gpu\.$'):
        ProviderEmbedder("what:m", NO_TIMEOUT, servers).embed_query("why?")


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("multilingual-e5-small", "query: why?", "passage: why?"),
        ("nomic-embed-text:latest", "search_query: why?", "search_document: why?"),
        ("bge-m3", "why?", "why?"),
        ("something-else", "why?", "why?"),
    ],
)
def test_known_models_get_their_prefixes_on_a_server(
    server: LoopbackServer, model: str, query: str, passage: str
) -> None:
    servers = {"gpu": ModelServer(url=server.url)}
    embedder = ProviderEmbedder(f"gpu:{model}", NO_TIMEOUT, servers)
    embedder.embed_query("why?")
    embedder.embed_passages(["why?", ""])
    assert [request["input"] for request in server.requests] == [
        [query],
        [passage, passage.removesuffix("why?") or BLANK],
    ]
    assert embedder.name == (f"gpu:{model} (prefixes)" if query != "why?" else f"gpu:{model}")
    embedder.close()


def test_known_models_cover_their_languages(server: LoopbackServer) -> None:
    servers = {"gpu": ModelServer(url=server.url)}
    english = ProviderEmbedder("gpu:BAAI/bge-small-en-v1.5", NO_TIMEOUT, servers)
    assert english.covers("Why is the sky blue?") and not english.covers("猫在沙发上睡觉")
    english.close()


def test_tei_is_asked_at_its_own_endpoint(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text Embeddings Inference refuses more than 32 texts, and long ones without "truncate"."""
    monkeypatch.setenv("TEI_API_KEY", KEY)
    seen: list[tuple[str, str | None]] = []

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        seen.append((handler.path, handler.headers.get("Authorization")))
        if len(body["inputs"]) > 32 or not body["truncate"]:
            handler.send(422, {"error": "batch size > maximum allowed batch size 32", "error_type": "Validation"}, {})
        else:
            handler.send(200, [vector_of(text) for text in body["inputs"]], {})

    server.respond_with(respond)
    servers = {"tei": ModelServer(url=server.url, key_env="TEI_API_KEY", api="tei")}
    embedder = ProviderEmbedder("tei:intfloat/multilingual-e5-base", NO_TIMEOUT, servers)
    texts = [f"text {number}" for number in range(70)]
    assert np.allclose(embedder.embed_passages(texts), [unit_vector(f"passage: {text}") for text in texts], atol=1e-6)
    assert np.allclose(embedder.embed_query("why?"), unit_vector("query: why?"), atol=1e-6)
    assert set(seen) == {("/embed", f"Bearer {KEY}")} and len(seen) == 4
    embedder.close()
    server.respond_with(status(413, {"error": "too large", "error_type": "Validation"}))
    failing = ProviderEmbedder("tei:m", NO_TIMEOUT, servers)
    with pytest.raises(ModelRequestError):
        failing.embed_query("why?")
    failing.close()
