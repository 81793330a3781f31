"""The gate (SPEC D5): what scores low, or could not be scored or reviewed, goes to a person."""

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


def test_a_score_of_exactly_the_threshold_passes_d5(gated: MakeEngine) -> None:
    answer = gated(scored(75)).ask(QUESTION)
    assert (answer.status, answer.score, answer.decisions) == ("answered", 0.75, [])
    assert answer.evaluation and [one.score for one in answer.evaluation.metrics] == [75, 75, 75]


def test_a_score_below_it_waits_for_a_person_d5(gated: MakeEngine) -> None:
    engine = gated(scored(74.9))
    answer = engine.ask(QUESTION)
    assert answer.status == "awaiting_approval" and answer.approval_id == f"{answer.run_id}.1"
    assert GOOD not in answer.model_dump_json(), "the draft does not go out"
    [approval] = engine.approvals()
    assert (approval.approval_id, approval.why, approval.draft.text) == (answer.approval_id, "low_score", GOOD)
    assert approval.draft.score == pytest.approx(0.749) and approval.on_reject == "end"
    assert engine.runs()[0].status == "awaiting_approval"


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.31, 1.0])
def test_the_threshold_is_a_setting(gated: MakeEngine, threshold: float) -> None:
    answer = gated(scored(30), approval={"threshold": threshold}).ask(QUESTION)
    assert answer.status == ("answered" if threshold <= 0.3 else "awaiting_approval")


def test_with_policy_never_a_low_score_goes_out_with_a_notice(gated: MakeEngine) -> None:
    answer = gated(scored(30), approval={"policy": "never"}).ask(QUESTION)
    assert answer.status == "answered" and answer.text == GOOD
    assert answer.notices[-1].code == "low_score"


def test_with_policy_always_a_high_score_waits_too(gated: MakeEngine) -> None:
    engine = gated(scored(95), approval={"policy": "always"})
    assert engine.ask(QUESTION).status == "awaiting_approval"
    assert engine.approvals()[0].why == "policy"


def test_a_courtesy_is_not_gated_d5(gated: MakeEngine) -> None:
    llm = scored(10)
    for said in ("Hello!", "谢谢！", "ありがとうございます。"):
        answer = gated(llm, approval={"policy": "always"}).ask(said)
        assert (answer.status, answer.route, answer.form) == ("answered", "direct", "direct")
    assert llm.calls == []


def test_a_judge_that_fails_leaves_it_not_scored_and_a_person_decides(gated: MakeEngine) -> None:
    engine = gated(scored(judge=ModelUnreachableError("The judge is down.")))
    assert engine.ask(QUESTION).status == "awaiting_approval"
    [approval] = engine.approvals()
    assert approval.why == "not_scored" and approval.draft.score is None
    assert any("The judge is down" in one.text for one in approval.draft.notices)


def test_what_could_not_be_reviewed_goes_to_the_person_whatever_its_score_a13(gated: MakeEngine) -> None:
    llm = scored(99, reviewer=ModelUnreachableError("The reviewer is down."))
    engine = gated(llm)
    answer = engine.ask(QUESTION)
    assert answer.status == "awaiting_approval" and engine.approvals()[0].why == "not_reviewed"
    released = engine.decide(answer.approval_id, "approve")
    assert released.status == "answered" and released.text == GOOD


def test_an_abstention_is_offered_for_a_search_of_the_web_x2(gated: MakeEngine, website: SearchServer) -> None:
    engine = gated(web=website.settings)
    answer = engine.ask("What does the company pay for a gym membership?")
    assert answer.status == "awaiting_approval"
    [approval] = engine.approvals()
    assert (approval.why, approval.on_reject) == ("abstained", "search")
    kept = engine.decide(approval.approval_id, "approve")
    assert kept.status == "abstained" and website.asked == []


def test_an_abstention_ends_the_run_without_a_provider_or_with_policy_never_x2(
    gated: MakeEngine, website: SearchServer
) -> None:
    question = "What does the company pay for a gym membership?"
    assert gated().ask(question).status == "abstained"
    assert gated(web=website.settings, approval={"policy": "never"}).ask(question).status == "abstained"


def test_the_evaluator_file_counts_from_the_next_question_on_b16(gated: MakeEngine, root: Path) -> None:
    engine = gated()
    before = engine.ask(QUESTION)
    assert before.evaluation and len(before.evaluation.metrics) == 3
    (root / "configs").mkdir()
    (root / "configs" / "evaluator.toml").write_text('[[metrics]]\nname = "CitationAccuracy"\n')
    after = engine.ask(QUESTION)
    assert after.evaluation and [one.metric_name for one in after.evaluation.metrics] == ["CitationAccuracy"]
    (root / "configs" / "evaluator.toml").write_text('[[metrics]]\nname = "Nonsense"\n')
    kept = engine.ask(QUESTION)
    assert kept.evaluation and [one.metric_name for one in kept.evaluation.metrics] == ["CitationAccuracy"]
    assert "evaluator_warning" in [one.code for one in kept.notices]


def test_no_judge_is_asked_that_nobody_named(gated: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment, set for another program, is no leave to send documents to a provider."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nothing")
    answer = gated().ask(QUESTION)
    assert answer.evaluation and answer.evaluation.metric_set == "default-local"


def test_what_judging_costs_counts_into_the_budget_x7(gated: MakeEngine) -> None:
    answer = gated(scored(80)).ask(QUESTION)
    assert answer.usage.calls == 5, "writer, reviewer, and a judge for each of three metrics"
