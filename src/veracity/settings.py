"""The settings of a workspace: defaults ← `veracity.toml` ← environment.

Each setting is also an environment variable: `[models] judge` is VERACITY_MODELS__JUDGE. Holds no credentials, ever.
The file and the environment are checked each on its own, so that an error can say where the value stands.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from veracity.errors import ConfigurationError
from veracity.models import ModelName
from veracity.models.names import checked_model_name
from veracity.secrets import looks_like_key, presentable
from veracity.tomlfile import assigned, complaint, explain, parse

PREFIX = "VERACITY_"

OutputMode = Literal["auto", "tool", "native", "prompted"]
Fusion = Literal["rrf", "weighted", "cascade"]
SourceName = Literal["knowledge", "graph"]


def _checked_embedder(name: str) -> str:
    if name in ("bundled", "none"):
        return name
    try:
        return checked_model_name(name)
    except ValueError as problem:
        raise ValueError(f'write "bundled", "none" or a model; {problem}') from None


def _split(names: object) -> object:
    """In the environment a list is written with commas."""
    if not isinstance(names, str | list):
        raise ValueError('must be a list of names, such as ["knowledge", "graph"]')
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else names


EmbedderName = Annotated[str, AfterValidator(_checked_embedder)]
SourceNames = Annotated[list[SourceName], BeforeValidator(_split), Field(min_length=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(Section):
    """Which model does what. Empty means: not set."""

    judge: ModelName | None = Field(default=None, description="scores submissions (LLM metrics)")
    embedder: EmbedderName = Field(
        default="bundled", description="compares texts by meaning: `bundled`, `none` (words only) or a model"
    )


class LLMSettings(Section):
    """How every model is called."""

    workers: int = Field(default=16, ge=1, le=256, description="calls under way at once, at most")
    call_timeout: float = Field(default=60, gt=0, le=3600, description="seconds one call may take")
    deadline: float = Field(default=180, gt=0, le=86400, description="seconds one question may take, retries included")
    backoff: float = Field(default=0.5, ge=0, le=60, description="seconds before the first retry, then doubling")
    output_mode: OutputMode = Field(default="auto", description="how structured answers are asked for")


class BudgetSettings(Section):
    """What one evaluation may consume at most. Not set means: no ceiling."""

    tokens: int | None = Field(default=None, ge=1, le=10**12)
    cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class ReadingSettings(Section):
    """What reading one file may take."""

    max_megabytes: int = Field(default=100, ge=1, le=10_000, description="larger files are skipped")
    seconds: float = Field(default=60, gt=0, le=3600, description="seconds one file may take")
    memory_megabytes: int = Field(default=1024, ge=512, le=1_000_000, description="memory one reading process may take")
    workers: int | None = Field(
        default=None, ge=1, le=256, description="reading processes at once; not set: one per processor"
    )


class KnowledgeSettings(Section):
    """How documents are cut into passages. A change asks for a `veracity reindex`."""

    passage_tokens: int = Field(default=256, ge=32, le=2000, description="size of a passage, at most")
    overlap_tokens: int = Field(default=30, ge=0, le=500, description="what a passage repeats of the one before")


class RetrievalSettings(Section):
    """How passages are found."""

    sources: SourceNames = Field(default=["knowledge", "graph"], description="where a search looks")
    vector_weight: float = Field(default=0.4, ge=0, le=1, description="what meaning counts beside words")
    fusion: Fusion = Field(default="rrf", description="how the sources become one list")
    reranker: str = Field(
        default="none",
        min_length=1,
        description="reorders what was found: `none`, `cross-encoder:FOLDER` or a service's model",
    )


class Settings(Section):
    models: ModelSettings = ModelSettings()
    llm: LLMSettings = LLMSettings()
    budget: BudgetSettings = BudgetSettings()
    reading: ReadingSettings = ReadingSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    retrieval: RetrievalSettings = RetrievalSettings()


SECTIONS: dict[str, type[Section]] = {
    "models": ModelSettings,
    "llm": LLMSettings,
    "budget": BudgetSettings,
    "reading": ReadingSettings,
    "knowledge": KnowledgeSettings,
    "retrieval": RetrievalSettings,
}
KEYS = {"": list(SECTIONS), **{name: list(section.model_fields) for name, section in SECTIONS.items()}}


def load_settings(content: bytes | None, path: Path) -> Settings:
    """`content` is what the file holds, None when there is none."""
    document = {} if content is None else parse(content, path)
    try:
        settings = Settings.model_validate(document, strict=True)
    except ValidationError as problem:
        raise ConfigurationError(explain(problem, str(path), KEYS)) from None
    _refuse_unknown_variables()
    changed = {name: getattr(settings, name).model_copy(update=_in_environment(name)) for name in SECTIONS}
    return settings.model_copy(update=changed)


def variable(section: str, key: str) -> str:
    """The environment variable of a setting."""
    return f"{PREFIX}{section}__{key}".upper()


def origin(section: str, key: str) -> str:
    """Where a setting that is set was set."""
    name = variable(section, key)
    return f"the environment variable {name}" if os.environ.get(name, "").strip() else f"veracity.toml, {section}.{key}"


def _in_environment(section: str) -> dict[str, Any]:
    """The settings of a section that the environment gives. An empty variable is none."""
    names = {key: variable(section, key) for key in KEYS[section]}
    given = {key: value for key, name in names.items() if (value := os.environ.get(name, "").strip())}
    for key, value in given.items():
        if looks_like_key(value):
            raise ConfigurationError(
                f"The environment variable {names[key]} looks like a credential (not shown): "
                "put that into the provider's own variable, such as OPENAI_API_KEY."
            )
    try:
        return SECTIONS[section].model_validate_strings(given).model_dump(exclude_unset=True)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        name = names[str(first["loc"][0])]
        told = f"{name}{assigned(first['input'])}: {complaint(first)}"
        raise ConfigurationError(f"The environment variable {told}.") from None


def _refuse_unknown_variables() -> None:
    """What is nearly a setting is meant as one. Other names that begin like ours are not our business."""
    known = [variable(section, key) for section in SECTIONS for key in KEYS[section]]
    for name in own_variables():
        close = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.85)
        meant = close or "__" in name or name.upper().removeprefix(PREFIX).lower() in SECTIONS
        if meant and name not in known:
            hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known)}."
            raise ConfigurationError(f"The environment variable {presentable(name)} is not a setting; {hint}")


def own_variables() -> dict[str, str]:
    """The variables of the environment that begin like ours and hold something."""
    return {name: value for name, value in os.environ.items() if name.upper().startswith(PREFIX) and value.strip()}
