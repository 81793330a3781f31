"""Builds the run context of a workspace: its agents, search, evaluator and memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.agents.local_reviewer import LocalReviewer
from veracity.agents.local_rewriter import LocalRewriter
from veracity.agents.local_router import LocalRouter
from veracity.agents.prompts import load_overrides
from veracity.agents.recall_writer import RecallWriter
from veracity.agents.reviewer import LLMReviewer
from veracity.agents.rewriter import LLMRewriter
from veracity.agents.router import LLMRouter
from veracity.agents.spelling import Vocabulary
from veracity.agents.summarizer import LLMSummarizer, LocalSummarizer
from veracity.agents.writer import LLMWriter
from veracity.answer_reader import make_answer_reader
from veracity.embedding import Embedder
from veracity.evaluator import Evaluator
from veracity.graph.context import LOCAL_AGENTS, RunContext, Web
from veracity.knowledge.store import Store
from veracity.knowledge.vocabulary import StoreVocabulary
from veracity.ledger import Ledger
from veracity.llm import LLM
from veracity.retrieval import Searcher
from veracity.retrieval.quality import QualityChecker
from veracity.runs.checkpoints import Checkpoints, SqliteCheckpoints
from veracity.runs.trials import NoMemory
from veracity.settings import ApprovalSettings, Settings, model_warnings
from veracity.workers import Workers
from veracity.workspace import Workspace

log = logging.getLogger("veracity")

MAX_SEARCHES = 64  # concurrent, including abandoned searches that still run
MAX_TRIAL_SEARCHES = 8


def open_checkpoints(folder: Path, url: str = "") -> Checkpoints:
    """Those in a file of `folder`, or in the Postgres database at `url`. Raises `LedgerError`."""
    if not url:
        return SqliteCheckpoints(folder)
    from veracity.runs.postgres_checkpoints import PostgresCheckpoints  # noqa: PLC0415 - an extra

    return PostgresCheckpoints(url)


def make_context(
    workspace: Workspace,
    settings: Settings,
    llm: LLM,
    store: Store,
    embedder: Embedder,
    searcher_for: Callable[[Sequence[str]], Searcher],
    ledger: Ledger,
    gate: Evaluator,
    approval_in_force: Callable[[], ApprovalSettings],
) -> RunContext:
    """Build the base context that every run copies. Raises `ConfigurationError` for a model that cannot be used."""
    prompts = load_overrides(workspace.prompts_folder)

    def embed(text: str) -> bytes | None:
        return embedder.embed_query(text).tobytes() if embedder.dimensions and embedder.covers(text) else None

    return RunContext(
        **_make_agents(settings, llm, prompts, embedder, StoreVocabulary(store, embedder).current),
        searcher_for=searcher_for,
        checker=QualityChecker(settings.quality),
        gate=gate,
        web=_make_web(settings, embedder),
        embed=embed,
        prompts=prompts,
        memory=ledger,
        settings=settings,
        workers=Workers(MAX_SEARCHES, "veracity-run"),
        approval_in_force=approval_in_force,
    )


def make_local_context(
    settings: Settings,
    llm: LLM,
    store: Store,
    embedder: Embedder,
    searcher_for: Callable[[Sequence[str]], Searcher],
) -> RunContext:
    """A context that calls no model and stores nothing, for `trials`. `embedder` runs on this machine."""
    local = settings.model_copy(
        update={
            "models": settings.models.model_copy(update=dict.fromkeys((*LOCAL_AGENTS, "judge"))),
            "approval": settings.approval.model_copy(update={"policy": "ask"}),
        }
    )
    return RunContext(
        **_make_agents(local, llm, {}, embedder, StoreVocabulary(store, embedder).current),
        searcher_for=searcher_for,
        checker=QualityChecker(local.quality),
        gate=Evaluator(None, llm=llm, settings=local, only_named_judges=True),
        web=None,
        embed=lambda text: None,
        prompts={},
        memory=NoMemory(),
        settings=local,
        workers=Workers(MAX_TRIAL_SEARCHES, "veracity-trial"),
        approval_in_force=lambda: local.approval,
    )


def _make_agents(
    settings: Settings,
    llm: LLM,
    prompts: Mapping[str, str],
    embedder: Embedder,
    vocabulary: Callable[[], Vocabulary],
) -> dict[str, Any]:
    """Check every configured model now, so that a bad one does not fail in the middle of a run."""
    models = settings.models
    for role in LOCAL_AGENTS:
        if model := getattr(models, role):
            llm.require(model, role)
    for warning in model_warnings(models, settings.servers):
        log.warning("%s", warning)
    extractor = ExtractiveWriter(embedder, make_answer_reader(settings.reader))
    router, summarizer = LocalRouter(), LocalSummarizer()
    agents: dict[str, Any] = {
        "writer": extractor,
        "extractor": extractor,
        "recaller": RecallWriter(),
        "reviewer": LocalReviewer(),
        "rewriter": LocalRewriter(vocabulary),
        "router": router,
        "local_router": router,
        "summarizer": summarizer,
        "local_summarizer": summarizer,
    }
    if models.writer:
        agents["writer"] = LLMWriter(llm, models.writer)
    if models.reviewer:
        agents["reviewer"] = LLMReviewer(llm, models.reviewer, prompts.get("reviewer"))
    if models.rewriter:
        agents["rewriter"] = LLMRewriter(llm, models.rewriter, prompts.get("rewriter"))
    if models.router:
        agents["router"] = LLMRouter(llm, models.router, prompts.get("router"))
    if models.summarizer:
        agents["summarizer"] = LLMSummarizer(llm, models.summarizer, prompts.get("summarizer"))
    return agents


def _make_web(settings: Settings, embedder: Embedder) -> Web | None:
    if settings.web.provider == "none":
        return None
    from veracity.runs.web_evidence import make_web_evidence  # noqa: PLC0415 - imports what only web search needs

    return make_web_evidence(settings, embedder)
