"""All errors, as one tree.

    VeracityError
    ├── InputError                an argument or request is invalid
    │   ├── LackingContextError   a metric needs evidence, and the request has none
    │   ├── LastAdminError        nobody else could manage users
    │   └── NotFoundError         no such run, approval, document, …
    ├── ConfigurationError        a setting or a file of the workspace is invalid
    │   └── MissingKeyError       the provider's key is not in the environment
    ├── ModelError                a call to a language model failed
    │   ├── UnknownModelError     the provider does not know the model
    │   ├── ModelAccessError      the provider refused the key or the account
    │   ├── ModelUnreachableError no connection, rate-limited or failing
    │   ├── ModelTimeoutError     the call timed out
    │   ├── ModelRefusedError     the model or its filter declined to answer
    │   ├── ModelRequestError     the provider rejected the request itself
    │   ├── ModelAnswerError      the output is unusable
    │   └── BudgetError           the limit of tokens or cost is reached
    ├── KnowledgeError            the documents cannot be stored or searched
    │   ├── BusyError             another process is writing to them
    │   ├── FullDiskError         there is no room on the disk
    │   └── OutdatedIndexError    the index does not match the settings
    ├── LedgerError               the ledger cannot be read or written
    │   ├── BusyLedgerError       another process holds the write lock for too long
    │   │   └── UnreachableLedgerError  Postgres cannot be reached now
    │   └── LostLeaseError        another process has taken over the run
    ├── ShutdownError             the program is shutting down; the run resumes on the next start
    ├── OutOfTimeError            a search or an evaluation took too long
    ├── DecisionError             a decision on an approval is refused
    │   ├── DecidedError          the approval is already decided
    │   └── SupersededError       the draft has changed or can no longer be decided
    ├── WebSearchError            a web search or a page fetch failed
    ├── NotificationError         an announcement could not be delivered
    ├── PullError                 a model cannot be pulled
    └── EvaluationError           a metric failed; its cause is one of the above

Each message is one sentence: what is wrong, where, and how to fix it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from veracity.secrets import without_secrets


def reason_of(problem: Exception) -> str:
    """The operating system's reason in a few words, or the error's class name."""
    return str(getattr(problem, "strerror", None) or type(problem).__name__)


class VeracityError(Exception):
    """The root of all errors. `exit_code` is the exit code of the command line."""

    exit_code = 1


class InputError(VeracityError):
    """`code` says what is wrong where a person can cause it: programs and the page, which has the sentence in three
    languages, fill in `values`. Elsewhere it is empty. docs/errors.md lists the codes."""

    exit_code = 2
    code: str = ""
    values: Mapping[str, str | int] = MappingProxyType({})

    def __init__(self, message: str, code: str = "", **values: str | int) -> None:
        super().__init__(message)
        self.code = code
        self.values = values


class LackingContextError(InputError):
    pass


class LastAdminError(InputError):
    pass


class NotFoundError(InputError):
    pass


class ConfigurationError(VeracityError):
    exit_code = 2


class MissingKeyError(ConfigurationError):
    """`kind` is "server" for one of the user's own."""

    def __init__(self, provider: str, variables: tuple[str, ...], model: str, kind: str = "provider") -> None:
        self.provider = provider
        self.variables = variables
        self.model = model
        self.kind = kind
        thing = "a server URL" if all(name.endswith("_URL") for name in variables) else "a key"
        super().__init__(
            f'The model "{model}" needs {thing} for the {kind} "{provider}": '
            f"set {' or '.join(variables)} in the environment."
        )

    def __reduce__(self) -> tuple[type[MissingKeyError], tuple[str, tuple[str, ...], str, str]]:
        return type(self), (self.provider, self.variables, self.model, self.kind)


class ModelError(VeracityError):
    """`retryable`: the same call may succeed later. `retry_after`: seconds the provider asked to wait."""

    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnknownModelError(ModelError):
    exit_code = 2


class ModelAccessError(ModelError):
    pass


class ModelUnreachableError(ModelError):
    retryable = True


class ModelTimeoutError(ModelError):
    retryable = True


class ModelRefusedError(ModelError):
    pass


class ModelRequestError(ModelError):
    pass


class ModelAnswerError(ModelError):
    """`complaint` is sent to the model with the retry; empty if it never received the request."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, complaint: str = "") -> None:
        super().__init__(message, retry_after=retry_after)
        self.complaint = complaint


class BudgetError(ModelError):
    pass


class KnowledgeError(VeracityError):
    pass


class BusyError(KnowledgeError):
    exit_code = 4


class FullDiskError(KnowledgeError):
    pass


class OutdatedIndexError(KnowledgeError):
    exit_code = 2


class LedgerError(VeracityError):
    pass


class BusyLedgerError(LedgerError):
    exit_code = 4


class UnreachableLedgerError(BusyLedgerError):
    pass


class LostLeaseError(LedgerError):
    pass


class ShutdownError(VeracityError):
    pass


class OutOfTimeError(VeracityError):
    pass


class DecisionError(VeracityError):
    exit_code = 5


class DecidedError(DecisionError):
    pass


class SupersededError(DecisionError):
    pass


class NotificationError(VeracityError):
    pass


class PullError(VeracityError):
    pass


class WebSearchError(VeracityError):
    pass


class EvaluationError(VeracityError):
    """Names the failed metric. `cause` is the underlying error; its exit code is used."""

    def __init__(self, metric_name: str, cause: BaseException) -> None:
        ours = isinstance(cause, VeracityError)
        reason = str(cause) if ours else " ".join(without_secrets(f"{type(cause).__name__}: {cause}").split())[:300]
        super().__init__(f'The metric "{metric_name}" failed: {reason}')
        self.metric_name = metric_name
        self.cause = cause
        self.exit_code = cause.exit_code if isinstance(cause, VeracityError) else 1

    def __reduce__(self) -> tuple[type[EvaluationError], tuple[str, BaseException]]:
        return type(self), (self.metric_name, self.cause)


class Stopped(BaseException):
    """A run is stopped while it waits. Not an Exception, so that nothing takes it for a failed call and goes on."""


def error_to_json(error: VeracityError) -> dict[str, Any]:
    """For another process, which raises the same error with `error_from_json`."""
    cause = error.cause if isinstance(error, EvaluationError) and isinstance(error.cause, VeracityError) else None
    code = {"code": error.code, "values": dict(error.values)} if isinstance(error, InputError) else {}
    return {"kind": type(error).__name__, "message": str(error), "cause": cause and error_to_json(cause), **code}


def error_from_json(stored: Mapping[str, Any]) -> VeracityError:
    """An error of a class that is not in the tree above is raised as its root."""
    found = globals().get(stored["kind"])
    kind = found if isinstance(found, type) and issubclass(found, VeracityError) else VeracityError
    error = kind.__new__(kind, stored["message"])  # without __init__, whose arguments are not known
    if isinstance(error, InputError):
        error.code, error.values = stored.get("code", ""), stored.get("values", {})
    if isinstance(error, EvaluationError):
        error.cause = error_from_json(stored["cause"]) if stored["cause"] else error
    return error
