"""One scale for evidence, relevance, confidence and scores."""

import pytest

from veracity.models.strength import Scale
from veracity.settings import Settings


@pytest.mark.parametrize(
    ("share", "language", "said"),
    [
        (0.92, "en", "strong (92)"),
        (0.75, "en", "strong (75)"),
        (0.74999, "en", "fair (74)"),
        (0.5, "en", "fair (50)"),
        (0.4999, "en", "weak (49)"),
        (0.31, "zh", "低（31）"),
        (0.31, "ja", "低（31）"),
    ],
)
def test_a_word_comes_first_and_no_number_is_rounded_up_to_a_limit(share: float, language: str, said: str) -> None:
    assert Scale.of_score(0.75).describe(share, language) == said


def test_the_limits_are_those_of_the_settings() -> None:
    changed = {
        "quality": {"high": 0.9, "medium": 0.4, "least_relevance": 0.8, "strong_passage": 0.5},
        "answering": {"least_confidence": 0.8},
        "approval": {"threshold": 0.6},
    }
    scales = Settings.model_validate(changed).scales
    assert scales.evidence == Scale(fair=0.4, strong=0.9)
    assert scales.relevance == Scale(fair=0.5, strong=0.5)
    assert scales.confidence == Scale(fair=0.8, strong=0.8)
    assert scales.score.strong == 0.6
    assert scales.with_threshold(0.9).score.rate(0.7) == "fair"


def test_a_local_check_is_fair_from_its_floor_on() -> None:
    scale = Scale.of_score(0.75).of_check(0.3)
    assert [scale.rate(share) for share in (0.2, 0.3, 0.8)] == ["weak", "fair", "strong"]
