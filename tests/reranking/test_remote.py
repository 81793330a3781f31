"""Reranking through a service: against a real HTTP server, through the real client."""

import asyncio
import email.utils
import gc
import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import (
    Behaviour,
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
from tests.reranking.rerank_server import (
    changed_entry,
    drip_headers,
    duplicate_index,
    ranking_response,
    record_requests,
    repeated_entry,
    response_of,
    score_of,
    too_few,
    too_many,
)
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
from veracity.reranking import make_reranker
from veracity.reranking.remote import (
    BLANK,
    MAX_CONCURRENT_CALLS,
    MAX_RESPONSE_BYTES,
    MAX_TEXT_LENGTH,
    ProviderReranker,
)
from veracity.settings import LLMSettings, ModelServer

MODEL = "server:test-reranker"
NO_TIMEOUT = LLMSettings(backoff=0.01, call_timeout=3600, deadline=3600)
SHORT_TIMEOUT = LLMSettings(backoff=0.01, call_timeout=0.1, deadline=3600)
KEY = "Zq8rT2vXw9LmN4pBc7JdKs1f"
PASSAGES = ["A cat sleeps on the sofa.", "猫在沙发上睡觉。", "猫がソファで寝ています。", "Rates rose."]
SCORES = [score_of(passage) for passage in PASSAGES]
VARIABLES = {
    "cohere": ("COHERE_BASE_URL", "CO_API_KEY"),
    "jina": ("JINA_BASE_URL", "JINA_API_KEY"),
    "voyage": ("VOYAGE_BASE_URL", "VOYAGE_API_KEY"),
    "server": ("RERANK_BASE_URL", "RERANK_API_KEY"),
}


@pytest.fixture(scope="module")
def cached_rerankers() -> Iterator[list[ProviderReranker]]:
    made: list[ProviderReranker] = []
    yield made
    for reranker in made:
        reranker.close()


@pytest.fixture
def reranker(server: LoopbackServer, cached_rerankers: list[ProviderReranker]) -> ProviderReranker:
    """Keeps its connections from test to test."""
    if not cached_rerankers:
        cached_rerankers.append(ProviderReranker(MODEL, NO_TIMEOUT))
    return cached_rerankers[0]


@pytest.fixture
def short_timeout_reranker(server: LoopbackServer) -> Iterator[ProviderReranker]:
    made = ProviderReranker(MODEL, SHORT_TIMEOUT)
    yield made
    made.close()


def make_reranker_for(service: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> ProviderReranker:
    address, key = VARIABLES[service]
    monkeypatch.setenv(address, server.url)
    monkeypatch.setenv(key, KEY)
    return ProviderReranker(f"{service}:test-reranker", NO_TIMEOUT)


def failure(reranker: ProviderReranker) -> ModelError:
    with pytest.raises(ModelError) as caught:
        reranker.scores("where is the cat?", PASSAGES)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 450
    assert "Traceback" not in message and f'"{reranker.name}"' in message
    assert caught.value.__cause__ is None and caught.value.__context__ is None  # keeps nothing of the request
    return caught.value


@pytest.mark.parametrize(
    ("service", "place", "sent"),
    [
        ("cohere", "results", {"top_n": 4}),
        ("jina", "results", {"top_n": 4, "return_documents": False}),
        ("voyage", "data", {"top_k": 4}),
        ("server", "results", {"top_n": 4, "texts": PASSAGES, "truncate": True}),
    ],
)
def test_request_format_of_each_service(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, service: str, place: str, sent: dict[str, Any]
) -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    server.respond_with(record_requests(seen, ranking_response(place)))
    reranker = make_reranker_for(service, server, monkeypatch)
    assert reranker.scores("where is the cat?", PASSAGES) == SCORES
    asked = {"model": "test-reranker", "query": "where is the cat?", "documents": PASSAGES}
    assert server.requests == [{**asked, **sent}]
    path, headers = seen[0]
    assert path == "/v1/rerank" and headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json" and headers["accept-encoding"] == "identity"
    reranker.close()


@pytest.mark.parametrize(
    ("service", "url"),
    [
        ("cohere", "https://api.cohere.com/v2/rerank"),
        ("jina", "https://api.jina.ai/v1/rerank"),
        ("voyage", "https://api.voyageai.com/v1/rerank"),
    ],
)
def test_default_urls(service: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[service][1], KEY)
    endpoint = ProviderReranker(f"{service}:test-reranker")._endpoint
    assert endpoint.url == url and KEY not in repr(endpoint)


@pytest.mark.parametrize("ending", ["", "/", "/rerank", "/rerank/"])
def test_base_url_variants(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    server.respond_with(record_requests(seen, ranking_response()))
    monkeypatch.setenv("RERANK_BASE_URL", f" {server.url}{ending} ")
    reranker = ProviderReranker(MODEL, NO_TIMEOUT)
    reranker.scores("why?", ["because"])
    assert seen[0][0] == "/v1/rerank" and "authorization" not in seen[0][1]
    reranker.close()


@pytest.mark.parametrize(
    "behaviour", [ranking_response(None, "score"), ranking_response("data"), ranking_response("results", "score")]
)
def test_response_formats(server: LoopbackServer, reranker: ProviderReranker, behaviour: Behaviour) -> None:
    server.respond_with(behaviour)
    assert reranker.scores("why?", PASSAGES) == SCORES


def test_no_passages_make_no_call(server: LoopbackServer, reranker: ProviderReranker) -> None:
    assert reranker.scores("why?", []) == [] and not server.requests


def test_blank_and_invalid_texts_are_replaced(server: LoopbackServer, reranker: ProviderReranker) -> None:
    reranker.scores(" ", ["", " \n", "half \ud83d", "nul \0", "long " * 10_000])
    sent = server.requests[0]
    assert sent["query"] == BLANK
    assert sent["documents"] == [BLANK, BLANK, "half �", "nul \0", ("long " * 10_000)[:MAX_TEXT_LENGTH]]


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(429), ModelUnreachableError, "busy"),
        (status(500), ModelUnreachableError, "HTTP 500"),
        (status(503, {"error": {"message": "overloaded"}}), ModelUnreachableError, "HTTP 503: overloaded"),
        (disconnect, ModelUnreachableError, "closed the connection early"),
        (truncate_body, ModelUnreachableError, "closed the connection early"),
        (raw(b"<html>hello</html>", Content_Type="text/html"), ModelAnswerError, "one score per passage"),
        (raw(b"\x1f\x8b\x08", Content_Encoding="gzip"), ModelAnswerError, "one score per passage"),
        (raw(b""), ModelAnswerError, "one score per passage"),
        (raw(b"{}"), ModelAnswerError, "one score per passage"),
        (raw(b"null"), ModelAnswerError, "one score per passage"),
        (raw(b"[" * 100_000), ModelAnswerError, "one score per passage"),
        (raw(b'{"results": 4}'), ModelAnswerError, "one score per passage"),
        (raw(b'{"results": [1, 2, 3, 4]}'), ModelAnswerError, "one score per passage"),
        (raw(b" " * (MAX_RESPONSE_BYTES + 1)), ModelAnswerError, "more than 10 MB"),
        (response_of(too_few), ModelAnswerError, "one score per passage"),
        (response_of(too_many), ModelAnswerError, "one score per passage"),
        (response_of(duplicate_index), ModelAnswerError, "one score per passage"),
        (response_of(repeated_entry), ModelAnswerError, "one score per passage"),
        (changed_entry(index=None), ModelAnswerError, "one score per passage"),
        (changed_entry(index=4), ModelAnswerError, "one score per passage"),
        (changed_entry(index=-1), ModelAnswerError, "one score per passage"),
        (changed_entry(index="0"), ModelAnswerError, "one score per passage"),
        (changed_entry(index=True), ModelAnswerError, "one score per passage"),
        (changed_entry(relevance_score=None), ModelAnswerError, "one score per passage"),
        (changed_entry(relevance_score=float("nan")), ModelAnswerError, "one score per passage"),
        (changed_entry(relevance_score=float("inf")), ModelAnswerError, "one score per passage"),
        (changed_entry(relevance_score=10**400), ModelAnswerError, "one score per passage"),
        (changed_entry(relevance_score="0.5"), ModelAnswerError, "one score per passage"),
        (changed_entry(relevance_score=False), ModelAnswerError, "one score per passage"),
    ],
)
def test_transient_failure_takes_four_calls(
    server: LoopbackServer, reranker: ProviderReranker, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.respond_with(behaviour)
    with pytest.raises(kind, match=words):
        raise failure(reranker)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(401), ModelAccessError, "refused the key"),
        (status(403), ModelAccessError, "refused the key"),
        (status(402), ModelAccessError, "no quota or credit left"),
        (status(404, {"message": "model not found."}), UnknownModelError, r"does not know .* \(HTTP 404: model not"),
        (status(400, {"detail": "too many documents"}), ModelRequestError, "HTTP 400: too many documents"),
        (status(422, {"detail": [{"msg": "field required"}]}), ModelRequestError, "HTTP 422: field required"),
        (status(400, {"error": "a\nb " * 500}), ModelRequestError, "a b a b"),
        (status(413, [[[[]]]]), ModelRequestError, r"\(HTTP 413\)"),
        (redirect_forever, ModelRequestError, "redirects to another address .HTTP 307"),
    ],
)
def test_permanent_failure_takes_one_call(
    server: LoopbackServer, reranker: ProviderReranker, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.respond_with(behaviour)
    with pytest.raises(kind, match=words):
        raise failure(reranker)
    assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [hang(600), drip_bytes(600), drip_headers])
