"""`veracity doctor`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import typer
from pydantic import BaseModel

from veracity.cli.commands.evaluate import CHOSEN_BY, spent
from veracity.cli.ui.console import console, plain, table
from veracity.embedding import make_embedder
from veracity.errors import VeracityError
from veracity.evaluator import Evaluator
from veracity.evaluator.judge import ROLE
from veracity.llm import LLM, Question
from veracity.providers.keys import PROVIDERS
from veracity.reranking import make_reranker
from veracity.settings import SECTIONS, ModelSettings, Settings, model_warnings, variable
from veracity.workspace import Workspace, workspace_or_here


class Ping(BaseModel):
    """A sign of life."""

    word: str


def run(workspace: Path | None, ask: bool) -> None:
    root = workspace_or_here(workspace)
    evaluator = Evaluator(root)
    plan = evaluator.plan()
    _show_workspace(root)
    _show_settings(evaluator.settings)
    console.print(plain(f"\nMetrics: {', '.join(one.name for one in plan.metrics)} ({CHOSEN_BY[plan.metric_set]})"))
    _show_keys()
    models = _models(plan.models, evaluator.settings.models)
    for warning in model_warnings(evaluator.settings.models):
        console.print(plain(f"\nWarning: {warning}", "yellow"))
    if not models:
        console.print(plain("\nNo language model is configured."))
    signs = [_sign(model, partial(_asked, model, evaluator.llm)) for model in models if ask]
    signs += [_sign(name, attempt) for name, attempt in _local_or_asked(evaluator.settings, ask)]
    raise typer.Exit(0 if all(signs) else 1)


def _models(judges: Iterable[str], settings: ModelSettings) -> list[str]:
    """Every language model that is set, each once."""
    others = (settings.judge, settings.writer, settings.reviewer, settings.rewriter)
    return list(dict.fromkeys([*judges, *(name for name in others if name)]))


def _show_workspace(root: Path | None) -> None:
    if root is None:
        console.print(plain("Workspace: none (defaults and environment); create one with: veracity init"))
        return
    workspace = Workspace(root)
    console.print(plain(f"Workspace: {root.resolve()}"))
    for path in (workspace.settings_file, workspace.evaluator_file, *workspace.metric_files()):
        console.print(plain(f"  {'valid  ' if path.exists() else 'absent '} {path}"))


def _show_settings(settings: Settings) -> None:
    rows = table("Setting", "Value", "Environment variable")
    for section in SECTIONS:
        for key, value in getattr(settings, section):
            name = variable(section, key)
            shown = "not set" if value is None else value
            rows.add_row(
                f"{section}.{key}", plain(shown), name + (" (set)" if os.environ.get(name, "").strip() else "")
            )
    console.print()
    console.print(rows)


def _show_keys() -> None:
    names = sorted({name for names in PROVIDERS.values() for name in names})
    present = [name for name in names if os.environ.get(name, "").strip()]
    told = ", ".join(present) or "none (such as OPENAI_API_KEY or ANTHROPIC_API_KEY)"
    console.print(plain(f"\nProvider variables present: {told}"))


def _asked(model: str, llm: LLM) -> str:
    llm.require(model, ROLE)
    question = Question(model, ROLE, "You test a connection.", 'Answer with the word "pong".', Ping, max_retries=0)
    return f" ({spent(llm.ask(question).usage)})"


def _local_or_asked(settings: Settings, ask: bool) -> Iterator[tuple[str, Callable[[], str]]]:
    """Embedder and reranker. What runs on this machine is tried in any case."""
    embedder, reranker = settings.models.embedder, settings.retrieval.reranker
    if embedder != "none" and (ask or embedder == "bundled"):
        yield f"The embedder {embedder}", partial(_embeds, embedder, settings)
    if reranker != "none" and (ask or reranker.startswith("cross-encoder:")):
        yield f"The reranker {reranker}", partial(_reranks, reranker, settings)


def _embeds(name: str, settings: Settings) -> str:
    return f" ({len(make_embedder(name, settings.llm).embed_query('pong'))} dimensions)"


def _reranks(name: str, settings: Settings) -> str:
    reranker = make_reranker(name, settings.llm)
    if reranker is not None:
        reranker.scores("ping", ["pong"])
    return ""


def _sign(name: str, attempt: Callable[[], str]) -> bool:
    started = time.perf_counter()
    try:
        more = attempt()
    except VeracityError as problem:
        console.print(plain(f"\n{name} does not answer: {problem}", "red"))
        return False
    console.print(plain(f"\n{name} answers in {time.perf_counter() - started:.1f} s{more}", "green"))
    return True
