"""Calibrated thresholds: the promise holds, labels are a fair sample, and too few labels are said to be too few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.experiments.calibration import Label, calibrate, least_labels, thin
from veracity.experiments.intervals import upper_bound

LABELS = st.lists(st.builds(Label, st.floats(0, 1), st.booleans(), st.sampled_from((0.1, 1.0))), max_size=300)


def test_fifty_nine_right_answers_certify_five_percent() -> None:
    assert least_labels(0.05, 0.95) == 59
    enough = calibrate([Label(0.9, False)] * 59, 0.75, 0.05, 0.95)
    assert enough.certificate
    assert (enough.certificate.labels, enough.certificate.wrong) == (59, 0)
    few = calibrate([Label(0.9, False)] * 58, 0.75, 0.05, 0.95)
    assert few.certificate is None
    assert (few.labels, few.needed) == (58, 59)
    assert few.smallest_risk == pytest.approx(upper_bound(0, 58, 0.95))


def test_without_labels_nothing_is_certified() -> None:
    found = calibrate([], 0.75, 0.05, 0.95)
    assert (found.certificate, found.labels, found.smallest_risk) == (None, 0, 1.0)


def test_the_threshold_goes_down_as_long_as_the_promise_holds() -> None:
    labels = [Label(0.9, False)] * 200 + [Label(0.7, False)] * 100 + [Label(0.5, True)] * 100
    found = calibrate(labels, 0.75, 0.05, 0.95).certificate
    assert found
    assert 0.5 < found.threshold <= 0.7


def test_the_threshold_goes_up_if_only_the_best_are_right() -> None:
    labels = [Label(0.95, False)] * 300 + [Label(0.8, True)] * 300
    found = calibrate(labels, 0.75, 0.05, 0.95).certificate
    assert found
    assert 0.8 < found.threshold <= 0.95


def test_nothing_is_promised_below_what_was_labelled() -> None:
    found = calibrate([Label(0.9, False)] * 100, 0.75, 0.05, 0.95).certificate
    assert found
    assert found.threshold == 0.75


def test_held_answers_are_thinned_to_the_rate_of_the_audit() -> None:
    labels = [Label(0.9, False, 0.1)] * 500 + [Label(0.5, True, 1.0)] * 500
    kept = thin(labels)
    assert sum(label.inclusion == 0.1 for label in kept) == 500
    assert 30 <= sum(label.inclusion == 1.0 for label in kept) <= 75
    assert thin(labels) == kept


@given(LABELS, st.floats(0, 1), st.floats(0.01, 0.5))
def test_a_certificate_is_always_backed_by_its_labels(labels: list[Label], in_force: float, risk: float) -> None:
    found = calibrate(labels, in_force, risk, 0.95)
    if certificate := found.certificate:
        above = [label for label in thin(labels) if label.score >= certificate.threshold]
        assert upper_bound(sum(label.wrong for label in above), len(above), 0.95) <= risk
        assert certificate.labels == len(above)


def test_the_promise_is_broken_in_at_most_five_percent() -> None:
    """Answers with a score s are wrong with probability 0.3 (1 - s): the risk above t is 0.15 (1 - t)."""
    generator, broken, certified = np.random.default_rng(3), 0, 0
    for _ in range(400):
        scores = generator.random(1500)
        wrong = generator.random(1500) < 0.3 * (1 - scores)
        asked = (scores < 0.75) | (generator.random(1500) < 0.3)
        labels = [
            Label(float(score), bool(bad), 0.3 if score >= 0.75 else 1.0)
            for score, bad in zip(scores[asked], wrong[asked], strict=True)
        ]
        found = calibrate(labels, 0.75, 0.08, 0.95).certificate
        certified += found is not None
        broken += found is not None and 0.15 * (1 - found.threshold) > 0.08
    assert certified > 100
    assert broken / 400 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
