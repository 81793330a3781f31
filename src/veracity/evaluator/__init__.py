"""Scores submissions with configurable metrics (SPEC B)."""

from veracity.evaluator.evaluator import Evaluator
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.llm_metric import LLMMetric

__all__ = ["BaseMetric", "Evaluator", "LLMMetric"]
