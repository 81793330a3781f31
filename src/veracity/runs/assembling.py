"""Puts together what runs need, from the parts of a workspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from veracity.agents.prompts import load_prompts
from veracity.embedding import Embedder
from veracity.evaluator import Evaluator
from veracity.graph.parts import Limits, Parts, Web
from veracity.knowledge.store import Store
from veracity.knowledge.vocabulary import StoreVocabulary
from veracity.ledger import Ledger, Observations
from veracity.llm import LLM
from veracity.retrieval import Searcher
from veracity.retrieval.quality import QualityChecker
from veracity.runs.checkpoints import open_checkpoints
from veracity.runs.crew import make_crew
from veracity.runs.driving import Driver
from veracity.runs.ending import Endings
from veracity.runs.running import Runs
from veracity.settings import Settings
from veracity.workers import NATIVE_PATIENCE, Workers
from veracity.workspace import Workspace

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
    from veracity.runs.surfing import make_web_lookups  # noqa: PLC0415 - loads what only the web needs

    return make_web_lookups(settings, embedder)