def test_hanging_server_times_out(
    server: LoopbackServer, short_timeout_reranker: ProviderReranker, behaviour: Behaviour
) -> None:
    server.respond_with(behaviour)
    problem = failure(short_timeout_reranker)
    assert isinstance(problem, ModelTimeoutError) and "(4 calls made; the limit of a call is llm.call" in str(problem)


def test_deadline_ends_the_retries(server: LoopbackServer) -> None:
    reranker = ProviderReranker(MODEL, LLMSettings(backoff=0.01, call_timeout=3600, deadline=0.3))
    server.respond_with(hang(600))
    problem = failure(reranker)
    assert isinstance(problem, ModelTimeoutError) and "(1 call made; no time for a retry" in str(problem)
    reranker.close()


def test_waiting_for_a_worker_counts(server: LoopbackServer) -> None:
    reranker = ProviderReranker(MODEL, LLMSettings(backoff=0.01, call_timeout=3600, deadline=1, workers=1))
    server.respond_with(hang(600))
    with ThreadPoolExecutor(8) as pool:
        failures = list(pool.map(lambda _: failure(reranker), range(8)))
    assert all(isinstance(problem, ModelTimeoutError) for problem in failures)
    assert len(server.requests) < 8  # the deadline of the others passed while they waited
    reranker.close()


