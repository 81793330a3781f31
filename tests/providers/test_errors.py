"""The table from provider failures to our errors and sentences (SPEC B9, B13)."""

import builtins
import gc
import weakref
from types import ModuleType

import httpcore
import httpx
import pytest
from pydantic_ai import exceptions as theirs

from veracity.errors import (
    ConfigurationError,
    MissingKeyError,
    ModelAccessError,
    ModelAnswerError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
    VeracityError,
)
from veracity.providers.errors import EXCEPTION_CAUSES, Failure, translate, translate_errors

NAME = "a:b"
CASES: list[tuple[Exception, type[VeracityError], str]] = [
    (theirs.ModelRequestTimeout(NAME, 5), ModelTimeoutError, "did not answer in time"),
    (theirs.ModelTimeoutError(NAME, "slow"), ModelTimeoutError, "did not answer in time"),
    (theirs.ModelConnectionError(NAME, "gone"), ModelUnreachableError, "cannot be reached"),
    (theirs.ModelConnectionError(NAME, "gone", phase="read"), ModelUnreachableError, "closed the connection early"),
    (
        theirs.ModelRateLimitError(NAME, "slow down"),
        ModelUnreachableError,
        "rate-limits requests: try again later",
    ),
    (theirs.ModelQuotaExceededError(NAME, "none left"), ModelAccessError, "no quota or credit left"),
    (theirs.ModelRequestRejectedError(NAME, "no"), ModelRequestError, "rejected the request"),
    (theirs.ModelAPIError(NAME, "Failed to decode"), ModelAnswerError, "not in its API's format"),
    (theirs.ModelHTTPError(418, NAME), ModelRequestError, "HTTP 418"),
    (theirs.ModelHTTPError(425, NAME), ModelUnreachableError, "HTTP 425"),
    (theirs.ModelHTTPError(520, NAME), ModelUnreachableError, "HTTP 520"),
    (theirs.ContentFilterError("stopped"), ModelRefusedError, "refused to answer: reword"),
    (theirs.UnexpectedModelBehavior("odd"), ModelAnswerError, "not in its API's format"),
    (theirs.UserError("Set the `SOME_API_KEY` environment variable"), MissingKeyError, "set SOME_API_KEY in"),
    (theirs.UserError("Set `SOME_REGION`."), ConfigurationError, 'The model "a:b" cannot be used: Set `SOME_REGION`.'),
    (ImportError("no module"), ConfigurationError, "needs the SDK of its provider"),
    (ValueError("what?"), ModelAnswerError, "failed unexpectedly (ValueError)"),
]


@pytest.mark.parametrize(("problem", "kind", "words"), CASES, ids=lambda value: type(value).__name__)
def test_each_exception_has_its_error_and_sentence(problem: Exception, kind: type[VeracityError], words: str) -> None:
    ours = translate(NAME, problem)
    assert type(ours) is kind
    assert words in str(ours) and f'"{NAME}"' in str(ours)
    assert str(ours).endswith(".") and "\n" not in str(ours)


def test_translated_error_drops_the_original() -> None:
    """It may hold a key in a header, or a body of megabytes."""

    class Body:
        pass

    def fail() -> None:
        body = Body()
        alive.append(weakref.ref(body))
        raise theirs.ModelHTTPError(500, NAME, body)

    alive: list[weakref.ref[Body]] = []
    with pytest.raises(ModelUnreachableError) as caught:
        translate_errors(NAME, fail)
    gc.collect()
    assert alive[0]() is None and caught.value.__context__ is None


def test_results_and_our_errors_pass_through() -> None:
    assert translate_errors(NAME, lambda: 5) == 5
    ours = ModelRefusedError("No.")

    def refuse() -> None:
        raise ours

    with pytest.raises(ModelRefusedError) as caught:
        translate_errors(NAME, refuse)
    assert caught.value is ours


PACKAGES: dict[str, ModuleType] = {"pydantic_ai": theirs, "httpx": httpx, "httpcore": httpcore, "builtins": builtins}


@pytest.mark.parametrize("name", EXCEPTION_CAUSES)
def test_listed_exceptions_exist(name: str) -> None:
    package, _, exception = name.partition(".")
    assert issubclass(getattr(PACKAGES[package], exception), Exception)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (httpx.ConnectError("refused"), "cannot be reached: check the address"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"), "certificate that cannot be verified"),
        (httpx.ReadTimeout("slow"), "did not answer in time: for a slow server"),
        (httpx.RemoteProtocolError("cut"), "closed the connection early"),
        (httpcore.ConnectTimeout("slow"), "did not answer in time: for a slow server"),
        (httpcore.ConnectError("refused"), "cannot be reached"),
        (TimeoutError(), "did not answer in time: for a slow server"),
        (ConnectionResetError(), "cannot be reached"),
    ],
)
def test_http_exceptions(problem: Exception, words: str) -> None:
    sentence = Failure.from_exception(problem).sentence("The server")
    assert sentence.startswith(f"The server {words}") or words in sentence


@pytest.mark.parametrize(
    ("status", "kind", "model_words", "service_words"),
    [
        (
            301,
            ModelRequestError,
            "redirects to another address (HTTP 301)",
            "redirects to another address (HTTP 301): do",
        ),
        (400, ModelRequestError, "rejected the request (HTTP 400)", "rejected the request (HTTP 400): do this."),
        (401, ModelAccessError, "refused the key (HTTP 401)", "rejected the request (HTTP 401): do this."),
        (402, ModelAccessError, "no quota or credit left (HTTP 402)", "rejected the request (HTTP 402): do this."),
        (404, UnknownModelError, "does not know the model (HTTP 404)", "rejected the request (HTTP 404): do this."),
        (409, ModelUnreachableError, "failed (HTTP 409): try again", "failed (HTTP 409): try again in 30 seconds."),
        (429, ModelUnreachableError, "rate-limits requests (HTTP 429)", "(HTTP 429): try again in 30 seconds."),
        (503, ModelUnreachableError, "failed (HTTP 503): try again", "failed (HTTP 503): try again in 30 seconds."),
    ],
)
def test_status_codes(status: int, kind: type[VeracityError], model_words: str, service_words: str) -> None:
    """A service that is not a model has its own advice, and knows no models or keys of models."""
    failure = Failure.from_status(status, retry_after=30)
    error = failure.model_error(NAME)
    assert type(error) is kind and error.retry_after == 30 and model_words in str(error)
    assert service_words in failure.sentence("The service", fix="do this")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"error": {"message": "overloaded"}}, "HTTP 500: overloaded"),
        ({"message": "no such model."}, "HTTP 500: no such model"),
        ({"detail": [{"msg": "field\nrequired"}]}, "HTTP 500: field required"),
        ({"error": "key k-1234 is wrong"}, "HTTP 500: key ••• is wrong"),
        ({"error": "x" * 500}, f"HTTP 500: {'x' * 200}…"),
        ("<html>Bad Gateway</html>", "HTTP 500"),
        ([[[[]]]], "HTTP 500"),
        (None, "HTTP 500"),
    ],
)
def test_detail_quotes_the_server(body: object, detail: str) -> None:
    assert Failure.from_status(500, body, secret="k-1234").detail == detail
