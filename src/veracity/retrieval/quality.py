"""Grades the evidence: how good it is, and what it lacks (SPEC C1, C2). Pure arithmetic."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from veracity.locales import section_texts, text
from veracity.models import Evidence, Grade, Quality, QualityIssue, Shortfall
from veracity.models.evaluation import points
from veracity.settings import QualitySettings, require_sound_quality

TOP_PASSAGES = 3  # their relevance counts
FULL_DIVERSITY = 3  # sources
FULL_COUNT = 20  # passages
DIGITS = 6  # without rounding, 0.1 + 0.2 would miss a threshold of 0.3
DEFAULTS = QualitySettings()


class QualityChecker:
    """Thread-safe."""

    def __init__(self, settings: QualitySettings = DEFAULTS) -> None:
        require_sound_quality(settings)
        self._settings = settings

    def check(self, evidence: Sequence[Evidence], weak_point_matches: bool, language: str = "en") -> Quality:
        """Coverage, the share of the priority source, counts only if a weak point matches the question (SPEC C3).

        The texts of the issues are in `language`.
        """
        scored = [(item.source, item.metadata.relevance_score) for item in evidence]
        return self._grade_scored(scored, weak_point_matches, language)

    def grade_documents(
        self, documents: Sequence[Mapping[str, Any]], weak_point_matches: bool = True, language: str = "en"
    ) -> dict[str, Any]:
        """Grade documents of the form `{"source": …, "metadata": {"relevance_score": …}}`.

        Returns `quality_grade`, `quality_score` and the texts of `quality_issues`. A missing relevance counts as 0.
        """
        scored = [(str(document.get("source", "unknown")), _relevance(document)) for document in documents]
        quality = self._grade_scored(scored, weak_point_matches, language)
        issues = [issue.text for issue in quality.issues]
        return {"quality_grade": quality.grade, "quality_score": quality.score, "quality_issues": issues}

    def _grade_scored(self, scored: list[tuple[str, float]], weak_point_matches: bool, language: str) -> Quality:
        """`scored` is the source and relevance of each passage."""
        settings = self._settings
        if not scored:
            coverage = 0.0 if weak_point_matches else None
            return Quality(grade="low", score=0.0, issues=[_issue("empty", language)], coverage=coverage)
        covered = sum(source == settings.priority_source for source, _ in scored)
        coverage = covered / len(scored) if weak_point_matches else None
        relevances = sorted((relevance for _, relevance in scored), reverse=True)
        relevance = round(fmean(relevances[:TOP_PASSAGES]), DIGITS)
        sources = sorted({source for source, _ in scored})
        diversity = min(1.0, len(sources) / FULL_DIVERSITY)
        count = min(1.0, len(scored) / FULL_COUNT)
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
            issues=list(self._issues(coverage, relevance, sources, len(scored), language)),
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
        self, coverage: float | None, relevance: float, sources: list[str], count: int, language: str
    ) -> Iterator[QualityIssue]:
        settings = self._settings
        if coverage is not None and coverage < settings.least_coverage:
            yield _issue("coverage", language, value=coverage, least=settings.least_coverage)
        if relevance < settings.least_relevance:
            yield _issue(
                "relevance",
                language,
                value=points(relevance, settings.least_relevance),
                least=points(settings.least_relevance),
            )
        if len(sources) < settings.least_sources:
            labels = section_texts(language, "receipt")
            names = ", ".join(labels.get(f"source.{source}", source) for source in sources)
            yield _issue("diversity", language, value=len(sources), names=names, least=settings.least_sources)
        if count < settings.least_documents:
            yield _issue("count", language, value=count, least=settings.least_documents)


def _issue(code: Shortfall, language: str, **values: Any) -> QualityIssue:
    return QualityIssue(code=code, text=text(language, "quality", code, **values))


def _relevance(document: Mapping[str, Any]) -> float:
    """From 0 to 1. Not a number counts as 0: `max` returns its first argument then."""
    score = (document.get("metadata") or {}).get("relevance_score") or 0.0
    return min(1.0, max(0.0, float(score)))
