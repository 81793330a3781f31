"""The gate (SPEC D5): an answer with a low score, or that could not be scored or reviewed, needs approval."""

from pathlib import Path
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.runs.websites import SearchServer
from veracity.errors import ModelUnreachableError
from veracity.testing import ScriptedLLM


def scored(*scores: float, **roles: Any) -> ScriptedLLM:
    return ScriptedLLM.by_role(**{"writer": GOOD, "reviewer": PASS, "judge": judged(*scores), **roles})


def test_d5_a_score_at_the_threshold_passes(gated: MakeEngine) -> None:
    answer = gated(scored(75)).ask(QUESTION)
    assert (answer.status, answer.score, answer.decisions) == ("answered", 0.75, [])
    assert answer.evaluation and [metric.score for metric in answer.evaluation.metrics] == [75, 75, 75]


def test_d5_a_score_below_the_threshold_needs_approval(gated: MakeEngine) -> None:
    engine = gated(scored(74.9))
    answer = engine.ask(QUESTION)
    assert answer.status == "awaiting_approval" and answer.approval_id == f"{answer.run_id}.1"
    assert GOOD not in answer.model_dump_json(), "the draft is not in the answer"
    [approval] = engine.approvals()
    assert (approval.approval_id, approval.why, approval.draft.text) == (answer.approval_id, "low_score", GOOD)
    assert approval.draft.score == pytest.approx(0.749) and approval.on_reject == "end"
    assert engine.runs()[0].status == "awaiting_approval"


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.31, 1.0])
def test_the_threshold_is_a_setting(gated: MakeEngine, threshold: float) -> None:
    answer = gated(scored(30), approval={"threshold": threshold}).ask(QUESTION)
    assert answer.status == ("answered" if threshold <= 0.3 else "awaiting_approval")


def test_policy_never_releases_a_low_score_with_a_notice(gated: MakeEngine) -> None:
    answer = gated(scored(30), approval={"policy": "never"}).ask(QUESTION)
    assert answer.status == "answered" and answer.text == GOOD
    assert answer.notices[-1].code == "low_score"


def test_policy_always_requires_approval_of_a_high_score(gated: MakeEngine) -> None:
    engine = gated(scored(95), approval={"policy": "always"})
    assert engine.ask(QUESTION).status == "awaiting_approval"
    assert engine.approvals()[0].why == "policy"


def test_d5_small_talk_needs_no_approval(gated: MakeEngine) -> None:
    llm = scored(10)
    for greeting in ("Hello!", "谢谢！", "ありがとうございます。"):
        answer = gated(llm, approval={"policy": "always"}).ask(greeting)
        assert (answer.status, answer.route, answer.form) == ("answered", "direct", "direct")
    assert llm.calls == []


def test_an_answer_that_cannot_be_scored_needs_approval(gated: MakeEngine) -> None:
    engine = gated(scored(judge=ModelUnreachableError("The judge is down.")))
    assert engine.ask(QUESTION).status == "awaiting_approval"
    [approval] = engine.approvals()
    assert approval.why == "not_scored" and approval.draft.score is None
    assert any("The judge is down" in notice.text for notice in approval.draft.notices)


def test_a13_an_answer_that_was_not_reviewed_needs_approval(gated: MakeEngine) -> None:
    llm = scored(99, reviewer=ModelUnreachableError("The reviewer is down."))
    engine = gated(llm)
    answer = engine.ask(QUESTION)
    assert answer.status == "awaiting_approval" and engine.approvals()[0].why == "not_reviewed"
    released = engine.decide(answer.approval_id, "approve")
    assert released.status == "answered" and released.text == GOOD


def test_x2_an_abstention_offers_a_web_search(gated: MakeEngine, website: SearchServer) -> None:
    engine = gated(web=website.settings)
    answer = engine.ask("What does the company pay for a gym membership?")
    assert answer.status == "awaiting_approval"
    [approval] = engine.approvals()
    assert (approval.why, approval.on_reject) == ("abstained", "search")
    kept = engine.decide(approval.approval_id, "approve")
    assert kept.status == "abstained" and website.asked == []


def test_x2_an_abstention_ends_the_run_without_web_search_or_approval(gated: MakeEngine, website: SearchServer) -> None:
    question = "What does the company pay for a gym membership?"
    assert gated().ask(question).status == "abstained"
    assert gated(web=website.settings, approval={"policy": "never"}).ask(question).status == "abstained"


def test_b16_a_changed_evaluator_file_applies_to_the_next_question(gated: MakeEngine, root: Path) -> None:
    engine = gated()
    before = engine.ask(QUESTION)
    assert before.evaluation and len(before.evaluation.metrics) == 3
    (root / "configs").mkdir()
    (root / "configs" / "evaluator.toml").write_text('[[metrics]]\nname = "CitationAccuracy"\n')
    after = engine.ask(QUESTION)
    assert after.evaluation and [metric.metric_name for metric in after.evaluation.metrics] == ["CitationAccuracy"]
    (root / "configs" / "evaluator.toml").write_text('[[metrics]]\nname = "Nonsense"\n')
    kept = engine.ask(QUESTION)
    assert kept.evaluation and [metric.metric_name for metric in kept.evaluation.metrics] == ["CitationAccuracy"]
    assert "evaluator_warning" in [notice.code for notice in kept.notices]


def test_a_key_in_the_environment_selects_no_judge(gated: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be set for another program, and documents must not be sent to a provider that nobody chose."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nothing")
    answer = gated().ask(QUESTION)
    assert answer.evaluation and answer.evaluation.metric_set == "default-local"


def test_x7_judging_counts_towards_the_budget(gated: MakeEngine) -> None:
    answer = gated(scored(80)).ask(QUESTION)
    assert answer.usage.calls == 5, "writer, reviewer, and a judge for each of three metrics"
