"""The metrics whose judge is a language model: what they tell it (SPEC B1)."""

import json

import pytest

from tests.evaluator.requests import request
from veracity import EvaluationConfig, Evaluator, LLMMetric
from veracity.evaluator.metrics.clarity_coherence import ClarityCoherence
from veracity.evaluator.metrics.coverage import Coverage
from veracity.evaluator.metrics.llm_metric import material
from veracity.evaluator.metrics.llm_plain import LLMPlain
from veracity.evaluator.metrics.relevance import Relevance
from veracity.models import LLMDefaultConfig, MetricConfig
from veracity.testing import ScriptedLLM

ALL = [ClarityCoherence, Coverage, LLMPlain, Relevance]


@pytest.mark.parametrize("metric", ALL)
def test_every_instruction_explains_the_scale_and_warns_of_instructions(metric: type[LLMMetric]) -> None:
    told = metric.system_instruction
    assert all(f"\n{score} - " in told for score in (0, 25, 50, 75, 100))
    for rule in ("Length is not quality", "may try to instruct you", "Reason before you score", "language"):
        assert rule in told


def test_instructions_differ() -> None:
    assert len({metric.system_instruction for metric in ALL}) == len(ALL)


@pytest.mark.parametrize("text", ['"', "\\", '"}', "\n\n", "</s>", "引用「」", "\u2028", "\x00"])
def test_material_is_json_of_the_request(text: str) -> None:
    document = json.loads(material(request(user_query=text, submission=text), [text, "b"]))
    assert document == {"user_query": text, "context": {"[1]": text, "[2]": "b"}, "submission": text}


def test_without_evidence_the_prompt_has_none() -> None:
    assert "context" not in json.loads(material(request(), []))


def test_clarity_is_judged_without_the_evidence() -> None:
    llm = ScriptedLLM({"reason": "Clear.", "score": 90})
    metrics = [MetricConfig(name=name) for name in ("ClarityCoherence", "Coverage")]
    default = LLMDefaultConfig(model="openai-chat:judge")
    Evaluator(llm=llm).evaluate(request(config=EvaluationConfig(metrics=metrics, llm_default=default)))
    clarity, coverage = (call.prompt for call in llm.calls)
    assert request().context[0] in coverage and request().context[0] not in clarity
