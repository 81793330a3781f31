"""Receipts show what each role consumed and, with `receipts.prompts`, the prompts (SPEC X3)."""

import contextlib
import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from veracity.engine import Veracity
from veracity.errors import ModelAccessError, ShutdownError
from veracity.ledger import Ledger
from veracity.models import Document, Receipt, Usage
from veracity.runs import runner
from veracity.testing import ScriptedLLM

PROMPTS = {"prompts": True}
VAULT = "The vault opens with the word Zarquon. Nobody else knows it."
ASK_VAULT = "With which word does the vault open?"


def redrafting() -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=[fail("It is 25 days."), PASS], judge=judged(95))


def roles(receipt: Receipt) -> list[str]:
    return [call.role for call in receipt.calls]


def texts(receipt: Receipt) -> str:
    return " ".join(call.texts.model_dump_json() for call in receipt.calls if call.texts)


def ledger_bytes(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (root / "ledger").rglob("*") if path.is_file())


def test_x3_usage_by_role_adds_up_to_the_usage(engine_with: MakeEngine) -> None:
    llm = redrafting()
    engine = engine_with(llm)
    receipt = engine.receipt(engine.ask(QUESTION).run_id)
    made = {role: sum(call.role == role for call in llm.calls) for role in ("writer", "reviewer", "judge")}
    assert {role: used.calls for role, used in receipt.usage_by_role.items()} == made
    assert sum(receipt.usage_by_role.values(), Usage()) == receipt.usage
    assert receipt.calls == []


def test_x3_a_failed_call_that_used_tokens_counts_for_its_role(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer={"passed": "perhaps"}))
    receipt = engine.receipt(engine.ask(QUESTION).run_id)
    assert receipt.drafts[0].review and receipt.drafts[0].review.outcome == "not_reviewed"
    assert receipt.usage_by_role["reviewer"].calls > 1 and receipt.usage_by_role["reviewer"].input_tokens > 0


@pytest.mark.parametrize("prompts", [True, False])
def test_d6_usage_by_role_survives_a_resume(gated: MakeEngine, prompts: bool) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(40))
    run_id = gated(llm, receipts={"prompts": prompts}).ask(QUESTION).run_id
    other = gated(llm, receipts={"prompts": prompts})
    before = other.receipt(run_id)
    other.decide(before.approvals[0].approval_id, "reject", by="bob", reason="No.")
    after = other.receipt(run_id)
    assert before.usage_by_role and after.usage_by_role == before.usage_by_role
    assert after.calls == before.calls and bool(after.calls) == prompts
    assert sum(after.usage_by_role.values(), Usage()) == after.usage


def test_x3_prompts_and_replies_are_kept_with_the_setting(engine_with: MakeEngine) -> None:
    llm = redrafting()
    engine = engine_with(llm, receipts=PROMPTS)
    receipt = engine.receipt(engine.ask(QUESTION).run_id)
    assert roles(receipt) == [call.role for call in llm.calls]
    for kept, call in zip(receipt.calls, llm.calls, strict=True):
        assert kept.texts and kept.texts.reply
        assert [(sent.role, sent.text) for sent in kept.texts.prompt] == [tuple(message) for message in call.messages]
        assert (kept.model, kept.usage.calls) == (call.model, 1)
    assert sum((call.usage for call in receipt.calls), Usage()) == receipt.usage
    first = receipt.calls[0].texts
    assert first and first.reply and first.reply.text == WRONG


def test_x3_without_the_setting_no_prompt_is_stored(engine_with: MakeEngine, root: Path) -> None:
    """A phrase of the instructions is in every prompt and in nothing else."""
    llm = redrafting()
    engine = engine_with(llm)
    run_id = engine.ask(QUESTION).run_id
    assert engine.receipt(run_id).calls == []
    engine.close()
    judges = next(call.instructions for call in llm.calls if call.role == "judge").encode()
    reviewers = next(call.instructions for call in llm.calls if call.role == "reviewer").encode()
    assert judges[:60] not in ledger_bytes(root) and reviewers[:60] not in ledger_bytes(root)
    kept = engine_with(redrafting(), receipts=PROMPTS)
    kept.ask(QUESTION)
    kept.close()
    assert reviewers[:60] in ledger_bytes(root)


