"""What the calls of one run or one evaluation may consume, what they consumed, and the calls that are kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from veracity.errors import BudgetError
from veracity.llm.call_log import CallLog, CallRecord
from veracity.models import NOTHING_USED, ModelCall, Usage


class Budget:
    """Adds up what calls consume, and refuses the next call once a limit is reached or cannot be checked.

    Thread-safe. A call's usage is known only when it ends, so calls under way at that moment are not stopped. With
    `log`, the calls are kept with their texts.
    """

    def __init__(
        self,
        tokens: int | None = None,
        cost_usd: float | None = None,
        spent: Usage = NOTHING_USED,
        by_role: Mapping[str, Usage] | None = None,
        log: CallLog | None = None,
    ) -> None:
        self.tokens = tokens
        self.cost_usd = cost_usd
        self.spent = spent
        self.by_role: dict[str, Usage] = dict(by_role or {})
        self._log = log
        self._uncounted_calls = 0
        self._lock = threading.Lock()

    @property
    def has_limit(self) -> bool:
        return self.tokens is not None or self.cost_usd is not None

    def spend(self, usage: Usage, role: str = "") -> None:
        with self._lock:
            self.spent = self.spent + usage
            # A new dictionary, since the old one may be read by another thread.
            self.by_role = {**self.by_role, role: self.by_role.get(role, NOTHING_USED) + usage}
            self._uncounted_calls += usage.calls > 0 and usage.tokens == 0

    def recording(self, record: CallRecord) -> AbstractContextManager[CallRecord]:
        """Keep the call that is made inside, if calls are kept."""
        return self._log.recording(record) if self._log else nullcontext(record)

    def take_calls(self) -> list[ModelCall]:
        """The calls that were kept since the last time."""
        return self._log.take() if self._log else []

    def check(self) -> None:
        """Raise BudgetError if no further call is allowed."""
        if self.tokens is not None:
            self._check_tokens(self.tokens)
        if self.cost_usd is not None:
            self._check_cost(self.cost_usd)

    def _check_tokens(self, limit: int) -> None:
        if self._uncounted_calls:
            raise BudgetError(
                "The model's server does not report how many tokens it used, so budget.tokens cannot be enforced: "
                "remove it or use another model."
            )
        if self.spent.tokens >= limit:
            raise BudgetError(
                f"The budget of {limit:,} tokens is spent ({self.spent.tokens:,} used): raise budget.tokens."
            )

    def _check_cost(self, limit: float) -> None:
        spent = self.spent.cost_usd
        if spent is None:
            raise BudgetError(
                "The price of the model is unknown, so budget.cost_usd cannot be enforced: set budget.tokens instead."
            )
        if spent >= limit:
            raise BudgetError(f"The budget of ${limit:g} is spent (${spent:.4f} used): raise budget.cost_usd.")
