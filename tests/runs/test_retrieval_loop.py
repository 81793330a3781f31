"""Every path through the retrieval loop (SPEC C1–C9)."""

from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import QUESTION
from veracity.errors import KnowledgeError, ModelUnreachableError
from veracity.models import Answer, Receipt
from veracity.testing import ScriptedLLM

VAGUE = "portal thing"
STRICT = {"medium": 0.95, "high": 0.95, "strong_passage": 1.0}  # no evidence is ever good enough


def rewrite(query: str, *sources: str) -> dict[str, Any]:
    return {"reason": "Sharper words.", "query": query, "sources": list(sources)}


def names(receipt: Receipt) -> list[str]:
    return [step.name for step in receipt.steps]


def codes(answer: Answer) -> list[str]:
    return [notice.code for notice in answer.notices]


def test_c5_good_evidence_is_not_rewritten(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=rewrite("anything"))
    engine = engine_with(llm, quality={"medium": 0.01})
    engine.ask(QUESTION)
    assert llm.calls == []
    assert "rewrite_query" not in names(engine.receipt("last"))


@pytest.mark.parametrize(("strong_passage", "rewrites"), [(0.4, 0), (1.0, 2)])
def test_c4_one_strong_passage_needs_no_rewrite(engine_with: MakeEngine, strong_passage: float, rewrites: int) -> None:
    """A strong passage of 1.0 rewrites every low grade."""
    llm = ScriptedLLM.by_role(rewriter=[rewrite("leave days"), rewrite("annual leave")])
    engine = engine_with(llm, quality={**STRICT, "strong_passage": strong_passage})
    engine.ask(QUESTION)
    first = engine.receipt("last").rounds[0]
    assert first.quality.grade == "low" and 0.4 < first.evidence[0].metadata.relevance_score < 1
    assert len(llm.calls) == rewrites


def test_c4_without_a_strong_passage_a_low_grade_is_rewritten(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=[rewrite("zzz"), rewrite("qqq")])
    engine_with(llm, quality={**STRICT, "strong_passage": 0.7}).ask(VAGUE)
    assert len(llm.calls) == 2


def test_c9_a_better_rewrite_changes_the_evidence(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=rewrite("days of paid annual leave of full-time staff"))
    engine = engine_with(llm, quality={**STRICT, "max_rewrites": 1})
    answer = engine.ask("laptop zzz")
    first, second = engine.receipt("last").rounds
    assert (first.query, second.query) == ("laptop zzz", "days of paid annual leave of full-time staff")
    assert second.rewritten == "Sharper words."
    assert first.evidence[0].document_id == "laptops"
    assert second.evidence[0].document_id == "leave"
    assert second.quality.score > first.quality.score
    assert answer.evidence[0].document_id == "leave"
    assert answer.quality == second.quality


def test_c5_a_worse_rewrite_keeps_the_best_evidence(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=[rewrite("zzz"), rewrite("qqq")])
    engine = engine_with(llm, quality=STRICT)
    answer = engine.ask(QUESTION)
    receipt = engine.receipt("last")
    assert [searched.query for searched in receipt.rounds] == [QUESTION, "zzz", "qqq"]
    assert [len(searched.evidence) for searched in receipt.rounds[1:]] == [0, 0]
    assert answer.quality == receipt.rounds[0].quality
    assert "25 days" in answer.text


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_c4_the_number_of_rewrites_is_limited(engine_with: MakeEngine, limit: int) -> None:
    llm = ScriptedLLM.by_role(rewriter=[rewrite(f"leave {number}") for number in range(9)])
    engine = engine_with(llm, quality=STRICT)
    engine.ask(QUESTION, max_rewrites=limit)
    assert len(llm.calls) == limit
    assert len(engine.receipt("last").rounds) == limit + 1


def test_c4_a_repeated_query_is_refused(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=rewrite(QUESTION.upper()))
    engine = engine_with(llm, quality=STRICT)
    answer = engine.ask(QUESTION)
    receipt = engine.receipt("last")
    assert len(receipt.rounds) == 1
    assert len(llm.calls) == 1
    assert "25 days" in answer.text


