"""Who does the work of a run, as the settings say: a model for each role, or its local form."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from veracity.agents.checking import LocalReviewer
from veracity.agents.expanding import LocalRewriter, Vocabulary
from veracity.agents.extracting import ExtractiveWriter
from veracity.agents.reviewer import INSTRUCTIONS as REVIEWING
from veracity.agents.reviewer import LLMReviewer, Reviewer
from veracity.agents.rewriter import INSTRUCTIONS as REWRITING
from veracity.agents.rewriter import LLMRewriter, Rewriter
from veracity.agents.writer import LLMWriter, Writer
from veracity.embedding import Embedder
from veracity.llm import LLM
from veracity.settings import ModelSettings, model_warnings

log = logging.getLogger("veracity")

LOCAL = {"writer": "extractive", "reviewer": "local checks", "rewriter": "local"}


@dataclass(frozen=True)
class Crew:
    writer: Writer
    extractor: Writer
    reviewer: Reviewer
    rewriter: Rewriter

    @property
    def models(self) -> dict[str, str]:
        """Which model does what, or what does it instead."""
        named = {"writer": self.writer.model, "reviewer": self.reviewer.model, "rewriter": self.rewriter.model}
        return {role: model or LOCAL[role] for role, model in named.items()}


def make_crew(
    models: ModelSettings, llm: LLM, prompts: Mapping[str, str], embedder: Embedder, vocabulary: Vocabulary
) -> Crew:
    """A model that cannot even be set up is an error now, not in the midst of a run."""
    for role in LOCAL:
        if name := getattr(models, role):
            llm.require(name, role)
    for warning in model_warnings(models):
        log.warning("%s", warning)
    extractor = ExtractiveWriter(embedder)
    reviewer, rewriter = LocalReviewer(), LocalRewriter(vocabulary)
    return Crew(
        LLMWriter(llm, models.writer) if models.writer else extractor,
        extractor,
        LLMReviewer(llm, models.reviewer, prompts.get("reviewer", REVIEWING)) if models.reviewer else reviewer,
        LLMRewriter(llm, models.rewriter, prompts.get("rewriter", REWRITING)) if models.rewriter else rewriter,
    )
