"""What the calls of one run or one evaluation may consume, and what they consumed."""

from __future__ import annotations

import threading

from veracity.errors import BudgetError
from veracity.models import NOTHING_USED, Usage


class Budget:
    """Adds up what calls consume, and refuses the next call once a limit is reached or cannot be checked.

    Thread-safe. A call's usage is known only when it ends, so calls under way at that moment are not stopped.
    """

    def __init__(self, tokens: int | None = None, cost_usd: float | None = None, spent: Usage = NOTHING_USED) -> None:
        self.tokens = tokens
        self.cost_usd = cost_usd
        self.spent = spent
        self.by_role: dict[str, Usage] = {}
        self._uncounted_calls = 0
        self._lock = threading.Lock()

    @property
    def has_limit(self) -> bool:
        return self.tokens is not None or self.cost_usd is not None

    def spend(self, usage: Usage, role: str = "") -> None:
        with self._lock:
            self.spent = self.spent + usage
            self.by_role[role] = self.by_role.get(role, NOTHING_USED) + usage
            self._uncounted_calls += usage.calls > 0 and usage.tokens == 0

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
