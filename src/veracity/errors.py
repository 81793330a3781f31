"""Everything that can go wrong, as one tree.

    VeracityError
    ├── InputError                what was handed in cannot be used
    │   ├── LackingContextError   a metric needs evidence, and none was handed in
    │   └── NotFoundError         nothing has the name that was given
    ├── ConfigurationError        a setting or a file of the workspace cannot be used
    │   └── MissingKeyError       the provider's key is not in the environment
    ├── ModelError                a language model did not do what it was asked
    │   ├── UnknownModelError     the provider does not know the model
    │   ├── ModelAccessError      the provider refused the key or the account
    │   ├── ModelUnreachableError no connection, rate-limited or failing
    │   ├── ModelTimeoutError     no answer in time
    │   ├── ModelRefusedError     the model or its filter declined to answer
    │   ├── ModelRequestError     the provider rejected the request itself
    │   ├── ModelAnswerError      an answer came, and it cannot be used
    │   └── BudgetError           the ceiling of tokens or cost is reached
    ├── KnowledgeError            the documents of a workspace cannot be stored or found
    │   ├── BusyError             another process is writing to them
    │   └── OutdatedIndexError    they were indexed in another way than is asked for now
    ├── LedgerError               what was asked and answered cannot be recorded or read
    │   ├── BusyLedgerError       another process is writing, and took too long
    │   └── LostLeaseError        another process has taken the run over
    ├── LeftError                 the program ends: the run is taken up again when it runs
    ├── OutOfTimeError            the time for a search was up
    ├── DecisionError             a decision on an approval does not count
    │   ├── DecidedError          somebody has decided already
    │   └── SupersededError       the draft is not the one that waits
    ├── WebSearchError            the web could not be searched, or a page not be fetched
    └── EvaluationError           a metric failed; its cause is one of the above

Each message is one sentence for a person: what is wrong, where, and how to mend it.
"""

from __future__ import annotations

from veracity.secrets import without_secrets


def reason_of(problem: Exception) -> str:
    """What the system gave as its reason, in a word or two; else the kind of error."""
    return str(getattr(problem, "strerror", None) or type(problem).__name__)


class VeracityError(Exception):
    """The root. `exit_code` is what the command line ends with."""

    exit_code = 1


class InputError(VeracityError):
    exit_code = 2


class LackingContextError(InputError):
    pass


class NotFoundError(InputError):
    pass


class ConfigurationError(VeracityError):
    exit_code = 2


class MissingKeyError(ConfigurationError):
    def __init__(self, provider: str, variables: tuple[str, ...], model: str) -> None:
        self.provider = provider
        self.variables = variables
        self.model = model
        thing = "the address of a server" if all(name.endswith("_URL") for name in variables) else "a key"
        super().__init__(
            f'The model "{model}" needs {thing} of the provider "{provider}": '
            f"set {' or '.join(variables)} in the environment."
        )

    def __reduce__(self) -> tuple[type[MissingKeyError], tuple[str, tuple[str, ...], str]]:
        return type(self), (self.provider, self.variables, self.model)


class ModelError(VeracityError):
    """`retryable`: asking again unchanged may help. `retry_after`: the seconds the provider asked us to wait."""

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
    """`complaint` is what the model is told when it is asked again; empty when it never saw the question."""

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


class OutdatedIndexError(KnowledgeError):
    exit_code = 2


class LedgerError(VeracityError):
    pass


class BusyLedgerError(LedgerError):
    exit_code = 4


class LostLeaseError(LedgerError):
    pass


class LeftError(VeracityError):
    pass


class OutOfTimeError(VeracityError):
    pass


class DecisionError(VeracityError):
    exit_code = 5


class DecidedError(DecisionError):
    pass


class SupersededError(DecisionError):
    pass


class WebSearchError(VeracityError):
    pass


class EvaluationError(VeracityError):
    """Names the metric that failed. `cause` is the error that made it fail; its exit code is ours."""

    def __init__(self, metric_name: str, cause: BaseException) -> None:
        ours = isinstance(cause, VeracityError)
        reason = str(cause) if ours else " ".join(without_secrets(f"{type(cause).__name__}: {cause}").split())[:300]
        super().__init__(f'The metric "{metric_name}" failed: {reason}')
        self.metric_name = metric_name
        self.cause = cause
        self.exit_code = cause.exit_code if isinstance(cause, VeracityError) else 1

    def __reduce__(self) -> tuple[type[EvaluationError], tuple[str, BaseException]]:
        return type(self), (self.metric_name, self.cause)
