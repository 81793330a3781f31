"""The ceiling of tokens and cost (SPEC X7)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from veracity.errors import BudgetError
from veracity.llm import Budget
from veracity.models import Usage


def used(tokens: int, cost: float | None = 0.0) -> Usage:
    return Usage(calls=1, input_tokens=tokens, cost_usd=cost)


def test_without_a_ceiling_everything_goes() -> None:
    budget = Budget()
    budget.spend(used(10**9, None))
    budget.spend(used(0, None))
    budget.check()


def test_a_ceiling_counts_when_it_is_reached() -> None:
    budget = Budget(tokens=100)
    budget.spend(used(99))
    budget.check()
    budget.spend(used(1))
    with pytest.raises(BudgetError, match=r"ceiling of 100 tokens is reached \(100 spent\): raise budget\.tokens"):
        budget.check()


def test_cost() -> None:
    budget = Budget(cost_usd=0.5)
    budget.spend(used(1, 0.4))
    budget.check()
    budget.spend(used(1, 0.2))
    with pytest.raises(BudgetError, match=r"ceiling of \$0\.5 is reached \(\$0\.6000 spent\): raise budget\.cost_usd"):
        budget.check()


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    budget = Budget(cost_usd=0.5)
    budget.spend(used(1, None))
    budget.spend(used(1, 0.1))
    with pytest.raises(BudgetError, match="price of the model is not known"):
        budget.check()


def test_one_uncounted_call_makes_the_sum_unknown() -> None:
    budget = Budget(tokens=1000)
    budget.spend(used(0))
    budget.spend(used(10))
    with pytest.raises(BudgetError, match="does not tell how many tokens"):
        budget.check()


def test_many_threads_spend_at_once() -> None:
    budget = Budget()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: budget.spend(used(3, 0.5)), range(1000)))
    assert (budget.spent.calls, budget.spent.tokens, budget.spent.cost_usd) == (1000, 3000, 500.0)
