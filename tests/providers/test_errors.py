"""What the libraries below raise, in our own errors (SPEC B9, B13)."""

import gc
import weakref

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
from veracity.providers.errors import explain, explained

NAME = "a:b"
CASES: list[tuple[Exception, type[VeracityError], str]] = [
    (theirs.ModelRequestTimeout(NAME, 5), ModelTimeoutError, "did not answer in time"),
    (theirs.ModelTimeoutError(NAME, "slow"), ModelTimeoutError, "did not answer in time"),
    (theirs.ModelConnectionError(NAME, "gone"), ModelUnreachableError, "cannot be reached"),
    (theirs.ModelConnectionError(NAME, "gone", phase="read"), ModelUnreachableError, "broke the connection off"),
    (theirs.ModelRateLimitError(NAME, "slow down"), ModelUnreachableError, "failed or is busy: try again later"),
    (theirs.ModelQuotaExceededError(NAME, "none left"), ModelAccessError, "no quota or credit"),
    (theirs.ModelRequestRejectedError(NAME, "no"), ModelRequestError, "rejected the request"),
    (theirs.ModelAPIError(NAME, "Failed to decode"), ModelAnswerError, "not in its API's form"),
    (theirs.ModelHTTPError(418, NAME), ModelRequestError, "HTTP 418"),
    (theirs.ModelHTTPError(425, NAME), ModelUnreachableError, "HTTP 425"),
    (theirs.ModelHTTPError(520, NAME), ModelUnreachableError, "HTTP 520"),
    (theirs.ContentFilterError("stopped"), ModelRefusedError, "content filter"),
    (theirs.UnexpectedModelBehavior("odd"), ModelAnswerError, "not in its API's form"),
    (theirs.UserError("Set the `SOME_API_KEY` environment variable"), MissingKeyError, "set SOME_API_KEY in"),
    (theirs.UserError("Set `SOME_REGION`."), ConfigurationError, 'The model "a:b" cannot be used: Set `SOME_REGION`.'),
    (theirs.UserError("Unknown model: a:b"), UnknownModelError, 'No provider is called "a"'),
    (ImportError("no module"), ConfigurationError, "needs the SDK of its provider"),
    (ValueError("what?"), ModelAnswerError, "unforeseen way (ValueError)"),
]


@pytest.mark.parametrize(("problem", "kind", "words"), CASES, ids=lambda value: type(value).__name__)
def test_each_kind_has_its_error_and_one_sentence(problem: Exception, kind: type[VeracityError], words: str) -> None:
    ours = explain(NAME, problem)
    assert type(ours) is kind
    assert words in str(ours) and f'"{NAME}"' in str(ours)
    assert str(ours).endswith(".") and "\n" not in str(ours)


def test_an_error_of_ours_keeps_nothing_of_theirs() -> None:
    """It may hold a key in a header, or a body of megabytes."""

    class Body:
        pass

    def fail() -> None:
        body = Body()
        alive.append(weakref.ref(body))
        raise theirs.ModelHTTPError(500, NAME, body)

    alive: list[weakref.ref[Body]] = []
    with pytest.raises(ModelUnreachableError) as caught:
        explained(NAME, fail)
    gc.collect()
    assert alive[0]() is None and caught.value.__context__ is None


def test_what_goes_well_is_returned_and_what_is_ours_passes() -> None:
    assert explained(NAME, lambda: 5) == 5
    ours = ModelRefusedError("No.")

    def refuse() -> None:
        raise ours

    with pytest.raises(ModelRefusedError) as caught:
        explained(NAME, refuse)
    assert caught.value is ours
