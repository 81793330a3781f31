"""The grade of the evidence: how good is what was found, and what does it lack (SPEC C1, C2)?

Pure arithmetic over what the evidence says of itself. Knows nothing about where it came from or what is done about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from veracity.models import Evidence, Grade, Quality, QualityIssue
from veracity.settings import QualitySettings, require_sound_quality

BEST = 3  # passages whose relevance counts
ALL_SOURCES = 3
FULL_COUNT = 20
DIGITS = 6  # or 0.1 + 0.2 would miss a threshold of 0.3


class QualityChecker:
    """Can be shared by threads."""

    def __init__(self, settings: QualitySettings) -> None:
        require_sound_quality(settings)
        self._settings = settings

    def check(self, evidence: Sequence[Evidence], weak_point_matches: bool) -> Quality:
        """Coverage counts only where a weak point of the asker matches the question (SPEC C3)."""
        settings = self._settings
        if not evidence:
            nothing = QualityIssue(code="empty", text="No documents retrieved")
            return Quality(grade="low", score=0.0, issues=[nothing], coverage=0.0 if weak_point_matches else None)
        coverage = self._coverage(evidence) if weak_point_matches else None
        relevance = _relevance(evidence)
        diversity = min(1.0, len(_sources(evidence)) / ALL_SOURCES)
        count = min(1.0, len(evidence) / FULL_COUNT)
        weighed = [
            (settings.coverage_weight, coverage),
            (settings.relevance_weight, relevance),
            (settings.diversity_weight, diversity),
            (settings.count_weight, count),
        ]
        score = _weighted_mean([(weight, share) for weight, share in weighed if share is not None])
        return Quality(
            grade=self._grade(score),
            score=score,
            issues=list(self._issues(evidence, coverage, relevance)),
            coverage=coverage,
            relevance=relevance,
            diversity=diversity,
            count=count,
        )

    def _coverage(self, evidence: Sequence[Evidence]) -> float:
        """The share of the evidence that comes from the priority source."""
        return sum(item.source == self._settings.priority_source for item in evidence) / len(evidence)

    def _grade(self, score: float) -> Grade:
        if score >= self._settings.high:
            return "high"
        return "medium" if score >= self._settings.medium else "low"

    def _issues(self, evidence: Sequence[Evidence], coverage: float | None, relevance: float) -> Iterator[QualityIssue]:
        least, sources = self._settings, _sources(evidence)
        if coverage is not None and coverage < least.least_coverage:
            told = f"Weak-point coverage is {coverage:.0%}, under {least.least_coverage:.0%}"
            yield QualityIssue(code="coverage", text=told)
        if relevance < least.least_relevance:
            told = f"Mean relevance of the best passages is {relevance:.2f}, under {least.least_relevance:g}"
            yield QualityIssue(code="relevance", text=told)
        if len(sources) < least.least_sources:
            told = f"Sources: only {len(sources)} ({', '.join(sources)}), fewer than {least.least_sources}"
            yield QualityIssue(code="diversity", text=told)
        if len(evidence) < least.least_documents:
            told = f"Documents: only {len(evidence)} retrieved, fewer than {least.least_documents}"
            yield QualityIssue(code="count", text=told)


def _sources(evidence: Sequence[Evidence]) -> list[str]:
    return sorted({item.source for item in evidence})


def _relevance(evidence: Sequence[Evidence]) -> float:
    best = sorted((item.metadata.relevance_score for item in evidence), reverse=True)[:BEST]
    return round(fmean(best), DIGITS)


def _weighted_mean(weighed: Sequence[tuple[float, float]]) -> float:
    """Of the weights that are there: those of the others are thereby shared among them in proportion."""
    total = sum(weight for weight, _ in weighed)
    return min(1.0, round(sum(weight * share for weight, share in weighed) / total, DIGITS))
