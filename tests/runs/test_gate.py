"""The gate (SPEC D5, A14, A15): an answer that fails a check, or that could not be checked, needs approval."""

from pathlib import Path
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import DOCUMENTS, GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.runs.websites import SearchServer
from veracity.engine import Veracity
from veracity.errors import ModelUnreachableError
from veracity.evaluator.metrics.citation_accuracy import CitationAccuracy
from veracity.evaluator.metrics.groundedness import Groundedness
from veracity.models import EvaluationRequest, MetricScore
from veracity.models.steps import ScoreStep
from veracity.settings import ModelSettings, Settings
from veracity.testing import ScriptedLLM

FAULTY = {
    "a wrong number": WRONG,
    "no citation": "Full-time staff have 40 days of paid annual leave a year.",
    "a mark that names nothing": "Full-time staff have 40 days of paid annual leave a year. [99]",
    "an invented claim": "Staff may return any product within 90 days for cash. [1]",
}
# It passes its review: only a fault of which code is sure fails a draft that the model passes.
VAGUE = "Permanent colleagues enjoy generous free holidays. [1]"


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


@pytest.mark.parametrize("score", [74.99999, 74.9999999, 74.99999999999999])
def test_d5_a_score_is_not_rounded_up_to_the_threshold(gated: MakeEngine, score: float) -> None:
    engine = gated(scored(score))
    assert engine.ask(QUESTION).status == "awaiting_approval"
    draft = engine.approvals()[0].draft
    assert draft.score is not None
    assert draft.score < 0.75


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
    assert answer.usage.calls == 3, "writer, reviewer, and a judge for three metrics"


def test_b12_metrics_are_asked_one_by_one_if_batches_are_off(gated: MakeEngine) -> None:
    verdict = {"reason": "Because.", "score": 80}
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=verdict)
    answer = gated(llm, evaluator={"batch": False}).ask(QUESTION)
    assert (answer.usage.calls, answer.score) == (5, 0.8)


