"""Verdicts on two experiments: exact tests, equivalence, Holm's correction, and how often a verdict is wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veracity.experiments.paired import (
    adjust,
    cases_needed,
    compare_means,
    compare_passes,
    mcnemar,
    paired_rate_interval,
    sign_flips,
)

MARGIN = 0.05


def alone(n: int) -> list[str]:
    return [str(number) for number in range(n)]


def outcomes(gained: int, lost: int, same: int) -> tuple[list[float], list[float]]:
    return [0.0] * gained + [1.0] * lost + [1.0] * same, [1.0] * gained + [0.0] * lost + [1.0] * same


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_changed_pairs(gained: int, lost: int) -> None:
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gained", "lost", "same", "verdict"),
    [(20, 4, 76, "better"), (4, 20, 76, "worse"), (0, 0, 60, "equivalent"), (3, 2, 30, "cannot tell")],
)
def test_the_four_verdicts(gained: int, lost: int, same: int, verdict: str) -> None:
    a, b = outcomes(gained, lost, same)
    found = compare_passes(a, b, alone(len(a)), MARGIN)
    assert (found.verdict, found.method) == (verdict, "exact McNemar")
    assert (found.more_cases is not None) == (verdict == "cannot tell")


def test_too_few_cases_without_a_change_are_not_equivalent() -> None:
    a, b = outcomes(0, 0, 20)
    found = compare_passes(a, b, alone(20), MARGIN)
    assert found.verdict == "cannot tell"
    assert found.more_cases == pytest.approx(45 - 20, abs=2)
    more = 20 + (found.more_cases or 0)
    assert compare_passes(*outcomes(0, 0, more), alone(more), MARGIN).verdict == "equivalent"


def test_the_missing_cases_lead_to_a_verdict_if_rates_stay() -> None:
    a, b = outcomes(6, 2, 52)
    found = compare_passes(a, b, alone(60), MARGIN)
    assert found.verdict == "cannot tell"
    factor = -(-(60 + (found.more_cases or 0)) // 60)
    a, b = outcomes(6 * factor, 2 * factor, 52 * factor)
    assert compare_passes(a, b, alone(len(a)), MARGIN).verdict != "cannot tell"


def test_clusters_and_repeats_use_paired_differences() -> None:
    a, b = [0.0, 0.5, 1.0] * 10, [0.5, 1.0, 1.0] * 9 + [0.0, 0.5, 1.0]
    found = compare_passes(a, b, [str(number // 3) for number in range(30)], MARGIN)
    assert (found.method, found.verdict) == ("paired cluster-robust t", "better")
    assert found.difference.clusters == 10


def test_few_clusters_cannot_show_equivalence() -> None:
    a = [50.0] * 30
    found = compare_means(a, a, [str(number % 5) for number in range(30)], 5.0, "Clarity", 100.0)
    assert (found.verdict, found.method) == ("cannot tell", "exact sign flips")


def test_sign_flips_need_six_clusters() -> None:
    assert sign_flips(np.ones(5)) == pytest.approx(2 / 32)
    assert sign_flips(np.ones(6)) == pytest.approx(2 / 64)


def test_holm_corrects_for_the_number_of_measures() -> None:
    """p = .01, .03, .04 become .03, .06, .06 (Holm 1979)."""
    a, b = outcomes(20, 4, 76)
    one = compare_passes(a, b, alone(100), MARGIN)
    tests = adjust([one.model_copy(update={"p": p}) for p in (0.01, 0.04, 0.03)])
    assert [round(test.adjusted_p, 3) for test in tests] == [0.03, 0.06, 0.06]
    assert [test.verdict for test in tests] == ["better", "cannot tell", "cannot tell"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(values: list[float]) -> None:
    a, b = outcomes(3, 2, 30)
    one = compare_passes(a, b, alone(35), MARGIN)
    adjusted = [test.adjusted_p for test in adjust([one.model_copy(update={"p": p}) for p in values])]
    assert all(after >= before for before, after in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=lambda index: values[index])
    assert [adjusted[index] for index in order] == sorted(adjusted)


def test_an_interval_without_changes_is_not_empty() -> None:
    found = paired_rate_interval(0, 0, 50)
    assert found.low < 0 < found.high


def test_no_difference_within_reach_needs_more_than_a_million_cases() -> None:
    assert cases_needed(MARGIN, 0.1, MARGIN, 1.0) == cases_needed(-MARGIN, 0.1, MARGIN, 1.0) == 314
    assert cases_needed(0.0499999, 1e9, MARGIN, 1.0) is None


@pytest.mark.parametrize("share_changed", [0.05, 0.2])
def test_equal_systems_are_rarely_called_different(share_changed: float) -> None:
    """The exact test is conservative: far below 5 % for few changes."""
    generator, n, wrong = np.random.default_rng(7), 120, 0
    for _ in range(400):
        changed = generator.binomial(n, share_changed)
        gained = generator.binomial(changed, 0.5)
        a, b = outcomes(int(gained), int(changed - gained), n - int(changed))
        wrong += compare_passes(a, b, alone(n), MARGIN).verdict in ("better", "worse")
    assert wrong / 400 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_a_difference_of_the_margin_is_rarely_called_equivalent() -> None:
    generator, n, wrong = np.random.default_rng(8), 400, 0
    for _ in range(400):
        gained, lost, _ = generator.multinomial(n, (0.10, 0.05, 0.85))
        a, b = outcomes(int(gained), int(lost), n - int(gained + lost))
        wrong += compare_passes(a, b, alone(n), MARGIN).verdict == "equivalent"
    assert wrong / 400 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
