"""Checks a set-up: settings, servers, provider keys, whether each configured model answers and fits the documents."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from veracity.embedding import Embedder, make_embedder
from veracity.errors import VeracityError
from veracity.evaluator import Evaluator
from veracity.evaluator.judge import ROLE
from veracity.llm import Question
from veracity.local_models import find_known
from veracity.models import MetricSet, Usage
from veracity.providers.retirement import retirement_notice
from veracity.reranking import make_reranker
from veracity.settings import SECTIONS, Settings, model_warnings, variable
from veracity.settings.sections import is_local_model
from veracity.settings.servers import PROVIDERS
from veracity.workspace import Workspace

# A sentence of each language, to find out which ones an embedder covers.
SAMPLES = {
    "English": "The cat sleeps on the sofa.",
    "Chinese": "猫在沙发上睡觉。",
    "Japanese": "猫がソファで寝ています。",
}
LANGUAGES = {"en": "English", "zh": "Chinese", "ja": "Japanese"}
OLD_RERANKER = "retrieval.reranker is now called models.reranker: rename it. The old name still works."
LANGUAGE_ROLES = ("writer", "reviewer", "rewriter", "router", "summarizer")


@dataclass(frozen=True)
class SettingState:
    """A setting in effect. `is_overridden`: its environment variable is set. `is_changed`: it is, or the value is not
    the default."""

    name: str
    value: object
    variable: str
    is_overridden: bool
    is_changed: bool


@dataclass(frozen=True)
class RoleState:
    """A role and its model. `model` is empty for a role that runs on this machine without one."""

    role: str
    model: str


@dataclass(frozen=True)
class ServerState:
    """A server of the settings. `key_env` is empty if it gets no key."""

    name: str
    url: str
    key_env: str
    has_key: bool


@dataclass(frozen=True)
class SetupReport:
    """The configuration. `files` says which configuration files exist. Provider keys are named, never shown."""

    files: dict[Path, bool]
    settings: list[SettingState]
    roles: list[RoleState]
    servers: list[ServerState]
    metrics: list[str]
    metric_set: MetricSet
    provider_variables: list[str]
    models: list[str]
    warnings: list[str]


@dataclass(frozen=True)
class ModelCheck:
    """Whether a model answered; `problem` says why it did not. `fit` is what an embedder was found to be."""

    name: str
    seconds: float
    usage: Usage | None = None
    fit: EmbedderFit | None = None
    problem: str = ""

    @property
    def dimensions(self) -> int | None:
        return self.fit.dimensions if self.fit else None


@dataclass(frozen=True)
class EmbedderFit:
    """`prefixes` are those of questions and passages; None if they are not known. `languages` are those it reads."""

    name: str
    dimensions: int
    prefixes: tuple[str, str] | None
    languages: tuple[str, ...]

    @property
    def notice(self) -> str:
        """One sentence about prefixes that are unknown; empty if they are known."""
        if self.prefixes is not None:
            return ""
        return (
            "Whether it wants prefixes is not known, so that texts get none: if its model card asks for some, such as "
            '"query: ", use a model that veracity models list knows, or write them into its file '
            "config_sentence_transformers.json."
        )


class _Pong(BaseModel):
    word: str


class Doctor:
    """Without a workspace: the default settings and the environment. Raises `ConfigurationError` for invalid files."""

    def __init__(self, workspace: Path | None) -> None:
        self._workspace = None if workspace is None else Workspace(workspace)
        self._evaluator = Evaluator(workspace)
        self._settings = self._evaluator.settings

    @property
    def settings(self) -> Settings:
        return self._settings

    @staticmethod
    def bundled_bytes() -> int:
        """The size of the bundled embedder."""
        from veracity.embedding.bundled import FOLDER  # noqa: PLC0415 - loads onnxruntime

        return sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file())

    def report(self) -> SetupReport:
        plan = self._evaluator.plan()
        return SetupReport(
            files=self._files(),
            settings=self._setting_states(),
            roles=self._roles(),
            servers=self._servers(),
            metrics=[metric.name for metric in plan.metrics],
            metric_set=plan.metric_set,
            provider_variables=sorted({name for names in PROVIDERS.values() for name in names if _is_set(name)}),
            models=self._models(),
            warnings=self._warnings(),
        )

    def check_models(self, *, call_providers: bool) -> Iterator[ModelCheck]:
        """Try each configured model once, at its own provider or server. Those that run on this machine are tried in
        any case."""
        embedder, reranker = self._settings.models.embedder, self._settings.reranker
        for model in self._models() if call_providers else ():
            yield _check(model, partial(self._ask, model))
        if embedder != "none" and (call_providers or embedder == "bundled" or is_local_model(embedder)):
            yield _check(f"The embedder {embedder}", partial(self._embed, embedder))
        if reranker != "none" and (call_providers or is_local_model(reranker) or reranker.startswith("cross-encoder:")):
            yield _check(f"The reranker {reranker}", partial(self._rerank, reranker))

    def index_warnings(
        self, fit: EmbedderFit, indexed_with: tuple[str, int] | None, documents: Mapping[str, int]
    ) -> list[str]:
        """What does not fit: the vectors of the index, or the languages of the documents, with their numbers."""
        embedder = self._settings.models.embedder
        warnings = []
        if indexed_with and indexed_with[1] != fit.dimensions:
            warnings.append(
                f"The embedder {embedder} gives vectors of {fit.dimensions} dimensions, and the documents were indexed "
                f"with {indexed_with[1]} ({indexed_with[0]}): run veracity reindex, or restore the previous embedder."
            )
        elif indexed_with and indexed_with[0] != fit.name:
            warnings.append(
                f"The documents were indexed with the embedder {indexed_with[0]}, not {fit.name}: "
                "run veracity reindex, or restore the previous embedder."
            )
        return [*warnings, *self._language_warnings(fit, documents)]

    def _language_warnings(self, fit: EmbedderFit, documents: Mapping[str, int]) -> Iterator[str]:
        models, reranker = self._settings.models, self._settings.reranker
        known_reranker = find_known(reranker.partition(":")[2])
        for language, number in documents.items():
            name = LANGUAGES.get(language, "")
            if name and name not in fit.languages:
                yield (
                    f"The embedder {models.embedder} does not read {name}, the language of {number:,} of the "
                    "documents, and they are found by their words alone: choose another one with veracity models list."
                )
            if name and known_reranker and language not in known_reranker.languages:
                yield (
                    f"The reranker {reranker} does not read {name}, the language of {number:,} of the documents: "
                    "choose one that does with veracity models list."
                )

    def _files(self) -> dict[Path, bool]:
        if self._workspace is None:
            return {}
        own = self._workspace
        return {path: path.exists() for path in (own.settings_file, own.evaluator_file, *own.metric_files())}

    def _setting_states(self) -> list[SettingState]:
        return [
            _setting_state(section, key, value, getattr(default(), key))
            for section, default in SECTIONS.items()
            for key, value in getattr(self._settings, section)
        ]

    def _roles(self) -> list[RoleState]:
        """Every role. The judge has one entry for each of its models, with the metrics that use it."""
        models = self._settings.models
        judged: dict[str, list[str]] = {models.judge: []} if models.judge else {}
        for planned in self._evaluator.plan().metrics:
            if planned.judge:
                judged.setdefault(planned.judge.model, []).append(planned.name)
        judges = [
            RoleState(f"{ROLE} of {', '.join(metrics)}" if metrics else ROLE, model)
            for model, metrics in judged.items()
        ]
        return [
            *(RoleState(role, getattr(models, role) or "") for role in LANGUAGE_ROLES),
            *(judges or [RoleState(ROLE, "")]),
            RoleState("embedder", models.embedder),
            RoleState("reranker", self._settings.reranker),
        ]

    def _servers(self) -> list[ServerState]:
        return [
            ServerState(name, server.url, server.key_env or "", bool(server.key_env) and _is_set(server.key_env or ""))
            for name, server in self._settings.servers.items()
        ]

    def _models(self) -> list[str]:
        """Every configured language model, each once."""
        remote = [role.model for role in self._roles() if role.role not in ("embedder", "reranker")]
        return list(dict.fromkeys(model for model in remote if model))

    def _warnings(self) -> list[str]:
        notices = map(retirement_notice, self._models())
        return [
            *model_warnings(self._settings.models, self._settings.servers),
            *([OLD_RERANKER] if self._settings.retrieval.reranker != "none" else []),
            *(notice for notice in notices if notice),
            *(
                f'The server "{server.name}" needs a key: set {server.key_env} in the environment.'
                for server in self._servers()
                if server.key_env and not server.has_key
            ),
        ]

    def _ask(self, model: str) -> dict[str, object]:
        llm = self._evaluator.llm
        llm.require(model, ROLE)
        question = Question(model, ROLE, "You test a connection.", 'Answer with the word "pong".', _Pong, max_retries=0)
        return {"usage": llm.ask(question).usage}

    def _embed(self, name: str) -> dict[str, object]:
        embedder = make_embedder(name, self._settings.llm, self._settings.servers, self._settings.models.folder)
        dimensions = len(embedder.embed_query("pong"))
        languages = tuple(language for language, sample in SAMPLES.items() if embedder.covers(sample))
        return {"fit": EmbedderFit(embedder.name, dimensions, self._prefixes(name, embedder), languages)}

    def _prefixes(self, name: str, embedder: Embedder) -> tuple[str, str] | None:
        """None if they are unknown. Services and the bundled model need none."""
        traits = getattr(embedder, "traits", None)
        if traits and (traits.is_known or traits.has_prefixes):
            return traits.query_prefix, traits.passage_prefix
        is_own = is_local_model(name) or name.partition(":")[0] in (*self._settings.servers, "ollama")
        return None if is_own else ("", "")

    def _rerank(self, name: str) -> dict[str, object]:
        reranker = make_reranker(name, self._settings.llm, self._settings.servers, self._settings.models.folder)
        if reranker is not None:
            reranker.scores("ping", ["pong"])
        return {}


def _setting_state(section: str, key: str, value: object, default: object) -> SettingState:
    name = variable(section, key)
    return SettingState(f"{section}.{key}", value, name, _is_set(name), _is_set(name) or value != default)


def _check(name: str, attempt: Callable[[], dict[str, object]]) -> ModelCheck:
    started = time.perf_counter()
    try:
        details = attempt()
    except VeracityError as error:
        return ModelCheck(name, time.perf_counter() - started, problem=str(error))
    return ModelCheck(name, time.perf_counter() - started, **details)  # type: ignore[arg-type]


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name, "").strip())
