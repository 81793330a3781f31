"""A suite as a test: fails if too few answers are right, or if a case could not be run.

VERACITY_WORKSPACE=my-workspace pytest examples/test_answers.py
"""

import os

from veracity import Veracity

SUITE = os.environ.get("VERACITY_SUITE", "team")


def test_most_answers_are_right() -> None:
    with Veracity(os.environ["VERACITY_WORKSPACE"]) as engine:
        summary = engine.experiment(SUITE)
    assert not summary.failed, summary.failed[0].problem
    assert summary.passed
    assert summary.passed.low >= 0.4, [case.faults for case in summary.missed]
