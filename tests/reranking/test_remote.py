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
    after,
    closes,
    drips,
    hangs,
    promises_more,
    raw,
    redirects,
    status,
)
from tests.reranking.rerank_server import (
    answers,
    changed,
    drips_headers,
    one_repeated,
    one_too_few,
    one_too_many,
    one_twice,
    records,
    reranks,
    score_of,
)
from veracity.errors import (
    ConfigurationError,
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
)
from veracity.reranking import remote
from veracity.reranking.remote import AT_ONCE, BLANK, LONGEST, ProviderReranker
from veracity.settings import LLMSettings

MODEL = "server:test-reranker"
QUICK = LLMSettings(backoff=0.01, call_timeout=5, deadline=20)
IMPATIENT = LLMSettings(backoff=0.01, call_timeout=0.1, deadline=20)
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
def kept() -> Iterator[list[ProviderReranker]]:
    made: list[ProviderReranker] = []
    yield made
    for reranker in made:
        reranker.close()


@pytest.fixture
def reranker(server: LoopbackServer, kept: list[ProviderReranker]) -> ProviderReranker:
    """Connections are kept from test to test, as the server is."""
    if not kept:
        kept.append(ProviderReranker(MODEL, QUICK))
    return kept[0]


@pytest.fixture
def impatient(server: LoopbackServer) -> Iterator[ProviderReranker]:
    made = ProviderReranker(MODEL, IMPATIENT)
    yield made
    made.close()


