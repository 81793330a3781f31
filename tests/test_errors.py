"""One tree, drawn in its module, and errors that survive a journey to another process."""

import pickle

import pytest

from veracity import errors
from veracity.errors import (
    BudgetError,
    EvaluationError,
    InputError,
    MissingKeyError,
    ModelAnswerError,
    ModelUnreachableError,
    VeracityError,
    error_from_json,
    error_to_json,
)

ALL = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, VeracityError)]


def test_the_tree_in_the_docstring_is_complete() -> None:
    assert errors.__doc__ is not None
    for error in ALL:
        assert error.__name__ in errors.__doc__


def test_exit_codes_of_input_and_configuration_errors() -> None:
    assert InputError.exit_code == MissingKeyError.exit_code == 2
    assert VeracityError.exit_code == BudgetError.exit_code == 1
    assert EvaluationError("M", MissingKeyError("p", ("P_KEY",), "p:m")).exit_code == 2
    assert EvaluationError("M", KeyError("x")).exit_code == 1


@pytest.mark.parametrize(
    "error",
    [
        InputError("a"),
        InputError("a", "too_long", n=5),
        MissingKeyError("p", ("P_KEY", "Q_KEY"), "p:m"),
        ModelUnreachableError("b", retry_after=3),
        ModelAnswerError("c", complaint="d"),
        EvaluationError("M", ModelUnreachableError("e")),
    ],
    ids=str,
)
def test_every_error_can_be_pickled(error: VeracityError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.exit_code == error.exit_code
    sent = error_from_json(error_to_json(error))
    for other in (again, sent):
        assert getattr(other, "code", "") == getattr(error, "code", "")
        assert getattr(other, "values", {}) == getattr(error, "values", {})


def test_a_missing_server_url_is_not_called_a_key() -> None:
    assert "a server URL" in str(MissingKeyError("ollama", ("OLLAMA_BASE_URL",), "ollama:x"))
