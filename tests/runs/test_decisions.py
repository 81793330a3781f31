"""Decisions on approvals (SPEC D6–D8): every path through the gate, with the real graph, ledger and a loopback server.

The flows and test cases are those of SPEC part D.
"""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.runs.websites import SearchServer
from veracity.engine import Veracity
from veracity.errors import DecidedError, InputError, ModelAnswerError, ModelUnreachableError, SupersededError
from veracity.models import Document
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

WEB = "Full-time staff have 26 days of paid annual leave a year."
FROM_WEB = f"{WEB} [1]"
NOT_SEARCHED = "The answer to this question was rejected. The web was not searched, and no better answer was found."
SEARCHED = "The answer to this question was rejected. A web search was tried, and no better answer was found."


def script(*scores: float, writer: Any = None) -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=writer or [GOOD, FROM_WEB], reviewer=PASS, judge=judged(*scores))


def observations(root: Path) -> list[dict[str, Any]]:
    path = root / "observational_data.json"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def step_names(engine: Veracity, run_id: str) -> list[str]:
    return [step.name for step in engine.receipt(run_id).steps]


class TestDecision:
    def test_an_approved_draft_is_the_answer(self, gated: MakeEngine, root: Path) -> None:
        engine = gated(script(30))
        waiting = engine.ask(QUESTION)
        assert observations(root) == []
        answer = engine.decide(waiting.approval_id, "approve", by="ana")
        assert (answer.status, answer.text, answer.attempt) == ("answered", GOOD, 1)
        assert [(decision.verdict, decision.by) for decision in answer.decisions] == [("approve", "ana")]
        assert "approved" in [notice.code for notice in answer.notices]
        assert engine.approvals() == [] and engine.runs()[0].status == "answered"
        assert [record["output"] for record in observations(root)] == [GOOD]

    def test_x1_the_sentences_of_an_edit_are_checked(self, gated: MakeEngine) -> None:
        engine = gated(script(30))
        edit = "Full-time staff have 25 days of paid annual leave a year. [1] They may also fly to the moon."
        answer = engine.decide(engine.ask(QUESTION).approval_id, "approve", edit=edit)
        assert (answer.status, answer.form, answer.text) == ("answered", "edited", edit)
        assert [sentence.supported for sentence in answer.sentences] == [True, False]
        assert {"edited", "unsupported"} <= {notice.code for notice in answer.notices}

    def test_d9_a_rejection_without_web_search_adds_a_notice(self, gated: MakeEngine, root: Path) -> None:
        engine = gated(script(30))
        answer = engine.decide(engine.ask(QUESTION).approval_id, "reject", reason="Out of date.")
        assert (answer.status, answer.text) == ("rejected", NOT_SEARCHED)
        assert [notice.code for notice in answer.notices] == ["web_not_configured", "rejected"]
        assert answer.decisions[0].reason == "Out of date."
        receipt = engine.receipt(answer.run_id)
        assert receipt.web[0].problem.startswith("Web search is not configured")
        assert observations(root) == []

    @pytest.mark.parametrize(
        ("verdict", "options", "error"),
        [
            ("maybe", {}, "approve"),
            ("reject", {"edit": "x"}, "Only an approved draft"),
            ("approve", {"edit": "  "}, "empty"),
            ("approve", {"edit": "x" * 20_001}, "20,001"),
        ],
    )
    def test_an_invalid_decision_changes_nothing(
        self, gated: MakeEngine, verdict: Any, options: dict[str, Any], error: str
    ) -> None:
        engine = gated(script(30))
        approval_id = engine.ask(QUESTION).approval_id
        with pytest.raises(InputError, match=error):
            engine.decide(approval_id, verdict, **options)
        assert engine.approvals()[0].approval_id == approval_id

    def test_only_the_first_decision_counts(self, gated: MakeEngine) -> None:
        engine = gated(script(30))
        approval_id = engine.ask(QUESTION).approval_id
        engine.decide(approval_id, "approve", by="ana", key="k1")
        with pytest.raises(DecidedError, match="ana"):
            engine.decide(approval_id, "reject", by="bo")
        again = engine.decide(approval_id, "approve", by="ana", key="k1")
        assert again.status == "answered" and len(again.decisions) == 1

    def test_d6_a_decision_on_another_draft_is_refused(self, gated: MakeEngine) -> None:
        engine = gated(script(30))
        approval_id = engine.ask(QUESTION).approval_id
        with pytest.raises(SupersededError):
            engine.decide(approval_id, "approve", draft_hash="0" * 64)
        assert engine.decide(approval_id, "approve", draft_hash=engine.approval(approval_id).draft_hash)

    def test_x3_a_draft_whose_document_was_forgotten_cannot_be_approved(self, gated: MakeEngine, root: Path) -> None:
        engine = gated(script(30))
        approval_id = engine.ask(QUESTION).approval_id
        engine.forget("leave")
        assert engine.approvals() == []
        with pytest.raises((SupersededError, DecidedError)):
            engine.decide(approval_id, "approve")
        assert engine.runs()[0].status == "failed"
        assert not any(
            b"25 days of paid" in path.read_bytes() for path in (root / "ledger").iterdir() if path.is_file()
        )

    def test_forgetting_another_document_keeps_the_approval_pending(self, gated: MakeEngine) -> None:
        engine = gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(30)), answering={"evidence": 1})
        approval_id = engine.ask(QUESTION).approval_id
        engine.forget("年假")
        assert engine.decide(approval_id, "approve").text == GOOD