def opened(service: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> ProviderReranker:
    address, key = VARIABLES[service]
    monkeypatch.setenv(address, server.url)
    monkeypatch.setenv(key, KEY)
    return ProviderReranker(f"{service}:test-reranker", QUICK)


def failure(reranker: ProviderReranker) -> ModelError:
    with pytest.raises(ModelError) as caught:
        reranker.scores("where is the cat?", PASSAGES)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 450
    assert "Traceback" not in message and f'"{reranker.name}"' in message
    assert caught.value.__cause__ is None and caught.value.__context__ is None  # nothing of the request stays
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
def test_each_service_is_spoken_to_in_its_form(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, service: str, place: str, sent: dict[str, Any]
) -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    server.behaves(records(seen, reranks(place)))
    reranker = opened(service, server, monkeypatch)
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
def test_services_are_where_they_are(service: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[service][1], KEY)
    endpoint = ProviderReranker(f"{service}:test-reranker")._endpoint
    assert endpoint.url == url and KEY not in repr(endpoint)


@pytest.mark.parametrize("ending", ["", "/", "/rerank", "/rerank/"])
def test_an_address_may_be_written_in_several_ways(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    server.behaves(records(seen, reranks()))
    monkeypatch.setenv("RERANK_BASE_URL", f" {server.url}{ending} ")
    reranker = ProviderReranker(MODEL, QUICK)
    reranker.scores("why?", ["because"])
    assert seen[0][0] == "/v1/rerank" and "authorization" not in seen[0][1]
    reranker.close()


@pytest.mark.parametrize("behaviour", [reranks(None, "score"), reranks("data"), reranks("results", "score")])
def test_servers_of_other_habits_are_understood(
    server: LoopbackServer, reranker: ProviderReranker, behaviour: Behaviour
) -> None:
    server.behaves(behaviour)
    assert reranker.scores("why?", PASSAGES) == SCORES


def test_nothing_to_rank_asks_nothing(server: LoopbackServer, reranker: ProviderReranker) -> None:
    assert reranker.scores("why?", []) == [] and not server.requests


def test_what_services_refuse_is_not_sent(server: LoopbackServer, reranker: ProviderReranker) -> None:
    reranker.scores(" ", ["", " \n", "half \ud83d", "nul \0", "long " * 10_000])
    sent = server.requests[0]
    assert sent["query"] == BLANK
    assert sent["documents"] == [BLANK, BLANK, "half �", "nul \0", ("long " * 10_000)[:LONGEST]]


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(429), ModelUnreachableError, "busy"),
        (status(500), ModelUnreachableError, "HTTP 500"),
        (status(503, {"error": {"message": "overloaded"}}), ModelUnreachableError, "HTTP 503: overloaded"),
        (closes, ModelUnreachableError, "broke the connection off"),
        (promises_more, ModelUnreachableError, "broke the connection off"),
        (raw(b"<html>hello</html>", Content_Type="text/html"), ModelAnswerError, "one score per passage"),
        (raw(b"\x1f\x8b\x08", Content_Encoding="gzip"), ModelAnswerError, "one score per passage"),
        (raw(b""), ModelAnswerError, "one score per passage"),
        (raw(b"{}"), ModelAnswerError, "one score per passage"),
        (raw(b"null"), ModelAnswerError, "one score per passage"),
        (raw(b"[" * 100_000), ModelAnswerError, "one score per passage"),
        (raw(b'{"results": 4}'), ModelAnswerError, "one score per passage"),
        (raw(b'{"results": [1, 2, 3, 4]}'), ModelAnswerError, "one score per passage"),
        (raw(b" " * (remote.LARGEST + 1)), ModelAnswerError, "more than 10 MB"),
        (answers(one_too_few), ModelAnswerError, "one score per passage"),
        (answers(one_too_many), ModelAnswerError, "one score per passage"),
        (answers(one_twice), ModelAnswerError, "one score per passage"),
        (answers(one_repeated), ModelAnswerError, "one score per passage"),
        (changed(index=None), ModelAnswerError, "one score per passage"),
        (changed(index=4), ModelAnswerError, "one score per passage"),
        (changed(index=-1), ModelAnswerError, "one score per passage"),
        (changed(index="0"), ModelAnswerError, "one score per passage"),
        (changed(index=True), ModelAnswerError, "one score per passage"),
        (changed(relevance_score=None), ModelAnswerError, "one score per passage"),
        (changed(relevance_score=float("nan")), ModelAnswerError, "one score per passage"),
        (changed(relevance_score=float("inf")), ModelAnswerError, "one score per passage"),
        (changed(relevance_score=10**400), ModelAnswerError, "one score per passage"),
        (changed(relevance_score="0.5"), ModelAnswerError, "one score per passage"),
        (changed(relevance_score=False), ModelAnswerError, "one score per passage"),
    ],
)
def test_what_may_pass_is_tried_four_times_and_then_told(
    server: LoopbackServer, reranker: ProviderReranker, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.behaves(behaviour)
    with pytest.raises(kind, match=words):
        raise failure(reranker)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (status(401), ModelAccessError, "refused the key"),
        (status(403), ModelAccessError, "refused the key"),
        (status(402), ModelAccessError, "no credit left"),
        (status(404, {"message": "model not found."}), UnknownModelError, r"does not know .* \(HTTP 404: model not"),
        (status(400, {"detail": "too many documents"}), ModelRequestError, "HTTP 400: too many documents"),
        (status(422, {"detail": [{"msg": "field required"}]}), ModelRequestError, "HTTP 422: field required"),
        (status(400, {"error": "a\nb " * 500}), ModelRequestError, "a b a b"),
        (status(413, [[[[]]]]), ModelRequestError, r"\(HTTP 413\)"),
        (redirects, ModelRequestError, "HTTP 307.*redirects"),
    ],
)
def test_what_will_not_pass_is_told_at_once(
    server: LoopbackServer, reranker: ProviderReranker, behaviour: Behaviour, kind: type[ModelError], words: str
) -> None:
    server.behaves(behaviour)
    with pytest.raises(kind, match=words):
        raise failure(reranker)
    assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [hangs(), drips(), drips_headers])
def test_a_server_that_takes_its_time_is_not_waited_for(
    server: LoopbackServer, impatient: ProviderReranker, behaviour: Behaviour
) -> None:
    server.behaves(behaviour)
    started = time.monotonic()
    assert isinstance(failure(impatient), ModelTimeoutError)
    assert len(server.requests) == 4 and time.monotonic() - started < 10


def test_the_deadline_ends_the_tries(server: LoopbackServer) -> None:
    hurried = ProviderReranker(MODEL, LLMSettings(backoff=0.01, call_timeout=60, deadline=0.3))
    server.behaves(hangs())
    assert isinstance(failure(hurried), ModelTimeoutError)
    assert len(server.requests) == 1
    hurried.close()


def test_waiting_for_a_free_worker_counts(server: LoopbackServer) -> None:
    hurried = ProviderReranker(MODEL, LLMSettings(backoff=0.01, call_timeout=60, deadline=1, workers=1))
    server.behaves(hangs())
    started = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        failures = list(pool.map(lambda _: failure(hurried), range(8)))
    assert all(isinstance(one, ModelTimeoutError) for one in failures)
    assert time.monotonic() - started < 7.9  # one after another it were 8
    hurried.close()


def test_a_server_that_recovers_is_forgiven(server: LoopbackServer, reranker: ProviderReranker) -> None:
    server.behaves(status(500), answers(one_too_few), closes, reranks())
    assert reranker.scores("why?", PASSAGES) == SCORES
    assert len(server.requests) == 4


