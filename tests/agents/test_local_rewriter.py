"""The rewriter without a model: corrects the spelling first, then adds words (SPEC C4, C9)."""

from collections.abc import Sequence

import pytest

from tests.agents.vocabulary import FakeVocabulary
from veracity.agents.base import RewriteTask
from veracity.agents.local_rewriter import LocalRewriter, _expansion_words
from veracity.agents.rewriter import MAX_QUERY_LENGTH
from veracity.language import guess_language, search_tokens
from veracity.models import Evidence, EvidenceMetadata, Quality, QualityIssue, Shortfall

WARRANTY = "The warranty of every instrument lasts 36 months. The length of the warranty can be extended."
CHILDREN = "Parents of a sick child have five paid days a year. The child must be under twelve."
LEAVE = "员工每年享有带薪年休假12天。年休假须提前申请，由人事系统审批。"
REMOTE = "在宅勤務の手当を支給する。在宅勤務は月に8日まで。出張の宿泊費は会社が負担する。"


VOCABULARY = FakeVocabulary(WARRANTY, CHILDREN, LEAVE, REMOTE, near={"kid": "child"}, ordinary=["kid", "chill", "want"])


def make_passage(text: str, relevance: float = 0.3, title: str = "") -> Evidence:
    return Evidence(
        id=text[:5],
        text=text,
        source="knowledge",
        document_id="document",
        title=title,
        location="",
        headings=[],
        page=None,
        start=0,
        end=len(text),
        language=guess_language(text),
        metadata=EvidenceMetadata(relevance_score=relevance),
    )


def task(
    question: str,
    *evidence: Evidence,
    issues: Sequence[Shortfall] = ("relevance",),
    tried: Sequence[str] | None = None,
    weak_points: Sequence[str] = (),
    available: Sequence[str] = ("knowledge", "graph"),
) -> RewriteTask:
    quality = Quality(grade="low", score=0.2, issues=[QualityIssue(code=code, text=code) for code in issues])
    return RewriteTask(
        question, tried or [question], evidence, quality, ["knowledge"], available, weak_points=weak_points
    )


def test_first_rewrite_only_corrects_the_spelling() -> None:
    rewrite = LocalRewriter(lambda: VOCABULARY).rewrite(task("warrenty", make_passage(WARRANTY)))
    assert rewrite is not None
    assert (rewrite.query, rewrite.added) == ("warranty", ())
    assert "warrenty → warranty" in rewrite.reason


@pytest.mark.parametrize(
    ("question", "passage", "word"),
    [("warranty", WARRANTY, "months"), ("申请", LEAVE, "年休假"), ("宿泊費は", REMOTE, "在宅勤務")],
)
def test_c9_words_of_passages_are_kept_apart_from_the_users_words(question: str, passage: str, word: str) -> None:
    rewrite = LocalRewriter(lambda: VOCABULARY).rewrite(task(question, make_passage(passage)))
    assert rewrite is not None
    assert rewrite.query == question and word in rewrite.added
    assert not set(search_tokens(question)) & set(rewrite.added)


def test_passages_in_another_language_add_no_words() -> None:
    assert _expansion_words("申请", [make_passage(REMOTE)], VOCABULARY, 5) == []


def test_irrelevant_passages_add_no_words() -> None:
    assert _expansion_words("宿泊費は", [make_passage(REMOTE, relevance=0.05)], VOCABULARY, 5) == []


def test_unknown_chinese_word_adds_words_that_share_a_character() -> None:
    rewrite = LocalRewriter(lambda: VOCABULARY).rewrite(task("休息", issues=["empty"]))
    assert rewrite is not None and "年休假" in rewrite.added


def test_words_of_weak_points_are_added() -> None:
    rewrite = LocalRewriter(lambda: VOCABULARY).rewrite(
        task("days", make_passage(CHILDREN), weak_points=["What does the warranty cover?"])
    )
    assert rewrite is not None and "warranti" in rewrite.added


@pytest.mark.parametrize(
    ("issues", "sources", "widen"),
    [
        (["relevance"], ("knowledge",), False),
        (["coverage"], ("knowledge", "temporal"), False),
        (["diversity"], ("knowledge", "graph", "temporal"), False),
        (["count"], ("knowledge",), True),
        (["empty"], ("knowledge", "graph", "temporal"), True),
    ],
)
def test_c4_issues_determine_sources_and_width(issues: list[Shortfall], sources: tuple[str, ...], widen: bool) -> None:
    available = ["knowledge", "graph", "temporal"]
    rewrite = LocalRewriter(lambda: VOCABULARY).rewrite(task("warrenty", issues=issues, available=available))
    assert rewrite is not None
    assert (rewrite.sources, rewrite.widen) == (sources, widen)


def test_unavailable_source_is_not_searched() -> None:
    rewrite = LocalRewriter(lambda: VOCABULARY).rewrite(task("warrenty", issues=["coverage"]))
    assert rewrite is not None and rewrite.sources == ("knowledge",)


def test_no_query_is_returned_twice_and_rewriting_ends() -> None:
    tried = ["warrenty"]
    while (
        rewrite := LocalRewriter(lambda: VOCABULARY).rewrite(task("warrenty", make_passage(WARRANTY), tried=tried))
    ) is not None:
        assert rewrite.full_query not in tried
        tried.append(rewrite.full_query)
        assert len(tried) < 10
    assert len(tried) >= 3


def test_nothing_to_try_without_evidence_or_typos() -> None:
    assert LocalRewriter(lambda: VOCABULARY).rewrite(task("warranty", issues=["empty"])) is None


@pytest.mark.parametrize("question", ["warranty\nof\tit", "warranty\n" + "instrument " * 100, "字" * 5000])
def test_query_is_one_short_line(question: str) -> None:
    rewrite = LocalRewriter(lambda: VOCABULARY).rewrite(task(question, make_passage(WARRANTY), make_passage(LEAVE)))
    assert rewrite is not None
    assert "\n" not in rewrite.query and len(rewrite.query) <= MAX_QUERY_LENGTH


def test_rare_words_are_added_before_common_ones() -> None:
    vocabulary = FakeVocabulary(WARRANTY, *["Every instrument is here."] * 50)
    assert _expansion_words("warranty", [make_passage("Instrument. Extended.")], vocabulary, 2) == [
        "extended",
        "instrument",
    ]
