"""Evidence is graded by four dimensions, with issues (SPEC C1 to C3)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.errors import ConfigurationError
from veracity.models import Evidence, EvidenceMetadata, Quality
from veracity.retrieval.quality import QualityChecker
from veracity.settings import QualitySettings


def evidence_item(relevance: float, source: str = "knowledge", number: int = 0) -> Evidence:
    return Evidence(
        id=str(number),
        text="text",
        source=source,
        document_id="document",
        title="",
        location="",
        headings=[],
        page=None,
        start=0,
        end=4,
        language="en",
        metadata=EvidenceMetadata(relevance_score=relevance),
    )


DEFAULTS = QualitySettings()


def check(*evidence: Evidence, weak_point_matches: bool = False, settings: QualitySettings = DEFAULTS) -> Quality:
    return QualityChecker(settings).check(evidence, weak_point_matches)


def codes(quality: Quality) -> list[str]:
    return [issue.code for issue in quality.issues]


def test_c1_no_evidence_is_low() -> None:
    quality = check()
    assert (quality.grade, quality.score) == ("low", 0.0)
    assert [issue.text for issue in quality.issues] == ["No documents retrieved"]
    assert codes(quality) == ["empty"]


def test_c1_score_is_the_weighted_mean() -> None:
    evidence = (
        [evidence_item(0.9, "temporal")] * 5
        + [evidence_item(0.6), evidence_item(0.3, "graph")]
        + [evidence_item(0.0)] * 3
    )
    quality = check(*evidence, weak_point_matches=True)
    assert quality.coverage == 0.5
    assert quality.relevance == pytest.approx(0.9)
    assert quality.diversity == 1
    assert quality.count == 0.5
    assert quality.score == pytest.approx(0.4 * 0.5 + 0.3 * 0.9 + 0.2 * 1 + 0.1 * 0.5)


def test_c1_relevance_is_the_mean_of_the_best_three() -> None:
    assert check(*(evidence_item(score) for score in (0.1, 0.9, 0.0, 0.6, 0.3))).relevance == pytest.approx(0.6)
    assert check(evidence_item(0.8), evidence_item(0.4)).relevance == pytest.approx(0.6)


def test_c1_diversity_and_count_are_capped() -> None:
    sources = ("knowledge", "graph", "temporal", "web")
    quality = check(*(evidence_item(0.5, sources[place % 4]) for place in range(40)))
    assert (quality.diversity, quality.count) == (1, 1)


def test_c3_without_a_weak_point_its_weight_is_shared() -> None:
    evidence = [evidence_item(0.9)] * 10
    quality = check(*evidence)
    assert quality.coverage is None
    assert quality.score == pytest.approx((0.3 * 0.9 + 0.2 / 3 + 0.1 * 0.5) / 0.6)
    assert "coverage" not in codes(quality)
    assert check(*evidence, weak_point_matches=True).score == pytest.approx(0.3 * 0.9 + 0.2 / 3 + 0.1 * 0.5)


@pytest.mark.parametrize(("relevance", "grade"), [(0.69, "medium"), (0.7, "high"), (0.5, "medium"), (0.49, "low")])
def test_c1_thresholds_are_inclusive(relevance: float, grade: str) -> None:
    only_relevance = QualitySettings(coverage_weight=0, relevance_weight=1, diversity_weight=0, count_weight=0)
    assert check(*[evidence_item(relevance)] * 3, settings=only_relevance).grade == grade


def test_c2_every_issue_has_its_number() -> None:
    quality = check(evidence_item(0.5), evidence_item(0.2), weak_point_matches=True)
    assert [(issue.code, issue.text) for issue in quality.issues] == [
        ("coverage", "Weak-point coverage is 0%, below 50%"),
        ("relevance", "Mean relevance of the best passages is 35 of 100, below 60"),
        ("diversity", "Sources: only 1 (documents), fewer than 2"),
        ("count", "Documents: only 2 retrieved, fewer than 10"),
    ]


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "zh",
            [
                "薄弱点覆盖率为 0%，低于 50%",
                "最佳段落的平均相关性为 35（满分 100），低于 60",
                "来源只有 1 个（文档），少于 2 个",
                "只检索到 2 个段落，少于 10 个",
            ],
        ),
        (
            "ja",
            [
                "弱点の網羅率が 0% で、50% を下回っています",
                "上位の段落の平均関連度が 100 点中 35 で、60 を下回っています",
                "情報源が 1 件（文書）だけで、2 件に足りません",
                "見つかった段落が 2 件だけで、10 件に足りません",
            ],
        ),
    ],
)
def test_x5_issues_are_in_the_language_of_the_question(language: str, texts: list[str]) -> None:
    evidence = [evidence_item(0.5), evidence_item(0.2)]
    quality = QualityChecker().check(evidence, weak_point_matches=True, language=language)
    assert [issue.text for issue in quality.issues] == texts
    (empty,) = QualityChecker().check([], weak_point_matches=False, language=language).issues
    assert (empty.code, empty.text.isascii()) == ("empty", False)


def test_c2_reaching_the_threshold_is_no_issue() -> None:
    evidence = [evidence_item(0.6, "temporal")] * 5 + [evidence_item(0.6)] * 5
    assert check(*evidence, weak_point_matches=True).issues == []


def test_the_priority_source_is_a_setting() -> None:
    evidence = [
        evidence_item(0.5, "graph"),
        evidence_item(0.5, "temporal"),
        evidence_item(0.5, "graph"),
        evidence_item(0.5, "graph"),
    ]
    assert check(*evidence, weak_point_matches=True, settings=QualitySettings(priority_source="graph")).coverage == 0.75


def test_weights_must_sum_to_1() -> None:
    with pytest.raises(ConfigurationError, match="must sum to 1"):
        QualityChecker(QualitySettings(coverage_weight=0.9))


def test_c1_grade_documents_takes_and_returns_plain_values() -> None:
    """The call of the source document; coverage always counts in it."""
    checker = QualityChecker()
    assert checker.grade_documents([]) == {
        "quality_grade": "low",
        "quality_score": 0.0,
        "quality_issues": ["No documents retrieved"],
    }
    documents = [
        {"source": "temporal", "metadata": {"relevance_score": 0.9}},
        {"source": "knowledge", "metadata": {"relevance_score": 0.6}},
    ] * 5
    assert checker.grade_documents(documents) == {
        "quality_grade": "medium",
        "quality_score": pytest.approx(0.4 * 0.5 + 0.3 * 0.9 + 0.2 * 2 / 3 + 0.1 * 0.5),
        "quality_issues": [],
    }
    without_weak_points = checker.grade_documents(documents, weak_point_matches=False, language="ja")
    assert (
        without_weak_points["quality_score"] == check(*[evidence_item(0.9, "temporal"), evidence_item(0.6)] * 5).score
    )


@pytest.mark.parametrize(
    "metadata", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"relevance_score": float("nan")}}]
)
def test_c1_grade_documents_counts_an_unknown_relevance_as_0(metadata: dict[str, object]) -> None:
    graded = QualityChecker().grade_documents([metadata])
    assert graded["quality_score"] == pytest.approx(0.2 / 3 + 0.1 / 20, abs=1e-6)
    assert "Sources: only 1 (unknown), fewer than 2" in graded["quality_issues"]


def test_c1_grade_documents_caps_the_relevance() -> None:
    graded = [QualityChecker().grade_documents([{"metadata": {"relevance_score": score}}]) for score in (1, 7)]
    assert graded[0] == graded[1]


SCORES = st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["knowledge", "graph", "temporal"])), max_size=60)


@given(SCORES, st.booleans())
def test_score_is_within_0_and_1_and_sets_the_grade(scored: list[tuple[float, str]], matches: bool) -> None:
    quality = check(*(evidence_item(score, source) for score, source in scored), weak_point_matches=matches)
    assert 0 <= quality.score <= 1
    assert quality.grade == ("high" if quality.score >= 0.7 else "medium" if quality.score >= 0.5 else "low")
    assert (quality.coverage is None) is not matches


@given(SCORES.filter(bool), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_evidence_does_not_matter(scored: list[tuple[float, str]], matches: bool, random) -> None:  # type: ignore[no-untyped-def]
    evidence = [evidence_item(score, source) for score, source in scored]
    before = check(*evidence, weak_point_matches=matches)
    random.shuffle(evidence)
    assert check(*evidence, weak_point_matches=matches) == before


def test_c8_200_passages_are_graded_within_10_ms() -> None:
    checker = QualityChecker(QualitySettings())
    evidence = [evidence_item(number / 200, "knowledge", number) for number in range(200)]
    times = []
    for _ in range(20):
        started = time.process_time()
        checker.check(evidence, weak_point_matches=True)
        times.append(time.process_time() - started)
    assert min(times) < 0.01
