"""Checks a set-up: settings, servers, provider keys, whether each configured model answers and fits the documents."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from veracity.answer_reader import Passage, make_answer_reader
from veracity.embedding import Embedder, make_embedder
from veracity.errors import VeracityError
from veracity.evaluator import Evaluator
from veracity.evaluator.judge import ROLE
from veracity.llm import Question
from veracity.local_models import find_known
from veracity.models import Evidence, MetricSet, Usage
from veracity.models.evidence import EvidenceMetadata
from veracity.providers.retirement import retirement_notice
from veracity.reranking import make_reranker
from veracity.settings import Settings, model_warnings
from veracity.settings.sections import is_local_model
from veracity.settings.servers import PROVIDERS
from veracity.settings.states import (
    RoleState,
    ServerState,
    SettingState,
    is_set,
    language_models,
    role_states,
    server_states,
    setting_states,
)
from veracity.workspace import Workspace

# A sentence of each language, to find out which ones an embedder covers.
SAMPLES = {
    "English": "The cat sleeps on the sofa.",
    "Chinese": "猫在沙发上睡觉。",
    "Japanese": "猫がソファで寝ています。",
}
LANGUAGES = {"en": "English", "zh": "Chinese", "ja": "Japanese"}
PONG = Evidence(
    id="pong",
    text="pong",
    source="knowledge",
    document_id="pong",
    title="",
    location="pong",
    headings=[],
    page=None,
    start=0,
    end=4,
    language="en",
    metadata=EvidenceMetadata(relevance_score=0.5),
)
OLD_RERANKER = "retrieval.reranker is now called models.reranker: rename it. The old name still works."


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


def setup_warnings(settings: Settings, roles: Collection[RoleState]) -> list[str]:
    """What works but defeats its purpose, will end soon, or lacks a key: one sentence each. Calls no model."""
    notices = map(retirement_notice, language_models(roles))
    return [
        *model_warnings(settings.models, settings.servers),
        *([OLD_RERANKER] if settings.retrieval.reranker != "none" else []),
        *(notice for notice in notices if notice),
        *(
            f'The server "{server.name}" needs a key: set {server.key_env} in the environment.'
            for server in server_states(settings)
            if server.key_env and not server.has_key
        ),
    ]


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
    def bundled_bytes() -> dict[str, int]:
        """The size of each bundled model, by its role."""
        from veracity.answer_reader import bundled as reader  # noqa: PLC0415 - loads onnxruntime
        from veracity.embedding import bundled as embedder  # noqa: PLC0415 - loads onnxruntime

        folders = {"embedder": embedder.FOLDER, "reader": reader.FOLDER}
        return {
            role: sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
            for role, folder in folders.items()
        }

    def report(self) -> SetupReport:
        plan, roles = self._evaluator.plan(), self._roles()
        return SetupReport(
            files=self._files(),
            settings=setting_states(self._settings),
            roles=roles,
            servers=list(server_states(self._settings)),
            metrics=[metric.name for metric in plan.metrics],
            metric_set=plan.metric_set,
            provider_variables=sorted({name for names in PROVIDERS.values() for name in names if is_set(name)}),
            models=language_models(roles),
            warnings=setup_warnings(self._settings, roles),
        )

    def check_models(self, *, call_providers: bool) -> Iterator[ModelCheck]:
        """Try each configured model once, at its own provider or server. Those that run on this machine are tried in
        any case."""
        embedder, reranker = self._settings.models.embedder, self._settings.reranker
        for model in self._models() if call_providers else ():
            yield _check(model, partial(self._ask, model))
        if embedder != "none" and (call_providers or embedder == "bundled" or is_local_model(embedder)):
            yield _check(f"The embedder {embedder}", partial(self._embed, embedder))
        is_here = reranker.startswith(("bundled", "cross-encoder:")) or is_local_model(reranker)
        if reranker != "none" and (call_providers or is_here):
            yield _check(f"The reranker {reranker}", partial(self._rerank, reranker))
        if self._settings.reader != "none":
            yield _check(f"The reader {self._settings.reader}", self._read)

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

    def _roles(self) -> list[RoleState]:
        judged: dict[str, list[str]] = {}
        for planned in self._evaluator.plan().metrics:
            if planned.judge:
                judged.setdefault(planned.judge.model, []).append(planned.name)
        return role_states(self._settings, judged)

    def _models(self) -> list[str]:
        return language_models(self._roles())

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

    def _read(self) -> dict[str, object]:
        if reader := make_answer_reader(self._settings.reader):
            reader.read("ping?", [Passage("", [("prose", "pong")])])
        return {}

    def _rerank(self, name: str) -> dict[str, object]:
        reranker = make_reranker(name, self._settings.llm, self._settings.servers, self._settings.models.folder)
        if reranker is not None:
            reranker.rerank("ping?", [PONG])
        return {}


def _check(name: str, attempt: Callable[[], dict[str, object]]) -> ModelCheck:
    started = time.perf_counter()
    try:
        details = attempt()
    except VeracityError as error:
        return ModelCheck(name, time.perf_counter() - started, problem=str(error))
    return ModelCheck(name, time.perf_counter() - started, **details)  # type: ignore[arg-type]
