"""Intervals of rates and means: known values, properties, and coverage by simulation (SPEC X6)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.experiments.intervals import (
    FEW_CLUSTERS,
    lower_bound,
    mean_interval,
    rate_interval,
    share_interval,
    upper_bound,
)

SCORES = (0.0, 100.0)


def alone(values: list[float]) -> list[str]:
    return [str(number) for number in range(len(values))]


def test_wilson_interval_of_a_known_example() -> None:
    """Agresti and Coull (1998): 9 of 10."""
    found = rate_interval(9, 10)
    assert (round(found.low, 3), round(found.high, 3), found.method) == (0.596, 0.982, "Wilson")


def test_the_rule_of_three_for_no_failures() -> None:
    found = rate_interval(0, 100)
    assert found.method == "rule of three"
    assert found.high == pytest.approx(3 / 100, rel=0.02)
    assert found.low == 0


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_rate_lies_in_its_interval(counts: tuple[int, int]) -> None:
    found = rate_interval(*counts)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(1, 8))
def test_a_mean_lies_in_its_interval_and_bounds(values: list[float], clusters: int) -> None:
    found = mean_interval(values, [str(number % clusters) for number in range(len(values))], SCORES)
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert found.low >= -1e-9
    assert found.high <= 100 + 1e-9


def test_one_cluster_tells_nothing() -> None:
    found = mean_interval([10, 20, 30], ["a", "a", "a"], SCORES)
    assert (found.low, found.high, found.method, found.clusters) == (0, 100, "one cluster", 1)


def test_clusters_that_agree_with_themselves_make_the_interval_wider() -> None:
    """Miller 2024: twenty clusters of five equal cases are twenty cases, not a hundred."""
    values = [float(number % 20 < 10) * 100 for number in range(100)]
    clustered = mean_interval(values, [str(number % 20) for number in range(100)], SCORES)
    independent = mean_interval(values, alone(values), SCORES)
    ratio = (clustered.high - clustered.low) / (independent.high - independent.low)
    assert ratio == pytest.approx(math.sqrt(5), rel=0.1)
    assert clustered.method == "cluster-robust t"


def test_few_clusters_are_bootstrapped_with_a_fixed_seed() -> None:
    values, clusters = [1.0, 2.0, 3.0, 4.0, 50.0, 60.0], ["a", "a", "b", "b", "c", "d"]
    first, again = (mean_interval(values, clusters, SCORES) for _ in range(2))
    assert first == again
    assert first.method == "cluster-robust bootstrap"
    assert first.clusters < FEW_CLUSTERS


def test_repeats_that_differ_use_the_mean() -> None:
    shares = [1.0, 0.5, 0.0, 1.0] * 5
    found = share_interval(shares, alone(shares))
    assert found.method == "t"
    assert 0 <= found.low <= found.high <= 1


@pytest.mark.parametrize(("rate", "n"), [(0.5, 30), (0.9, 60), (0.97, 200)])
def test_intervals_cover_the_true_rate(rate: float, n: int) -> None:
    draws = np.random.default_rng(1).binomial(n, rate, 2000)
    covered = np.mean([(found := rate_interval(int(k), n)).low <= rate <= found.high for k in draws])
    assert covered > 0.93


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_exact_bounds_enclose_the_rate(counts: tuple[int, int]) -> None:
    failures, n = counts
    assert lower_bound(failures, n, 0.95) <= failures / n <= upper_bound(failures, n, 0.95)


def test_fifty_nine_cases_without_a_failure_show_five_percent() -> None:
    assert upper_bound(0, 59, 0.95) < 0.05 < upper_bound(0, 58, 0.95)