def test_server_recovers(server: LoopbackServer, reranker: ProviderReranker) -> None:
    server.respond_with(status(500), response_of(too_few), disconnect, ranking_response())
    assert reranker.scores("why?", PASSAGES) == SCORES
    assert len(server.requests) == 4


def test_retry_after_is_honoured(
    server: LoopbackServer, reranker: ProviderReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("veracity.deadlines.Stop.sleep", lambda _, seconds: pauses.append(seconds))
    server.respond_with(status(429, Retry_After="0.5"), ranking_response())
    reranker.scores("why?", PASSAGES)
    assert [pause >= 0.5 for pause in pauses] == [True]


@pytest.mark.parametrize(
    "asked", ["72000", email.utils.formatdate(time.time() + 72_000, usegmt=True)], ids=["seconds", "date"]
)
def test_retry_after_beyond_the_deadline_is_not_waited_for(
    server: LoopbackServer, reranker: ProviderReranker, asked: str
) -> None:
    server.respond_with(status(429, Retry_After=asked))
    assert failure(reranker).retry_after == pytest.approx(72_000, abs=36_000)
    assert len(server.requests) == 1


@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT", ""])
def test_invalid_retry_after_is_ignored(
    server: LoopbackServer, reranker: ProviderReranker, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("veracity.deadlines.Stop.sleep", lambda _, seconds: pauses.append(seconds))
    server.respond_with(status(503, Retry_After=asked), ranking_response())
    assert reranker.scores("why?", PASSAGES) == SCORES
    assert [pause <= NO_TIMEOUT.backoff for pause in pauses] == [True]


def test_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_BASE_URL", "http://127.0.0.1:9/v1")
    reranker = ProviderReranker(MODEL, NO_TIMEOUT)
    assert "cannot be reached" in str(failure(reranker))
    reranker.close()


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[LoopbackServer]:
    """A server with a self-signed certificate."""
    if not (openssl := shutil.which("openssl")):
        pytest.skip("needs openssl")
    made: list[str | Path] = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        tmp_path / "key",
        "-out",
        tmp_path / "cert",
    ]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([openssl, "req", "-x509", *made, *named], capture_output=True, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with LoopbackServer() as running:
        running._server.socket = context.wrap_socket(running._server.socket, server_side=True)
        running.url = running.url.replace("http:", "https:")
        running.respond_with(ranking_response())
        yield running


def test_certificates_are_verified(untrusted: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_BASE_URL", untrusted.url)
    careful = ProviderReranker(MODEL, NO_TIMEOUT)
    assert "certificate" in str(failure(careful)) and not untrusted.requests
    careful.close()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    trusting = ProviderReranker(MODEL, NO_TIMEOUT)
    assert trusting.scores("why?", PASSAGES) == SCORES
    trusting.close()


def test_https_to_a_plain_http_server(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_BASE_URL", server.url.replace("http:", "https:"))
    plain = ProviderReranker(MODEL, NO_TIMEOUT)
    assert isinstance(failure(plain), ModelUnreachableError)
    plain.close()


@pytest.mark.parametrize("variable", ["ALL_PROXY", "SSL_CERT_FILE"])
def test_unusable_proxy_and_certificate_settings_are_reported(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "nonsense://nowhere")
    reranker = ProviderReranker(MODEL, NO_TIMEOUT)
    with pytest.raises(ConfigurationError, match=rf"cannot be set up: [^\n]*{variable}[^\n]*\.$") as caught:
        reranker.scores("why?", PASSAGES)
    assert caught.value.__context__ is None and "nowhere" not in str(caught.value)
    reranker.close()


@pytest.mark.parametrize("service", VARIABLES)
def test_key_is_never_shown(service: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = make_reranker_for(service, server, monkeypatch)
    for code in (400, 401, 404, 429):
        server.respond_with(status(code, {"message": f"the key {KEY} is wrong"}))
        assert KEY not in str(failure(reranker))
    monkeypatch.delenv(VARIABLES[service][1])  # even if the environment does not hold it any more
    for message in (f"the key {KEY} is wrong", json.dumps({"Authorization": f"Bearer {KEY}"})):
        server.respond_with(status(401, {"message": message}))
        assert KEY not in str(failure(reranker))
    reranker.close()


def test_calls_run_concurrently(server: LoopbackServer, reranker: ProviderReranker) -> None:
    server.respond_with(after_requests(MAX_CONCURRENT_CALLS, ranking_response()))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: reranker.scores("why?", [f"text {number}"]), range(24)))
    assert found == [[score_of(f"text {number}")] for number in range(24)]
    assert server.max_concurrent_requests == MAX_CONCURRENT_CALLS


def test_inside_a_running_event_loop(server: LoopbackServer, reranker: ProviderReranker) -> None:
    async def inside() -> list[float]:
        return reranker.scores("why?", PASSAGES)

    assert asyncio.run(inside()) == SCORES


@pytest.mark.parametrize("close", [True, False])
def test_connections_are_closed(server: LoopbackServer, close: bool) -> None:
    reranker = ProviderReranker(MODEL, NO_TIMEOUT)
    threads = reranker._workers._threads
    reranker.scores("why?", PASSAGES)
    if close:
        reranker.close()
    del reranker
    gc.collect()  # an open connection would warn, and a warning fails the test
    for thread in threads:
        thread.join(20)
    assert threads and not any(thread.is_alive() for thread in threads)


def test_own_server_gets_its_own_key_only(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """`[servers.NAME]`: the form of `server:`, without that one's address and key."""
    seen: list[tuple[str, dict[str, str]]] = []
    server.respond_with(record_requests(seen, ranking_response()))
    monkeypatch.setenv("RERANK_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("RERANK_API_KEY", "another-Key-0123456789")
    monkeypatch.setenv("GPU_API_KEY", KEY)
    servers = {
        "gpu": ModelServer(url=server.url, key_env="GPU_API_KEY"),
        "open": ModelServer(url=f"{server.url}/rerank"),
    }
    for name in servers:
        reranker = make_reranker(f"{name}:m", NO_TIMEOUT, servers)
        assert isinstance(reranker, ProviderReranker) and reranker.scores("why?", PASSAGES) == SCORES
    assert [(path, headers.get("authorization")) for path, headers in seen] == [
        ("/v1/rerank", f"Bearer {KEY}"),
        ("/v1/rerank", None),
    ]
    assert server.requests[0].keys() == {"model", "query", "documents", "top_n", "texts", "truncate"}


def test_tei_is_asked_beside_v1(server: LoopbackServer) -> None:
    """Text Embeddings Inference has /v1/embeddings, but no /v1/rerank. It answers with a bare list."""
    seen: list[tuple[str, dict[str, str]]] = []
    server.respond_with(record_requests(seen, ranking_response(None, "score")))
    reranker = make_reranker("tei:m", NO_TIMEOUT, {"tei": ModelServer(url=server.url, api="tei")})
    assert isinstance(reranker, ProviderReranker) and reranker.scores("why?", PASSAGES) == SCORES
    assert [path for path, _ in seen] == ["/rerank"] and server.requests[0]["texts"] == PASSAGES


def test_own_server_that_is_unknown_or_lacks_its_key() -> None:
    servers = {"gpu": ModelServer(url="http://gpu", key_env="GPU_API_KEY")}
    with pytest.raises(ConfigurationError, match=r'there is no reranker "gpuu:m"; did you mean "gpu:m"\?'):
        make_reranker("gpuu:m", None, servers)
    with pytest.raises(ConfigurationError, match=r"server:MODEL, gpu:MODEL\.$"):
        make_reranker("what:m", None, servers)
    with pytest.raises(MissingKeyError, match=r'for the server "gpu": set GPU_API_KEY in the environment'):
        make_reranker("gpu:m", None, servers)