def test_c4_the_rewriter_gets_the_issues_and_earlier_queries(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=[rewrite("leave days"), rewrite("annual leave")])
    engine = engine_with(llm, quality=STRICT)
    engine.ask(VAGUE)
    first, second = llm.calls
    assert "Mean relevance of the best passages" in first.prompt
    assert VAGUE in first.prompt
    assert "leave days" not in first.prompt
    assert "leave days" in second.prompt


def test_c4_a_rewrite_can_add_sources(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=rewrite("annual leave days", "graph"))
    engine = engine_with(llm, quality={**STRICT, "max_rewrites": 1}, retrieval={"sources": ["knowledge"]})
    engine.ask(VAGUE)
    assert [searched.sources for searched in engine.receipt("last").rounds] == [["knowledge"], ["knowledge", "graph"]]


def test_a_failing_rewriter_leaves_the_evidence_and_a_notice(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(rewriter=ModelUnreachableError("The server is down."))
    answer = engine_with(llm, quality=STRICT).ask(QUESTION)
    assert "25 days" in answer.text
    assert "The server is down" in next(notice.text for notice in answer.notices if notice.code == "rewrite_failed")


@pytest.mark.parametrize(
    ("question", "issue"),
    [
        ("zzzz qqqq?", "No documents retrieved"),
        ("魑魅魍魉吗？", "没有检索到文档"),
        ("ゑゑゑゑですか？", "文書が見つかりませんでした"),
    ],
)
def test_an_abstention_when_no_round_finds_anything(engine_with: MakeEngine, question: str, issue: str) -> None:
    """The issue is in the language of the question (SPEC X5)."""
    engine = engine_with()
    answer = engine.ask(question)
    assert (answer.status, answer.evidence) == ("abstained", [])
    assert answer.quality and (answer.quality.grade, answer.quality.score) == ("low", 0.0)
    assert [shortfall.text for shortfall in answer.quality.issues] == [issue]
    assert "evidence_weak" in codes(answer)


def test_without_evidence_no_model_is_called(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer="Something.", reviewer={})
    answer = engine_with(llm).ask("zzzz qqqq?")
    assert answer.status == "abstained"
    assert llm.calls == []


def test_without_a_model_spelling_is_corrected(engine_with: MakeEngine) -> None:
    engine = engine_with()
    answer = engine.ask("How many days of anual laeve do full-time staff have?")
    assert "25 days" in answer.text
    assert any("annual" in searched.query for searched in engine.receipt("last").rounds[1:])


@pytest.mark.parametrize("question", ["How many days of anual leave do staff have?", "hotles per night cost"])
def test_a_misspelt_question_is_answered(engine_with: MakeEngine, question: str) -> None:
    answer = engine_with().ask(question)
    assert answer.status == "answered"
    assert answer.question == question


def test_a_failing_first_search_fails_the_run(engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with()

    def broken(*_: object) -> None:
        raise KnowledgeError("The disk is gone.")

    monkeypatch.setattr(engine._parts.searcher, "find", broken)
    with pytest.raises(KnowledgeError, match="The disk is gone"):
        engine.ask(QUESTION)
    assert engine.runs()[0].status == "failed"


def test_a_failing_later_search_leaves_the_evidence(engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(ScriptedLLM.by_role(rewriter=rewrite("annual leave")), quality=STRICT)
    find = engine._parts.searcher.find

    def broken(source: str, query: str, *rest: Any) -> Any:
        if query != QUESTION:
            raise KnowledgeError("The disk is gone.")
        return find(source, query, *rest)

    monkeypatch.setattr(engine._parts.searcher, "find", broken)
    answer = engine.ask(QUESTION)
    assert "25 days" in answer.text
    assert "search_incomplete" in codes(answer)


def test_a_failing_reranker_leaves_the_order_and_a_notice(
    engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_with()

    def broken(*_: object) -> None:
        raise ModelUnreachableError("The reranker is down.")

    monkeypatch.setattr(engine._parts.searcher, "rerank", broken)
    answer = engine.ask(QUESTION)
    assert "25 days" in answer.text
    assert "The reranker is down" in next(notice.text for notice in answer.notices if notice.code == "not_reranked")
