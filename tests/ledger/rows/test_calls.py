"""Calls to models with their texts: stored with their step, and erased by forgetting (SPEC X3)."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ledger.material import begin, bytes_of, fail, finish, make_answer, make_evidence, make_step
from veracity.errors import LostLeaseError
from veracity.ledger import Ledger, Observations, RunRecords
from veracity.models import CallMessage, Exchange, ModelCall, Usage

RARE = "zanzibarquartz"
USED = Usage(calls=1, input_tokens=90, cached_tokens=64, output_tokens=5, cost_usd=0.001)


def make_call(role: str = "writer", text: str = RARE) -> ModelCall:
    messages = [
        CallMessage(role="system", text="Be brief."),
        CallMessage(role="user", text=f"What about {text}?", cut=7),
    ]
    return ModelCall(
        role=role,
        model=f"test:{role}",
        started=datetime.now(UTC),
        seconds=0.5,
        usage=USED,
        texts=Exchange(prompt=messages, reply=CallMessage(role="assistant", text=f"{text}。"), problem=text),
    )


def run_with_call(
    ledger: Ledger, run_id: str, *calls: ModelCall, document: str = "d1", given: bool = True, **more: str
) -> None:
    token = begin(ledger, run_id, **more)
    ledger.keep_evidence(run_id, [make_evidence("p", document)], given=given)
    ledger.record(run_id, make_step(), token=token, model_calls=calls or [make_call()])
    finish(ledger, run_id, token)


def is_erased(ledger: Ledger, run_id: str) -> list[bool]:
    return [call.texts is None for call in ledger.calls(run_id)]


def test_calls_are_stored_with_their_step(ledger: Ledger) -> None:
    token, calls = begin(ledger, "r1"), [make_call("router"), make_call("writer", "年假"), make_call("judge", "\ud800")]
    ledger.record("r1", make_step(), token=token, model_calls=calls[:2], usage_by_role={"writer": USED})
    ledger.record("r1", make_step(), token=token, model_calls=calls[2:])
    stored = ledger.calls("r1")
    assert stored[:2] == calls[:2] and [call.role for call in stored] == ["router", "writer", "judge"]
    assert ledger.parameters("r1").usage_by_role == {"writer": USED}
    with pytest.raises(LostLeaseError):
        ledger.record("r1", make_step(), token=token + 1, model_calls=calls)
    assert len(ledger.calls("r1")) == 3


def test_the_calls_of_a_failing_step_are_stored(ledger: Ledger) -> None:
    token = begin(ledger, "r1")
    ledger.fail(
        "r1", "No.", token=token, usage=USED, seconds=1.0, usage_by_role={"judge": USED}, model_calls=[make_call()]
    )
    assert ([call.role for call in ledger.calls("r1")], ledger.parameters("r1").usage_by_role) == (
        ["writer"],
        {"judge": USED},
    )
    fail(ledger, "r1")
    assert len(ledger.calls("r1")) == 1


@pytest.mark.parametrize("given", [True, False])
def test_forgetting_a_document_erases_prompts_to_the_last_byte(ledger: Ledger, tmp_path: Path, given: bool) -> None:
    """Also if no writer got the document: a rewriter's prompt holds what was retrieved."""
    run_with_call(ledger, "r1", *(make_call() for _ in range(50)), given=given)
    run_with_call(ledger, "r2", make_call(text="another"), document="d2")
    assert bytes_of(tmp_path).count(RARE.encode()) >= 150
    ledger.forget_documents(["d1"])
    assert is_erased(ledger, "r1") == [True] * 50 and is_erased(ledger, "r2") == [False]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    kept = ledger.calls("r1")[0]
    assert (kept.role, kept.model, kept.usage, kept.seconds) == ("writer", "test:writer", USED, 0.5)


def test_forgetting_a_conversation_erases_prompts_to_the_last_byte(ledger: Ledger, tmp_path: Path) -> None:
    for number in range(3):
        run_with_call(ledger, f"r{number}", conversation="c")
    run_with_call(ledger, "other", make_call(text="another"), conversation="d")
    ledger.forget_conversation("ann", "c")
    assert [is_erased(ledger, f"r{number}") for number in range(3)] == [[True]] * 3
    assert is_erased(ledger, "other") == [False]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_forgetting_an_earlier_turn_erases_the_prompts_of_later_ones(ledger: Ledger, tmp_path: Path) -> None:
    """They hold the conversation."""
    token = begin(ledger, "r1", conversation="c")
    ledger.keep_evidence("r1", [make_evidence("p", "d1")], given=True)
    ledger.finish(make_answer("r1", [make_evidence("p", "d1")], RARE), RunRecords(), token=token)
    run_with_call(ledger, "r2", make_call("router"), document="d2", conversation="c")
    ledger.forget_documents(["d1"])
    assert is_erased(ledger, "r2") == [True]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_weak_points_of_a_forgotten_conversation_leave_the_prompts_of_rewriters(ledger: Ledger, tmp_path: Path) -> None:
    """A rewriter's prompt names questions of the user from any conversation."""
    run_with_call(ledger, "before", make_call("rewriter", "earlier"))
    token = begin(ledger, "weak", RARE, conversation="c")
    finish(ledger, "weak", token, weak_point="low_score")
    run_with_call(ledger, "later", make_call("rewriter"), make_call("writer", "another"), document="d2")
    run_with_call(ledger, "bert's", make_call("rewriter", "another"), user="bert")
    under_way = begin(ledger, "under way")
    ledger.forget_conversation("ann", "c")
    ledger.record(
        "under way", make_step(), token=under_way, model_calls=[make_call("rewriter"), make_call("writer", "x")]
    )
    assert is_erased(ledger, "later") == is_erased(ledger, "under way") == [True, False]
    assert is_erased(ledger, "before") == is_erased(ledger, "bert's") == [False]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    run_with_call(ledger, "new", make_call("rewriter", "new"))
    assert is_erased(ledger, "new") == [False]


@pytest.mark.parametrize("ending", ["record", "fail"])
def test_what_a_run_read_before_is_erased_on_arrival(ledger: Ledger, tmp_path: Path, ending: str) -> None:
    token = begin(ledger, "r1")
    ledger.keep_evidence("r1", [make_evidence("p", "d1")], given=True)
    ledger.forget_documents(["d1"])
    if ending == "record":
        ledger.record("r1", make_step(), token=token, model_calls=[make_call()])
    else:
        ledger.fail("r1", "No.", token=token, usage=USED, seconds=1.0, model_calls=[make_call()])
    assert is_erased(ledger, "r1") == [True]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_a_passage_that_arrives_after_its_document_was_forgotten_erases_earlier_prompts(
    ledger: Ledger, observations: Observations, tmp_path: Path
) -> None:
    token = begin(ledger, "r1")
    ledger.forget_documents(["d1"])
    ledger.record("r1", make_step(), token=token, model_calls=[make_call()])
    ledger.keep_evidence("r1", [make_evidence("p", "d1")], given=False)
    ledger.deliver(observations)
    assert is_erased(ledger, "r1") == [True]
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