def test_x3_prompts_hide_keys(engine_with: MakeEngine, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "wombat-and-quokka")
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS), receipts=PROMPTS)
    engine.add(Document(id="leak", text="Annual leave of full-time staff: the key is wombat-and-quokka. 25 days."))
    receipt = engine.receipt(engine.ask("How many days of annual leave, and which key?").run_id)
    assert "25 days" in texts(receipt) and "wombat-and-quokka" not in texts(receipt)


def test_x3_the_calls_of_a_failing_step_are_kept(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=ModelAccessError("No."), reviewer=PASS), receipts=PROMPTS)
    with pytest.raises(ModelAccessError):
        engine.ask(QUESTION)
    (call,) = engine.receipt("last").calls
    assert call.texts and (call.role, call.texts.problem, call.texts.reply) == ("writer", "No.", None)


def test_x3_the_calls_of_a_step_that_breaks_are_kept(engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run fails without a step."""
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS), receipts=PROMPTS)
    monkeypatch.setattr("veracity.graph.answer.DraftFacts", lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        engine.ask(QUESTION)
    receipt = engine.receipt("last")
    assert (roles(receipt), receipt.run.status, receipt.usage_by_role["writer"].calls) == (["writer"], "failed", 1)


def test_d6_calls_are_stored_once_by_the_next_process(engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second process ends after a checkpoint, before its step is stored."""
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=[fail("It is 25 days."), PASS])
    engine = engine_with(llm, receipts=PROMPTS)
    turns, record = itertools.count(1), Ledger.record

    def record_every_second_time(ledger: Ledger, *args: Any, **options: Any) -> None:
        if next(turns) % 2:
            raise ShutdownError("The process ends.")
        record(ledger, *args, **options)

    monkeypatch.setattr(Ledger, "record", record_every_second_time)
    monkeypatch.setattr(runner, "MAX_LEASES", 100)
    run_id = engine.begin(QUESTION)
    for _ in range(60):
        with contextlib.suppress(ShutdownError):
            list(engine.resume(run_id))
    receipt = engine.receipt(run_id)
    assert receipt.run.status == "answered"
    assert roles(receipt) == [call.role for call in llm.calls] == ["writer", "reviewer", "writer", "reviewer"]


@pytest.fixture
def vault(engine_with: MakeEngine) -> Veracity:
    answer = "The vault opens with the word Zarquon. [1]"
    engine = engine_with(ScriptedLLM.by_role(writer=answer, reviewer=PASS, judge=judged(95)), receipts=PROMPTS)
    engine.add(Document(id="secret", text=VAULT))
    return engine


def test_x3_forgetting_a_document_removes_it_from_prompts(vault: Veracity, root: Path) -> None:
    run_id = vault.ask(ASK_VAULT).run_id
    assert "Zarquon" in texts(vault.receipt(run_id)) and b"Zarquon" in ledger_bytes(root)
    vault.forget("secret")
    receipt = vault.receipt(run_id)
    assert receipt.calls and all(call.texts is None for call in receipt.calls)
    assert receipt.usage_by_role["writer"].calls == 1
    assert "Zarquon" not in vault.receipt_html(run_id)
    vault.close()
    assert b"Zarquon" not in ledger_bytes(root)


def test_x3_forgetting_a_conversation_removes_it_from_prompts(vault: Veracity, root: Path) -> None:
    run_ids = [vault.ask(question, conversation="c").run_id for question in (ASK_VAULT, f"Really? {ASK_VAULT}")]
    vault.forget_conversation("c")
    assert all(call.texts is None for run_id in run_ids for call in vault.receipt(run_id).calls)
    vault.close()
    assert b"Zarquon" not in ledger_bytes(root) and b"the vault" not in ledger_bytes(root)


@pytest.mark.parametrize("step", ["prepare_messages", "generate_answer", "eval_answer"])
def test_x3_forgetting_reaches_the_prompts_of_a_run_under_way(vault: Veracity, root: Path, step: str) -> None:
    events = vault.stream(ASK_VAULT)
    event = next(events)
    while not (event.kind == "finished" and event.name == step):
        event = next(events)
    vault.forget("secret")
    assert b"Zarquon" not in ledger_bytes(root)
    with contextlib.suppress(Exception):
        list(events)
    receipt = vault.receipt(event.run_id)
    assert "Zarquon" not in receipt.model_dump_json()
    assert all(call.texts is None for call in receipt.calls)