class TestFlows:
    """The three flows of SPEC."""

    def test_d8_after_a_rejection_a_high_scoring_web_answer_is_released(
        self, gated: MakeEngine, website: SearchServer, root: Path
    ) -> None:
        website.finds(WEB)
        engine = gated(script(30, 90), web=website.settings)
        waiting = engine.ask(QUESTION)
        assert engine.approvals()[0].on_reject == "search"
        answer = engine.decide(waiting.approval_id, "reject", reason="I think it changed.")
        assert (answer.status, answer.text, answer.attempt, answer.score) == ("answered", FROM_WEB, 2, 0.9)
        [evidence] = answer.evidence
        assert evidence.source == "web" and evidence.location.startswith("https://site1.example")
        assert evidence.metadata.model_dump()["retrieved"]
        assert website.asked == [QUESTION] and engine.approvals() == []
        steps = step_names(engine, answer.run_id)
        assert steps[steps.index("human_approval") :] == [
            *("human_approval", "web_search", "prepare_messages", "generate_answer", "eval_answer"),
            *("settle_answer", "evaluate"),
        ]
        assert [(record["output"], record["attempt"]) for record in observations(root)] == [(FROM_WEB, 2)]

    def test_d7_two_rejections_end_without_an_answer(
        self, gated: MakeEngine, website: SearchServer, root: Path
    ) -> None:
        website.finds(WEB)
        engine = gated(script(30, 40), web=website.settings)
        first = engine.ask(QUESTION)
        second = engine.decide(first.approval_id, "reject")
        assert second.status == "awaiting_approval" and second.approval_id == f"{first.run_id}.2"
        [approval] = engine.approvals()
        assert (approval.attempt, approval.on_reject, approval.draft.text) == (2, "searched", FROM_WEB)
        with pytest.raises(DecidedError):
            engine.decide(first.approval_id, "approve")
        answer = engine.decide(second.approval_id, "reject")
        assert (answer.status, answer.text) == ("rejected", SEARCHED)
        assert [notice.code for notice in answer.notices] == ["rejected"] and len(website.asked) == 1
        assert observations(root) == []

    def test_the_web_answer_can_be_approved(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds(WEB)
        engine = gated(script(30, 40), web=website.settings)
        second = engine.decide(engine.ask(QUESTION).approval_id, "reject")
        answer = engine.decide(second.approval_id, "approve")
        assert (answer.status, answer.text) == ("answered", FROM_WEB)
        assert [decision.verdict for decision in answer.decisions] == ["reject", "approve"]

    def test_a11_the_web_attempt_starts_fresh(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds(WEB)
        llm = script(30, 90)
        engine = gated(llm, web=website.settings)
        engine.decide(engine.ask(QUESTION).approval_id, "reject", reason="It changed.")
        last = [call for call in llm.calls if call.role == "writer"][-1]
        assert WEB in last.prompt and "It changed." in last.prompt
        assert [message.role for message in last.messages] == ["system", "user"], "no messages of the first attempt"
        assert "Up to 5 days may be carried over" not in last.prompt

    @pytest.mark.parametrize("broken", ["empty", "failing"])
    def test_d7_a_web_search_without_results_ends_without_an_answer(
        self, gated: MakeEngine, website: SearchServer, broken: str
    ) -> None:
        website.status = 200 if broken == "empty" else 500
        engine = gated(script(30), web=website.settings)
        answer = engine.decide(engine.ask(QUESTION).approval_id, "reject")
        assert (answer.status, answer.text) == ("rejected", SEARCHED)
        assert answer.notices[-1].code == "rejected" and answer.notices[-2].code in ("web_failed", "web_empty")

    def test_d7_an_abstaining_web_answer_ends_without_an_answer(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds("The annual leave of full-time staff is described in days elsewhere.")
        engine = gated(script(30, writer=[GOOD, "NO ANSWER: the documents do not say"]), web=website.settings)
        answer = engine.decide(engine.ask(QUESTION).approval_id, "reject")
        assert (answer.status, answer.text, answer.attempt) == ("rejected", SEARCHED, 1)
        assert "web_empty" in [notice.code for notice in answer.notices]


class TestCases:
    """The three test cases of SPEC, without a model."""

    def test_1_rejection_then_web_answer(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds("上海今天天气：晴，气温二十二度。")
        engine = gated(web=website.settings)
        waiting = engine.ask("检索上下文，上海今天天气", conversation="c")
        assert waiting.status == "awaiting_approval"
        answer = engine.decide(waiting.approval_id, "reject")
        assert answer.status in ("answered", "awaiting_approval") and answer.attempt == 2
        if answer.status == "awaiting_approval":  # the local evaluator may score lower than SPEC assumes
            answer = engine.decide(answer.approval_id, "approve")
        assert "二十二度" in answer.text and answer.evidence[0].source == "web"

    def test_2_two_rejections(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds("上海今天天气：晴，气温二十二度。")
        engine = gated(web=website.settings, approval={"threshold": 1.0, "policy": "always"})
        second = engine.decide(engine.ask("检索上下文，上海今天天气").approval_id, "reject")
        assert second.status == "awaiting_approval"
        answer = engine.decide(second.approval_id, "reject")
        assert answer.status == "rejected" and "已尝试搜索网络" in answer.text and "二十二度" not in answer.text
        assert answer.notices[-1].code == "rejected" and engine.approvals() == []

    def test_3_web_answer_passes_the_gate(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds("最新AI新闻：新模型于周三发布。")
        llm = ScriptedLLM.by_role(
            writer=["旧模型于去年发布。[1]", "新模型于周三发布。[1]"], reviewer=PASS, judge=judged(30, 85)
        )
        engine = gated(llm, web=website.settings)
        engine.add(Document(id="news", title="AI新闻", text="最新AI新闻：旧模型于去年发布。"))
        answer = engine.decide(engine.ask("检索上下文，最新AI新闻").approval_id, "reject")
        assert (answer.status, answer.score) == ("answered", 0.85) and "周三" in answer.text


class TestTurns:
    def test_d7_each_turn_has_its_own_web_search(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds(WEB)
        llm = script(30, 90, 30, 90, writer=[GOOD, FROM_WEB, GOOD, FROM_WEB])
        engine = gated(llm, web=website.settings)
        for turn in (1, 2):
            answer = engine.decide(engine.ask(QUESTION, conversation="c").approval_id, "reject")
            assert (answer.status, answer.text) == ("answered", FROM_WEB)
            assert len(website.asked) == turn

    def test_a_web_question_does_not_use_up_the_search_of_the_next_turn(
        self, gated: MakeEngine, website: SearchServer
    ) -> None:
        website.finds(WEB)
        llm = script(90, 30, 90, writer=[FROM_WEB, GOOD, FROM_WEB])
        engine = gated(llm, web=website.settings)
        first = engine.ask("Search the web: how many days of annual leave do staff have?", conversation="c")
        assert (first.route, first.status, first.text) == ("web", "answered", FROM_WEB)
        answer = engine.decide(engine.ask(QUESTION, conversation="c").approval_id, "reject")
        assert answer.status == "answered" and len(website.asked) == 2

    def test_a_rejected_web_answer_is_not_searched_again(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds(WEB)
        engine = gated(script(30, writer=[FROM_WEB]), web=website.settings)
        waiting = engine.ask("Search the web: how many days of annual leave do staff have?")
        assert engine.approvals()[0].on_reject == "searched"
        answer = engine.decide(waiting.approval_id, "reject")
        assert answer.status == "rejected" and len(website.asked) == 1

    def test_d1_a_turn_after_a_rejection_starts_fresh(self, gated: MakeEngine) -> None:
        llm = script(30, 90, writer=[GOOD, GOOD])
        engine = gated(llm)
        engine.decide(engine.ask(QUESTION, conversation="c").approval_id, "reject", reason="No.")
        answer = engine.ask(QUESTION, conversation="c")
        assert (answer.status, answer.attempt, answer.decisions) == ("answered", 1, [])
        assert [notice.code for notice in answer.notices if notice.code.startswith(("web", "rejected"))] == []
        last = [call for call in llm.calls if call.role == "writer"][-1]
        assert (
            "25 days"
            not in json.loads(last.prompt[last.prompt.index("{") : last.prompt.rindex("}") + 1])["conversation"][
                "turns"
            ][0]["answer"]
        ), "a rejected answer is not in later prompts"


class TestRejectedDraft:
    """SPEC D7: the rejected draft is not the answer. The receipt keeps it."""

    def test_d7_only_the_receipt_holds_the_draft(self, gated: MakeEngine) -> None:
        engine = gated(script(30))
        answer = engine.decide(engine.ask(QUESTION, conversation="c").approval_id, "reject")
        assert "25 days" not in answer.model_dump_json()
        assert (answer.form, answer.score, answer.review, answer.evaluation) == ("direct", None, None, None)
        assert not (answer.sentences or answer.evidence or answer.grounding or answer.missing)
        receipt = engine.receipt(answer.run_id)
        assert (receipt.answer, receipt.approvals[0].draft.text) == (answer, GOOD)
        assert [draft.text for draft in receipt.drafts] == [GOOD]
        assert [turn.answer for turn in engine.turns("c")] == [""]
        page = engine.receipt_html(receipt)
        assert page.index(NOT_SEARCHED) < page.index("<details") < page.index("25 days")  # folded
        assert "<details><summary>Rejected draft</summary>" in page

    @pytest.mark.parametrize(
        ("question", "words"),
        [("正式员工每年有多少天带薪年假？", "已被驳回"), ("正社員の有給休暇は年に何日ありますか。", "却下されました")],
    )
    def test_x5_the_text_is_in_the_language_of_the_question(self, gated: MakeEngine, question: str, words: str) -> None:
        engine = gated(approval={"policy": "always"})
        answer = engine.decide(engine.ask(question).approval_id, "reject")
        assert answer.status == "rejected" and words in answer.text

    def test_d4_a_rejected_draft_is_not_recalled(self, gated: MakeEngine) -> None:
        engine = gated(approval={"policy": "always"})
        engine.decide(engine.ask(QUESTION, conversation="c").approval_id, "reject")
        answer = engine.ask("What was your last answer?", conversation="c")
        assert (answer.status, answer.text) == ("answered", "This conversation has no answer yet.")

    def test_a_decision_without_progress_says_that_the_web_was_not_searched(
        self, gated: MakeEngine, root: Path
    ) -> None:
        engine = gated(script(30))
        waiting = engine.ask(QUESTION)
        engine.close()
        for path in (root / "ledger").glob("checkpoints.sqlite*"):
            path.unlink()
        answer = gated(script(30)).decide(waiting.approval_id, "reject")
        assert (answer.status, answer.text) == ("rejected", NOT_SEARCHED)
        assert [notice.code for notice in answer.notices] == ["progress_lost", "rejected"]

    def test_x3_forgetting_a_document_removes_a_reason_that_quotes_it(self, gated: MakeEngine, root: Path) -> None:
        engine = gated(approval={"policy": "always"})
        waiting = engine.ask(QUESTION)
        answer = engine.decide(waiting.approval_id, "reject", reason="25 days of paid leave is wrong.")
        engine.forget("leave")
        assert "25 days" not in engine.receipt(answer.run_id).model_dump_json()
        files = [path for path in (root / "ledger").iterdir() if path.is_file()]
        assert not any(b"25 days of paid" in path.read_bytes() for path in files)


DECIDER = """
import sys
from veracity import Veracity
with Veracity(sys.argv[1]) as engine:
    answer = engine.decide(sys.argv[2], sys.argv[3], by="elsewhere")
    print(answer.status, answer.text)
"""


def test_d6_another_process_can_decide(gated: MakeEngine, root: Path) -> None:
    (root / "veracity.toml").write_text('[models]\nembedder = "none"\n')
    engine = gated(approval={"policy": "always"})
    waiting = engine.ask(QUESTION)
    done = subprocess.run(
        [sys.executable, "-c", DECIDER, str(root), waiting.approval_id, "approve"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("answered ") and "25 days" in done.stdout
    assert engine.receipt(waiting.run_id).answer and engine.approvals() == []
    with pytest.raises(DecidedError, match="elsewhere"):
        engine.decide(waiting.approval_id, "approve")


def test_a_decision_counts_without_the_progress_of_the_run(gated: MakeEngine, root: Path) -> None:
    engine = gated(script(30))
    waiting = engine.ask(QUESTION)
    engine.close()
    for path in (root / "ledger").glob("checkpoints.sqlite*"):
        path.unlink()
    again = gated(script(30))
    answer = again.decide(waiting.approval_id, "approve", edit=f"{GOOD} Really.")
    assert (answer.status, answer.form, answer.text) == ("answered", "edited", f"{GOOD} Really.")
    assert again.receipt(answer.run_id).run.status == "answered"


def test_a_process_that_cannot_resume_the_run_decides_nothing(root: Path, gated: MakeEngine) -> None:
    """Everything that the run needs is loaded before the decision is stored."""
    waiting = gated(script(30)).ask(QUESTION)
    broken = Settings.model_validate({"models": {"embedder": "none", "writer": "nosuch:model"}})
    with Veracity(root, settings=broken) as other, pytest.raises(Exception, match="nosuch"):
        other.decide(waiting.approval_id, "approve")
    assert gated(script(30)).approval(waiting.approval_id).state == "pending"


class TestReleasedAnswer:
    """Texts and notices that an answer must not contain."""

    def test_a11_notices_of_a_rejected_attempt_are_dropped(self, gated: MakeEngine, website: SearchServer) -> None:
        website.finds(WEB)
        llm = ScriptedLLM.by_role(writer=[WRONG, FROM_WEB], reviewer=[fail("Say 25."), PASS], judge=judged(30, 90))
        engine = gated(llm, web=website.settings, answering={"gener_epoch": 0})
        answer = engine.decide(engine.ask(QUESTION).approval_id, "reject")
        assert (answer.status, answer.text) == ("answered", FROM_WEB)
        assert not {"review_failed", "evidence_weak", "not_scored"} & {notice.code for notice in answer.notices}

    @pytest.mark.parametrize("markup", ["<b></b>", "![](https://evil.example/)", "[a]: https://evil.example/"])
    def test_a_draft_of_only_markup_is_an_error(self, gated: MakeEngine, markup: str) -> None:
        engine = gated(script(90, writer=[markup]), approval={"policy": "always"})
        with pytest.raises(ModelAnswerError, match="only markup"):
            engine.ask(QUESTION)

    def test_a_writer_failure_after_the_web_search_has_its_own_notice(
        self, gated: MakeEngine, website: SearchServer
    ) -> None:
        website.finds(WEB)
        engine = gated(script(30, writer=[GOOD, ModelUnreachableError("It is down.")]), web=website.settings)
        answer = engine.decide(engine.ask(QUESTION).approval_id, "reject")
        assert (answer.status, answer.text) == ("rejected", SEARCHED)
        codes = [notice.code for notice in answer.notices]
        assert codes[-2:] == ["web_not_written", "rejected"] and "web_empty" not in codes

    def test_no_web_search_after_the_deadline(self, gated: MakeEngine, website: SearchServer) -> None:
        engine = gated(script(30), web=website.settings)
        waiting = engine.ask(QUESTION, deadline=60)
        with sqlite3.connect(engine._parts.workspace.ledger_folder / "ledger.sqlite") as connection:
            connection.execute("UPDATE runs SET seconds = 61")
        answer = engine.decide(waiting.approval_id, "reject")
        assert website.asked == [] and [notice.code for notice in answer.notices][-2:] == ["deadline", "rejected"]

    def test_an_edited_abstention_is_an_answer(self, gated: MakeEngine, website: SearchServer) -> None:
        engine = gated(web=website.settings)
        waiting = engine.ask("What does the company pay for a gym membership?")
        answer = engine.decide(waiting.approval_id, "approve", edit="The company pays nothing for it.")
        assert (answer.status, answer.form, answer.missing) == ("answered", "edited", [])

    def test_a12_an_edit_has_no_review_and_no_score(self, gated: MakeEngine, root: Path) -> None:
        """Whether the run is resumed or its progress is lost. The approval keeps the review of the draft."""
        engine = gated(script(30))
        waiting = [engine.ask(QUESTION).approval_id for _ in range(2)]
        answers = [engine.decide(waiting[0], "approve", edit="Staff may fly to the moon. [1]")]
        (root / "ledger" / "checkpoints.sqlite").unlink()
        engine.close()
        engine = gated(script(30))
        answers.append(engine.decide(waiting[1], "approve", edit="Staff may fly to the moon. [1]"))
        for answer in answers:
            assert (answer.review, answer.evaluation, answer.score) == (None, None, None)
            assert [notice.code for notice in answer.notices if notice.code in ("unsupported", "edited")]
            draft = engine.receipt(answer.run_id).approvals[0].draft
            assert draft.review and draft.score == pytest.approx(0.3)
        assert observations(root) == []


def _fail(*_: Any) -> None:
    raise IndexError


class TestResume:
    """Decided runs that could get stuck."""

    def test_unreadable_progress_is_ignored(self, gated: MakeEngine, root: Path) -> None:
        engine = gated(script(30))
        waiting = engine.ask(QUESTION)
        with sqlite3.connect(root / "ledger" / "checkpoints.sqlite") as connection:
            connection.execute("UPDATE checkpoints SET checkpoint = ?", (b"\x81\xa1a\xc1nonsense",))
        answer = engine.decide(waiting.approval_id, "approve")
        assert (answer.status, answer.text) == ("answered", GOOD)

    def test_a_failing_embedder_does_not_block_an_approved_answer(
        self, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = gated(script(30))
        waiting = engine.ask(QUESTION, conversation="c")

        def down(_: str) -> bytes:
            raise ModelUnreachableError("The embedder is down.")

        monkeypatch.setattr(engine._parts.context, "embed", down)
        assert engine.decide(waiting.approval_id, "approve").status == "answered"

    def test_a_run_that_cannot_be_resumed_blocks_no_question(
        self, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = gated(script(30))
        waiting = engine.ask(QUESTION)
        engine._parts.ledger.decide(waiting.approval_id, "approve", by="ana", key="k")
        monkeypatch.setattr("veracity.runs.driver.Driver.steps", _fail)
        with pytest.raises(IndexError):
            engine.decide(waiting.approval_id, "approve", by="ana", key="k")
        monkeypatch.undo()
        again = gated(script(90))
        assert again.ask(QUESTION).status == "answered"
        assert [run.status for run in again.runs()] == ["answered", "interrupted"]
        assert again.recover()[0].run_id == waiting.run_id
        assert again.receipt(waiting.run_id).run.status == "answered"

    def test_an_abandoned_run_is_resumed_by_another_process(self, gated: MakeEngine) -> None:
        engine, other = gated(script(30)), gated(script(30))
        waiting = engine.ask(QUESTION)
        decided = engine._parts.ledger.decide(waiting.approval_id, "approve", by="ana")
        begun = engine._parts.runner.carry_out(decided)
        next(begun)  # it has started …
        begun.close()  # type: ignore[attr-defined] # … and stops
        assert other._parts.runner.recover()[0].status == "answered"

    def test_x3_forgetting_during_a_run_leaves_no_bytes(self, gated: MakeEngine, root: Path) -> None:
        other = gated()

        def forget_and_write(_: Any) -> str:
            other.forget("leave")
            return GOOD

        engine = gated(script(30, writer=[forget_and_write]))
        with pytest.raises(SupersededError):
            engine.ask(QUESTION)
        files = [path for path in (root / "ledger").iterdir() if path.is_file()]
        assert not any(b"25 days of paid" in path.read_bytes() for path in files)

    def test_user_names_with_invalid_unicode_are_refused(self, gated: MakeEngine) -> None:
        with pytest.raises(InputError):
            gated(script(90)).ask(QUESTION, user="u\ud800")
