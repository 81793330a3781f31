"""Who does the work of a run, as the settings say: a model for each role, or its local form."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from veracity.agents.checking import LocalReviewer
from veracity.agents.expanding import LocalRewriter, Vocabulary
from veracity.agents.extracting import ExtractiveWriter
from veracity.agents.recalling import RecallingWriter
from veracity.agents.reviewer import INSTRUCTIONS as REVIEWING
from veracity.agents.reviewer import LLMReviewer, Reviewer
from veracity.agents.rewriter import INSTRUCTIONS as REWRITING
from veracity.agents.rewriter import LLMRewriter, Rewriter
from veracity.agents.router import INSTRUCTIONS as ROUTING
from veracity.agents.router import LLMRouter, Router
from veracity.agents.routing import LocalRouter
from veracity.agents.summarizer import INSTRUCTIONS as SUMMARIZING
from veracity.agents.summarizer import LLMSummarizer, Summarizer
from veracity.agents.summing import LocalSummarizer
from veracity.agents.writer import LLMWriter, Writer
from veracity.embedding import Embedder
from veracity.llm import LLM
from veracity.settings import ModelSettings, model_warnings

log = logging.getLogger("veracity")

LOCAL = {
    "writer": "extractive",
    "reviewer": "local checks",
    "rewriter": "local",
    "router": "local",
    "summarizer": "local",
}
INSTRUCTIONS = {"reviewer": REVIEWING, "rewriter": REWRITING, "router": ROUTING, "summarizer": SUMMARIZING}


@dataclass(frozen=True)
class Crew:
    writer: Writer
    extractor: Writer
    recaller: Writer
    reviewer: Reviewer
    rewriter: Rewriter
    router: Router
    local_router: Router
    summarizer: Summarizer
    local_summarizer: Summarizer

    @property
    def models(self) -> dict[str, str]:
        """Which model does what, or what does it instead."""
        return {role: getattr(self, role).model or local for role, local in LOCAL.items()}


def make_crew(
    models: ModelSettings,
    llm: LLM,
    prompts: Mapping[str, str],
    embedder: Embedder,
    vocabulary: Callable[[], Vocabulary],
) -> Crew:
    """A model that cannot even be set up is an error now, not in the midst of a run."""
    for role in LOCAL:
        if name := getattr(models, role):
            llm.require(name, role)
    for warning in model_warnings(models):
        log.warning("%s", warning)
    extractor, reviewer, rewriter = ExtractiveWriter(embedder), LocalReviewer(), LocalRewriter(vocabulary)
    router, summarizer = LocalRouter(), LocalSummarizer()
    told = {**INSTRUCTIONS, **prompts}
    return Crew(
        writer=LLMWriter(llm, models.writer) if models.writer else extractor,
        extractor=extractor,
        recaller=RecallingWriter(),
        reviewer=LLMReviewer(llm, models.reviewer, told["reviewer"]) if models.reviewer else reviewer,
        rewriter=LLMRewriter(llm, models.rewriter, told["rewriter"]) if models.rewriter else rewriter,
        router=LLMRouter(llm, models.router, told["router"]) if models.router else router,
        local_router=router,
        summarizer=LLMSummarizer(llm, models.summarizer, told["summarizer"]) if models.summarizer else summarizer,
        local_summarizer=summarizer,
    )
