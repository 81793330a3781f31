"""Grades the evidence: how good it is, and what it lacks (SPEC C1, C2). Pure arithmetic."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from veracity.models import Evidence, Grade, Quality, QualityIssue
from veracity.settings import QualitySettings, require_sound_quality

TOP_PASSAGES = 3  # their relevance counts
FULL_DIVERSITY = 3  # sources
FULL_COUNT = 20  # passages
DIGITS = 6  # without rounding, 0.1 + 0.2 would miss a threshold of 0.3


class QualityChecker:
    """Thread-safe."""

    def __init__(self, settings: QualitySettings) -> None:
        require_sound_quality(settings)
        self._settings = settings

    def check(self, evidence: Sequence[Evidence], weak_point_matches: bool) -> Quality:
        """Coverage, the share of the priority source, counts only if a weak point matches the question (SPEC C3)."""
        settings = self._settings
        if not evidence:
            issue = QualityIssue(code="empty", text="No documents retrieved")
            return Quality(grade="low", score=0.0, issues=[issue], coverage=0.0 if weak_point_matches else None)
        covered = sum(item.source == settings.priority_source for item in evidence)
        coverage = covered / len(evidence) if weak_point_matches else None
        relevances = sorted((item.metadata.relevance_score for item in evidence), reverse=True)
        relevance = round(fmean(relevances[:TOP_PASSAGES]), DIGITS)
        sources = sorted({item.source for item in evidence})
        diversity = min(1.0, len(sources) / FULL_DIVERSITY)
        count = min(1.0, len(evidence) / FULL_COUNT)
        weighted = [
            (settings.coverage_weight, coverage),
            (settings.relevance_weight, relevance),
            (settings.diversity_weight, diversity),
            (settings.count_weight, count),
        ]
        # The weight of a missing coverage is shared among the others in proportion.
        present = [(weight, value) for weight, value in weighted if value is not None]
        mean = sum(weight * value for weight, value in present) / sum(weight for weight, _ in present)
        score = min(1.0, round(mean, DIGITS))
        return Quality(
            grade=self._grade(score),
            score=score,
            issues=list(self._issues(coverage, relevance, sources, len(evidence))),
            coverage=coverage,
            relevance=relevance,
            diversity=diversity,
            count=count,
        )

    def _grade(self, score: float) -> Grade:
        if score >= self._settings.high:
            return "high"
        return "medium" if score >= self._settings.medium else "low"

    def _issues(
        self, coverage: float | None, relevance: float, sources: list[str], count: int
    ) -> Iterator[QualityIssue]:
        settings = self._settings
        if coverage is not None and coverage < settings.least_coverage:
            text = f"Weak-point coverage is {coverage:.0%}, below {settings.least_coverage:.0%}"
            yield QualityIssue(code="coverage", text=text)
        if relevance < settings.least_relevance:
            text = f"Mean relevance of the best passages is {relevance:.2f}, below {settings.least_relevance:g}"
            yield QualityIssue(code="relevance", text=text)
        if len(sources) < settings.least_sources:
            text = f"Sources: only {len(sources)} ({', '.join(sources)}), fewer than {settings.least_sources}"
            yield QualityIssue(code="diversity", text=text)
        if count < settings.least_documents:
            text = f"Documents: only {count} retrieved, fewer than {settings.least_documents}"
            yield QualityIssue(code="count", text=text)