class TestFailedReview:
    """SPEC A14: a failed review waits for a person whatever the score."""

    @pytest.mark.parametrize("draft", FAULTY.values(), ids=FAULTY.keys())
    @pytest.mark.parametrize("judge", [100, None])
    def test_a14_code_fails_a_draft_that_reviewer_and_judge_praise(
        self, gated: MakeEngine, draft: str, judge: float | None
    ) -> None:
        roles = {} if judge is None else {"judge": judged(judge)}
        engine = gated(ScriptedLLM.by_role(writer=draft, reviewer=PASS, **roles))
        assert engine.ask(QUESTION).status == "awaiting_approval"
        [approval] = engine.approvals()
        assert (approval.why, approval.draft.text) == ("review_failed", draft)
        assert approval.draft.review
        assert not approval.draft.review.passed
        assert approval.draft.notices[0].code == "review_failed"
        if judge is not None:
            assert approval.draft.score == 1.0

    @pytest.mark.parametrize("roles", [{}, {"judge": judged(100)}], ids=["local metrics", "a judge"])
    def test_a14_the_reviewer_fails_a_correct_draft_four_times(self, gated: MakeEngine, roles: dict[str, Any]) -> None:
        drafts = [GOOD, f"{GOOD} ", f"{GOOD}  ", f"{GOOD}   "]
        llm = ScriptedLLM.by_role(writer=drafts, reviewer=fail("Say it better.", confidence=1.0), **roles)
        engine = gated(llm)
        answer = engine.ask(QUESTION)
        assert (answer.status, engine.approvals()[0].why) == ("awaiting_approval", "review_failed")
        assert "failed its review" in answer.text
        released = engine.decide(answer.approval_id, "approve")
        assert (released.status, released.notices[0].code) == ("answered", "review_failed")

    def test_a7_a_fail_with_low_confidence_does_not_count(self, gated: MakeEngine) -> None:
        answer = gated(scored(100, reviewer=fail("Perhaps.", confidence=0.4))).ask(QUESTION)
        assert answer.status == "answered"
        assert answer.review
        assert answer.review.outcome == "doubtful"

    @pytest.mark.parametrize("approval", [{"policy": "never"}, {"on_failed_review": False}])
    def test_a14_a_release_says_first_that_the_review_failed(self, gated: MakeEngine, approval: dict[str, Any]) -> None:
        llm = scored(100, reviewer=fail("Say it better."))
        answer = gated(llm, approval=approval, answering={"gener_epoch": 0}).ask(QUESTION)
        assert (answer.status, answer.text, answer.notices[0].code) == ("answered", GOOD, "review_failed")

    def test_a14_a_web_answer_waits_too(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds("Full-time staff have 26 days of paid annual leave a year.")
        llm = scored(30, 100, writer=[GOOD, WRONG])
        engine = gated(llm, web=website.settings, answering={"gener_epoch": 0})
        answer = engine.decide(engine.ask(QUESTION).approval_id, "reject")
        assert (answer.status, answer.attempt) == ("awaiting_approval", 2)
        [approval] = engine.approvals()
        assert (approval.why, approval.on_reject, approval.draft.score) == ("review_failed", "searched", 1.0)


class TestGroundingFloor:
    """SPEC A15: Groundedness and CitationAccuracy are always computed, outside the score."""

    def test_a15_a_judge_does_not_outweigh_missing_grounding(self, gated: MakeEngine) -> None:
        engine = gated(scored(100, writer=VAGUE))
        assert engine.ask(QUESTION).status == "awaiting_approval"
        [approval] = engine.approvals()
        draft = approval.draft
        assert draft.evaluation and draft.review and draft.review.passed
        assert (approval.why, draft.score, draft.evaluation.overall_score) == ("low_grounding", 1.0, 100)
        assert [metric.metric_name for metric in draft.evaluation.metrics] == [
            "ClarityCoherence",
            "Coverage",
            "Relevance",
        ]
        assert [check.metric_name for check in draft.grounding] == ["Groundedness", "CitationAccuracy"]
        assert min(check.score for check in draft.grounding) < 50

    def test_a15_the_receipt_shows_the_checks_and_the_floor(self, gated: MakeEngine) -> None:
        engine = gated(scored(100, writer=VAGUE))
        receipt = engine.receipt(engine.ask(QUESTION).run_id)
        [scoring] = receipt.scorings
        assert [check.metric_name for check in scoring.grounding] == ["Groundedness", "CitationAccuracy"]
        assert scoring.grounding_floor == 0.5
        facts = next(step.facts for step in receipt.steps if isinstance(step, ScoreStep))
        assert facts.grounding == min(check.score for check in scoring.grounding) / 100

    def test_a15_a_grounded_answer_passes(self, gated: MakeEngine) -> None:
        answer = gated(scored(100)).ask(QUESTION)
        assert (answer.status, [check.score for check in answer.grounding]) == ("answered", [100, 100])

    @pytest.mark.parametrize(("floor", "status"), [(0.0, "answered"), (1.0, "awaiting_approval")])
    def test_a15_the_floor_is_a_setting(self, gated: MakeEngine, floor: float, status: str) -> None:
        assert gated(scored(100, writer=VAGUE), approval={"grounding_floor": floor}).ask(QUESTION).status == status

    def test_a15_with_policy_never_a_notice_says_so(self, gated: MakeEngine) -> None:
        answer = gated(scored(100, writer=VAGUE), approval={"policy": "never"}).ask(QUESTION)
        assert (answer.status, answer.notices[-1].code) == ("answered", "low_grounding")

    def test_a15_the_checks_are_computed_though_the_judge_fails(self, gated: MakeEngine) -> None:
        engine = gated(scored(judge=ModelUnreachableError("The judge is down.")))
        engine.ask(QUESTION)
        [approval] = engine.approvals()
        assert approval.why == "not_scored"
        assert [check.score for check in approval.draft.grounding] == [100, 100]

    def test_a15_configured_checks_are_computed_once(self, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        computed: list[str] = []
        for metric in (Groundedness, CitationAccuracy):

            def count(self: Any, request: EvaluationRequest, original: Any = metric.evaluate) -> MetricScore:
                computed.append(type(self).__name__)
                return original(self, request)  # type: ignore[no-any-return]

            monkeypatch.setattr(metric, "evaluate", count)
        answer = gated().ask(QUESTION)
        assert sorted(computed) == ["CitationAccuracy", "Groundedness"]
        assert [check.metric_name for check in answer.grounding] == ["Groundedness", "CitationAccuracy"]


@pytest.mark.parametrize("embedder", ["none", "bundled"])
def test_a_rule_for_another_group_is_not_released_x2(tmp_path: Path, embedder: str) -> None:
    """The documents have the leave of full-time staff only."""
    with Veracity(tmp_path / "workspace", settings=Settings(models=ModelSettings(embedder=embedder))) as engine:
        engine.add(DOCUMENTS)
        answer = engine.ask("How many days of annual leave do part-time staff have?")
    assert answer.status in ("abstained", "awaiting_approval")
