"""Steps: one model per node, told apart by name, with the JSON of earlier versions (SPEC X3)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from veracity.graph.build import NODES
from veracity.models import RunEvent, Step, load_step
from veracity.models.steps import (
    ERASED_TEXT,
    STEP_TYPES,
    DraftFacts,
    DraftStep,
    DraftTexts,
    Facts,
    GradeStep,
    PrepareStep,
    WebSearchStep,
)

STARTED = "2026-11-16T05:57:10.123456Z"


def stored(name: str, facts: dict[str, Any], texts: dict[str, Any] | None) -> dict[str, Any]:
    return {"name": name, "started": STARTED, "seconds": 0.25, "facts": facts, "texts": texts}


def test_every_node_has_a_step() -> None:
    assert set(STEP_TYPES) == {node.__name__ for node in NODES}


@pytest.mark.parametrize("name", STEP_TYPES)
@pytest.mark.parametrize("texts", [{}, None])
def test_x3_a_failed_node_reports_only_its_problem(name: str, texts: dict[str, Any] | None) -> None:
    data = stored(name, {"problem": "The disk is full."}, texts)
    step = load_step(data)
    assert type(step) is STEP_TYPES[name] and step.facts.problem == "The disk is full."
    assert json.loads(step.model_dump_json()) == data


def test_x3_unknown_facts_of_another_version_are_kept() -> None:
    data = stored("prepare_messages", {"attempt": 2, "from": "web", "evidence": ["a"], "later": {"x": [1]}}, {"y": "z"})
    step = load_step(data)
    assert isinstance(step, PrepareStep) and (step.facts.attempt, step.facts.evidence_from) == (2, "web")
    assert json.loads(step.model_dump_json()) == data


def test_an_unknown_node_is_an_error() -> None:
    with pytest.raises(ValidationError, match="make_coffee"):
        load_step(stored("make_coffee", {}, {}))


def test_only_fields_that_were_set_are_serialized() -> None:
    facts = DraftFacts(epoch=0, abstains=False)
    step = DraftStep(started=datetime.now(UTC), seconds=0, facts=facts, texts=DraftTexts(draft="So."))
    dumped = json.loads(step.model_dump_json())
    assert (dumped["facts"], dumped["texts"]) == ({"epoch": 0, "abstains": False}, {"draft": "So."})


def test_x3_forgetting_erases_texts_and_the_wording_of_problems() -> None:
    facts = {"attempt": 1, "provider": "searxng", "outcome": "The page says: secret.", "evidence": ["a"]}
    step = load_step(stored("web_search", facts, {"query": "secret"}))
    erased = step.erase()
    assert isinstance(erased, WebSearchStep)
    assert (erased.texts, erased.facts.outcome, erased.facts.provider) == (None, ERASED_TEXT, "searxng")
    assert "problem" not in erased.facts.model_fields_set and "secret" not in erased.model_dump_json()
    assert step.erase(texts=False).texts == step.texts


def test_an_outcome_of_ours_survives_forgetting() -> None:
    step = load_step(stored("rewrite_query", {"outcome": "no new query to try"}, {}))
    assert step.erase().facts == step.facts


def test_texts_are_hidden_from_readers_who_may_not_see_drafts() -> None:
    step = load_step(stored("generate_answer", {"epoch": 0}, {"draft": "So."}))
    assert json.loads(step.hide_texts().model_dump_json())["texts"] == {}


@pytest.mark.parametrize("step_type", STEP_TYPES.values(), ids=STEP_TYPES)
def test_every_fact_that_may_quote_a_document_is_erasable(step_type: type[Any]) -> None:
    """Free text in `facts` is a problem, a fixed outcome or a name."""
    facts: Facts = step_type.facts_type()()
    quoting = {"problem", "failed"} | ({"outcome"} if step_type is WebSearchStep else set())
    set_all = type(facts).model_validate({name: "x" for name in quoting if name in type(facts).model_fields})
    assert all(getattr(set_all.erase(), name) == ERASED_TEXT for name in set_all.model_fields_set)


def test_the_schema_names_every_step() -> None:
    schema = RunEvent.model_json_schema(mode="serialization")
    branches = json.dumps(schema["properties"]["step"])
    assert all(f"#/$defs/{step.__name__}" in branches for step in STEP_TYPES.values())
    assert schema["$defs"]["GradeFacts"]["properties"]["quality"]["anyOf"][0] == {"$ref": "#/$defs/Quality"}


def test_steps_are_typed() -> None:
    quality = {"grade": "low", "score": 0.25, "issues": [{"code": "count", "text": "few"}]}
    step: Step = load_step(stored("grade_documents", {"quality": quality, "is_best": True}, {"query": "q"}))
    assert isinstance(step, GradeStep) and step.facts.quality and step.texts
    assert (step.facts.quality.grade, step.facts.is_best, step.texts.query) == ("low", True, "q")
