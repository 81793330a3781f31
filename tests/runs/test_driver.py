"""Steps are stored before they are shown, once and in order, whenever a process ends (SPEC X3, D6)."""

import contextlib
import itertools
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG
from veracity.errors import ModelAccessError, ShutdownError
from veracity.ledger import Ledger
from veracity.models import Step
from veracity.runs import runner
from veracity.testing import ScriptedLLM

TWO_SOURCES = {"sources": ["knowledge", "graph"]}


def redrafting() -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=PASS)


def names(steps: list[Step]) -> list[str]:
    return [step.name for step in steps]


def test_x3_a_step_is_stored_before_it_is_shown(engine_with: MakeEngine) -> None:
    """Another process sees every step that this one has shown."""
    engine, other = engine_with(redrafting(), retrieval=TWO_SOURCES), engine_with()
    shown: list[Step] = []
    for event in engine.stream("How many days of annual leave does Anna Meyer have?"):
        if event.step:
            shown.append(event.step)
            assert other.progress(event.run_id).steps[: len(shown)] == shown
    assert names(shown).count("retrieve") >= 2
    assert engine.receipt("last").steps == shown


def test_x3_a_step_that_fails_is_stored_before_it_is_shown(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=ModelAccessError("No."), reviewer=PASS))
    shown: list[Step] = []
    with pytest.raises(ModelAccessError):
        for event in engine.stream(QUESTION):
            if event.step:
                shown.append(event.step)
                assert engine.progress(event.run_id).steps[: len(shown)] == shown
    assert shown[-1].name == "generate_answer"
    assert "No" in shown[-1].facts.problem
    assert engine.receipt("last").steps == shown


def test_d6_steps_that_were_not_stored_are_stored_by_the_next_process(
    engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every process ends after a checkpoint, before its step is stored."""
    engine = engine_with(ScriptedLLM.by_role(writer=[WRONG, GOOD, WRONG, GOOD], reviewer=PASS))
    expected = names(engine.receipt(engine.ask(QUESTION).run_id).steps)
    calls, record = itertools.count(1), Ledger.record

    def record_every_second_time(ledger: Ledger, *args: Any, **options: Any) -> None:
        if next(calls) % 2:
            raise ShutdownError("The process ends.")
        record(ledger, *args, **options)

    monkeypatch.setattr(Ledger, "record", record_every_second_time)
    monkeypatch.setattr(runner, "MAX_LEASES", 100)
    run_id, shown = engine.begin(QUESTION), list[Step]()
    for _ in range(2 * len(expected)):
        with contextlib.suppress(ShutdownError):
            for event in engine.resume(run_id):
                shown += [event.step] if event.step else []
    assert next(calls) > len(expected)
    assert names(shown) == expected
    receipt = engine.receipt(run_id)
    assert receipt.steps == shown
    assert receipt.run.status == "answered"
