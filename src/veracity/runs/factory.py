"""Puts together what runs need, from the parts of a workspace."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.agents.local_reviewer import LocalReviewer
from veracity.agents.local_rewriter import LocalRewriter, Vocabulary
from veracity.agents.local_router import LocalRouter
from veracity.agents.prompts import load_prompts
from veracity.agents.recall_writer import RecallingWriter
from veracity.agents.reviewer import INSTRUCTIONS as REVIEWING
from veracity.agents.reviewer import LLMReviewer, Reviewer
from veracity.agents.rewriter import INSTRUCTIONS as REWRITING
from veracity.agents.rewriter import LLMRewriter, Rewriter
from veracity.agents.router import INSTRUCTIONS as ROUTING
from veracity.agents.router import LLMRouter, Router
from veracity.agents.summarizer import INSTRUCTIONS as SUMMARIZING
from veracity.agents.summarizer import LLMSummarizer, LocalSummarizer, Summarizer
from veracity.agents.writer import LLMWriter, Writer
from veracity.embedding import Embedder
from veracity.evaluator import Evaluator
from veracity.graph.context import Limits, Parts, Web
from veracity.knowledge.store import Store
from veracity.knowledge.vocabulary import StoreVocabulary
from veracity.ledger import Ledger, Observations
from veracity.llm import LLM
from veracity.retrieval import Searcher
from veracity.retrieval.quality import QualityChecker
from veracity.runs.driver import Driver, open_checkpoints
from veracity.runs.endings import Endings
from veracity.runs.runner import Runs
from veracity.settings import ModelSettings, Settings, model_warnings
from veracity.workers import NATIVE_PATIENCE, Workers
from veracity.workspace import Workspace

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


SEARCHES = 64  # at the same time, those that nobody waits for any longer included


@dataclass(frozen=True)
class Kit:
    """What all runs work with; `parts` are those of one that has these limits. `models` tells which one does what."""

    parts: Callable[[Limits], Parts]
    embed: Callable[[str], bytes | None]
    models: dict[str, str]
    close: Callable[[], None]


def make_kit(
    workspace: Workspace,
    settings: Settings,
    llm: LLM,
    store: Store,
    embedder: Embedder,
    searcher: Searcher,
    ledger: Ledger,
    gate: Evaluator,
) -> Kit:
    prompts = load_prompts(workspace.prompts_folder)
    crew = make_crew(settings.models, llm, prompts, embedder, StoreVocabulary(store, embedder).now)
    checker, workers = QualityChecker(settings.quality), Workers(SEARCHES, "veracity-run")
    web = _web(settings, embedder)

    def embed(text: str) -> bytes | None:
        return embedder.embed_query(text).tobytes() if embedder.dimensions and embedder.covers(text) else None

    def parts(limits: Limits) -> Parts:
        return Parts(
            router=crew.router,
            local_router=crew.local_router,
            summarizer=crew.summarizer,
            local_summarizer=crew.local_summarizer,
            searcher=searcher,
            checker=checker,
            rewriter=crew.rewriter,
            writer=crew.writer,
            extractor=crew.extractor,
            recaller=crew.recaller,
            reviewer=crew.reviewer,
            gate=gate,
            web=web,
            embed=embed,
            prompts=prompts,
            memory=ledger,
            settings=settings,
            limits=limits,
            workers=workers,
        )

    def close() -> None:
        if web:
            web.close()
        workers.close(NATIVE_PATIENCE)

    return Kit(parts, embed, crew.models, close)


def make_runs(kit: Kit, workspace: Workspace, settings: Settings, ledger: Ledger) -> Runs:
    checkpoints = open_checkpoints(workspace.ledger_folder)
    observations = Observations(workspace.observations_file)

    def close() -> None:
        with checkpoints.lock:  # SQLite dies, and we with it, when a connection is closed that somebody is using
            checkpoints.conn.close()

    driver = Driver(checkpoints, kit.parts, settings, ledger)
    endings = Endings(ledger, observations, checkpoints, settings, kit.models, kit.embed)
    return Runs(ledger, driver, endings, settings, kit.models, close)


def _web(settings: Settings, embedder: Embedder) -> Web | None:
    if settings.web.provider == "none":
        return None
    from veracity.runs.web_evidence import make_web_lookups  # noqa: PLC0415 - loads what only the web needs

    return make_web_lookups(settings, embedder)
