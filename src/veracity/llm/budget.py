"""A ceiling of tokens and cost over many calls (SPEC X7)."""

from __future__ import annotations

import threading

from veracity.errors import BudgetError
from veracity.models import NOTHING_USED, Usage


class Budget:
    """Counts what calls consumed and refuses the next one once a ceiling is reached, or cannot be kept.

    Safe under threads. What a call consumes is known when it ends, so calls under way at that moment still end.
    """

    def __init__(self, tokens: int | None = None, cost_usd: float | None = None, spent: Usage = NOTHING_USED) -> None:
        self.tokens = tokens
        self.cost_usd = cost_usd
        self.spent = spent
        self._uncounted = 0
        self._lock = threading.Lock()

    @property
    def has_ceiling(self) -> bool:
        return self.tokens is not None or self.cost_usd is not None

    def spend(self, usage: Usage) -> None:
        with self._lock:
            self.spent = self.spent + usage
            self._uncounted += usage.calls > 0 and usage.tokens == 0

    def check(self) -> None:
        """Raise when no further call may be made."""
        if self.tokens is not None:
            self._check_tokens(self.tokens)
        if self.cost_usd is not None:
            self._check_cost(self.cost_usd)

    def _check_tokens(self, ceiling: int) -> None:
        if self._uncounted:
            raise BudgetError(
                "The server of the model does not tell how many tokens it used, so budget.tokens cannot be kept: "
                "remove it or use another model."
            )
        if self.spent.tokens >= ceiling:
            raise BudgetError(
                f"The ceiling of {ceiling:,} tokens is reached ({self.spent.tokens:,} spent): raise budget.tokens."
            )

    def _check_cost(self, ceiling: float) -> None:
        spent = self.spent.cost_usd
        if spent is None:
            raise BudgetError(
                "The price of the model is not known, so budget.cost_usd cannot be kept: set budget.tokens instead."
            )
        if spent >= ceiling:
            raise BudgetError(f"The ceiling of ${ceiling:g} is reached (${spent:.4f} spent): raise budget.cost_usd.")
