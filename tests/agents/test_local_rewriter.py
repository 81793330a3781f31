"""Queries are rewritten without a model: mended first, then led on (SPEC C4, C9)."""

from collections import Counter
from collections.abc import Sequence

import pytest

from veracity.agents.local_rewriter import LocalRewriter, leading_words
from veracity.agents.rewriter import LONGEST_QUERY, RewriteTask
from veracity.agents.spelling import mended
from veracity.language import guess_language, search_tokens
from veracity.models import Evidence, EvidenceMetadata, Quality, QualityIssue, Shortfall

WARRANTY = "The warranty of every instrument lasts 36 months. The length of the warranty can be extended."
CHILDREN = "Parents of a sick child have five paid days a year. The child must be under twelve."
LEAVE = "员工每年享有带薪年休假12天。年休假须提前申请，由人事系统审批。"
REMOTE = "在宅勤務の手当を支給する。在宅勤務は月に8日まで。出張の宿泊費は会社が負担する。"


class Words:
    """The words of some texts. `near` are words that mean the same, `ordinary` good ones that the texts lack."""

    def __init__(self, *texts: str, near: dict[str, str] | None = None, ordinary: Sequence[str] = ()) -> None:
        self._held = Counter(word for text in texts for word in search_tokens(text, guess_language(text)))
        self._near = near or {}
        self._ordinary = {*ordinary, *(word.strip(".,").lower() for text in texts for word in text.split())}
        self.size = sum(self._held.values())

    def frequency(self, word: str) -> int:
        return self._held[word]

    def knows(self, word: str) -> bool:
        return word in self._held

    def is_ordinary(self, word: str) -> bool:
        return word.lower() in self._ordinary

    def sharing(self, character: str) -> list[str]:
        return [word for word in self._held if character in word and len(word) > 1]

    def nearness(self, word: str, others: Sequence[str]) -> list[float]:
        return [0.9 if self._near.get(word) == other else 0.1 for other in others]


ALL = Words(WARRANTY, CHILDREN, LEAVE, REMOTE, near={"kid": "child"}, ordinary=["kid", "chill", "want"])


def found(text: str, relevance: float = 0.3, title: str = "") -> Evidence:
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


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("warrenty lenght", "warranty length"),
        ("instrumnet Warrantty", "instrument warranty"),
        ("年修假申请", "年休假申请"),
        ("在択勤務の手当", "在宅勤務の手当"),
        ("出張の宿拍費", "出張の宿泊費"),
    ],
)
def test_slips_are_mended_against_the_documents(typed: str, meant: str) -> None:
    assert mended(typed, [], ALL).text == meant


@pytest.mark.parametrize(
    "question",
    [
        "What does the warranty cover?",
        "can I chill",  # a good word, one edit from `child`
        "Tesla warranty",  # a name that the documents do not hold
        "what does LH-C210 cost",
        "年休假申请",
        "在宅勤務は何日",
        "Überraschung?",
        "",
    ],
)
def test_what_is_no_slip_stays_as_it_is(question: str) -> None:
    assert mended(question, [found(WARRANTY), found(CHILDREN)], ALL).text == question


def test_a_word_that_the_documents_hold_is_no_slip_beside_another() -> None:
    words = Words("上海市的办公室在静安区。", "公司的年假制度。")
    assert words.knows("公司") and words.sharing("海")
    assert mended("上海公司的年假", [], words).text == "上海公司的年假"


def test_a_word_no_document_holds_is_put_as_the_best_passages_put_it() -> None:
    mend = mended("my kid is sick", [found(CHILDREN)], ALL)
    assert (mend.text, mend.near) == ("my kid is sick", ("child",))
    assert mended("my kid is sick", [found(WARRANTY)], ALL).text == "my kid is sick"
    assert mended("Kid", [found(CHILDREN)], ALL).text == "Kid", "a name"


def test_the_first_rewrite_of_a_slip_only_mends_it() -> None:
    rewrite = LocalRewriter(lambda: ALL).rewrite(task("warrenty", found(WARRANTY)))
    assert rewrite is not None
    assert (rewrite.query, rewrite.added) == ("warranty", ())
    assert "warrenty → warranty" in rewrite.reason


@pytest.mark.parametrize(
    ("question", "passage", "word"),
    [("warranty", WARRANTY, "months"), ("申请", LEAVE, "年休假"), ("宿泊費は", REMOTE, "在宅勤務")],
)
def test_c9_words_of_the_best_passages_are_told_apart_from_the_askers_own(
    question: str, passage: str, word: str
) -> None:
    rewrite = LocalRewriter(lambda: ALL).rewrite(task(question, found(passage)))
    assert rewrite is not None
    assert rewrite.query == question and word in rewrite.added
    assert not set(search_tokens(question)) & set(rewrite.added)


def test_passages_of_another_language_do_not_lead_on() -> None:
    assert leading_words("申请", [found(REMOTE)], ALL, 5) == []


def test_passages_that_hardly_bear_on_it_do_not_lead_on() -> None:
    assert leading_words("宿泊費は", [found(REMOTE, relevance=0.05)], ALL, 5) == []


def test_a_chinese_word_no_document_holds_is_widened_by_its_characters() -> None:
    rewrite = LocalRewriter(lambda: ALL).rewrite(task("休息", issues=["empty"]))
    assert rewrite is not None and "年休假" in rewrite.added


def test_weak_points_are_taken_up() -> None:
    rewrite = LocalRewriter(lambda: ALL).rewrite(
        task("days", found(CHILDREN), weak_points=["What does the warranty cover?"])
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
def test_c4_the_issues_decide_on_sources_and_width(
    issues: list[Shortfall], sources: tuple[str, ...], widen: bool
) -> None:
    available = ["knowledge", "graph", "temporal"]
    rewrite = LocalRewriter(lambda: ALL).rewrite(task("warrenty", issues=issues, available=available))
    assert rewrite is not None
    assert (rewrite.sources, rewrite.widen) == (sources, widen)


def test_a_source_that_is_not_there_is_not_asked() -> None:
    rewrite = LocalRewriter(lambda: ALL).rewrite(task("warrenty", issues=["coverage"]))
    assert rewrite is not None and rewrite.sources == ("knowledge",)


def test_no_query_is_given_twice_and_there_is_an_end() -> None:
    tried = ["warrenty"]
    while (rewrite := LocalRewriter(lambda: ALL).rewrite(task("warrenty", found(WARRANTY), tried=tried))) is not None:
        assert rewrite.whole not in tried
        tried.append(rewrite.whole)
        assert len(tried) < 10
    assert len(tried) >= 3


def test_with_nothing_found_and_nothing_to_mend_there_is_nothing_to_try() -> None:
    assert LocalRewriter(lambda: ALL).rewrite(task("warranty", issues=["empty"])) is None


@pytest.mark.parametrize("question", ["warranty\nof\tit", "warranty\n" + "instrument " * 100, "字" * 5000])
def test_a_query_is_one_line_and_not_long(question: str) -> None:
    rewrite = LocalRewriter(lambda: ALL).rewrite(task(question, found(WARRANTY), found(LEAVE)))
    assert rewrite is not None
    assert "\n" not in rewrite.query and len(rewrite.query) <= LONGEST_QUERY


def test_rare_words_lead_more_than_common_ones() -> None:
    words = Words(WARRANTY, *["Every instrument is here."] * 50)
    assert leading_words("warranty", [found("Instrument. Extended.")], words, 2) == ["extended", "instrument"]