def test_the_service_is_given_the_time_it_asks_for(server: LoopbackServer, reranker: ProviderReranker) -> None:
    server.behaves(status(429, Retry_After="0.5"), reranks())
    reranker.scores("why?", PASSAGES)
    first, second = server.times
    assert 0.5 <= second - first < 5


@pytest.mark.parametrize(
    "asked", ["3600", email.utils.formatdate(time.time() + 3600, usegmt=True)], ids=["seconds", "date"]
)
def test_who_asks_for_more_time_than_there_is_is_told_at_once(
    server: LoopbackServer, reranker: ProviderReranker, asked: str
) -> None:
    server.behaves(status(429, Retry_After=asked))
    assert failure(reranker).retry_after == pytest.approx(3600, abs=1800)
    assert len(server.requests) == 1


@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT", ""])
def test_a_time_that_is_none_is_not_waited_for(server: LoopbackServer, reranker: ProviderReranker, asked: str) -> None:
    server.behaves(status(503, Retry_After=asked), reranks())
    assert reranker.scores("why?", PASSAGES) == SCORES
    assert server.times[1] - server.times[0] < 2


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_BASE_URL", "http://127.0.0.1:9/v1")
    lonely = ProviderReranker(MODEL, QUICK)
    assert "cannot be reached" in str(failure(lonely))
    lonely.close()


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[LoopbackServer]:
    """A server with a certificate that it wrote itself."""
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
        running.behaves(reranks())
        yield running


def test_a_certificate_counts_where_it_is_trusted_and_nowhere_else(
    untrusted: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_BASE_URL", untrusted.url)
    careful = ProviderReranker(MODEL, QUICK)
    assert "certificate" in str(failure(careful)) and not untrusted.requests
    careful.close()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    trusting = ProviderReranker(MODEL, QUICK)
    assert trusting.scores("why?", PASSAGES) == SCORES
    trusting.close()


def test_a_server_without_the_encryption_it_should_have(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_BASE_URL", server.url.replace("http:", "https:"))
    plain = ProviderReranker(MODEL, QUICK)
    assert isinstance(failure(plain), ModelUnreachableError)
    plain.close()


@pytest.mark.parametrize("variable", ["ALL_PROXY", "SSL_CERT_FILE"])
def test_an_environment_that_allows_no_connection_is_told(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "nonsense://nowhere")
    reranker = ProviderReranker(MODEL, QUICK)
    with pytest.raises(ConfigurationError, match=rf"cannot be prepared: [^\n]*{variable}[^\n]*\.$") as caught:
        reranker.scores("why?", PASSAGES)
    assert caught.value.__context__ is None and "nowhere" not in str(caught.value)
    reranker.close()


@pytest.mark.parametrize("service", VARIABLES)
def test_a_key_is_never_shown(service: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = opened(service, server, monkeypatch)
    for code in (400, 401, 404, 429):
        server.behaves(status(code, {"message": f"the key {KEY} is wrong"}))
        assert KEY not in str(failure(reranker))
    monkeypatch.delenv(VARIABLES[service][1])  # also when the environment has forgotten it
    for told in (f"the key {KEY} is wrong", json.dumps({"Authorization": f"Bearer {KEY}"})):
        server.behaves(status(401, {"message": told}))
        assert KEY not in str(failure(reranker))
    reranker.close()


def test_a_few_calls_are_under_way_at_once(server: LoopbackServer, reranker: ProviderReranker) -> None:
    server.behaves(after(0.03, reranks()))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: reranker.scores("why?", [f"text {number}"]), range(24)))
    assert found == [[score_of(f"text {number}")] for number in range(24)]
    assert 1 < server.most_at_once <= AT_ONCE


def test_an_event_loop_can_use_it(server: LoopbackServer, reranker: ProviderReranker) -> None:
    async def inside() -> list[float]:
        return reranker.scores("why?", PASSAGES)

    assert asyncio.run(inside()) == SCORES


@pytest.mark.parametrize("close", [True, False])
def test_it_leaves_no_connection_open(server: LoopbackServer, close: bool) -> None:
    passing = ProviderReranker(MODEL, QUICK)
    threads = passing._workers._started
    passing.scores("why?", PASSAGES)
    if close:
        passing.close()
    del passing
    gc.collect()  # an open connection would warn, and a warning fails the test
    for thread in threads:
        thread.join(20)
    assert threads and not any(thread.is_alive() for thread in threads)
