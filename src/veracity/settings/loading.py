"""Loads settings: defaults, then `veracity.toml`, then the environment.

`[models] judge` is also the variable VERACITY_MODELS__JUDGE. Credentials are refused. The file and the environment are
validated separately, so that an error can name the place of the value. `llm.pace` decides on deadlines that neither
sets.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from veracity.errors import ConfigurationError
from veracity.secrets import looks_like_key, presentable
from veracity.settings.pace import with_pace
from veracity.settings.sections import KEYS, SECTIONS, ModelSettings, QualitySettings, Settings
from veracity.settings.servers import (
    VARIABLE_PREFIX,
    ModelServer,
    Servers,
    is_server_variable,
    server_variable,
    servers_in_environment,
)
from veracity.settings.toml import assigned, complaint, explain, parse

PREFIX = "VERACITY_"

# Environment variables that the source documents use for these two settings.
ALIASES = {("answering", "gener_epoch"): "GENER_EPOCH", ("models", "reviewer"): "LLM_MUTI_AGENT"}


def load_settings(content: bytes | None, path: Path) -> Settings:
    """Validate and merge. `content` is the file's bytes, or None without a file. Raises `ConfigurationError`."""
    document = {} if content is None else parse(content, path)
    try:
        settings = Settings.model_validate(document, strict=True)
    except ValidationError as problem:
        raise ConfigurationError(explain(problem, str(path), KEYS | _server_keys(document))) from None
    _refuse_unknown_variables()
    changed = {name: getattr(settings, name).model_copy(update=_in_environment(name)) for name in SECTIONS}
    servers = _with_environment(settings.servers)
    settings = with_pace(settings.model_copy(update={**changed, "servers": servers}))
    require_sound_settings(settings, f"{path} or the environment")
    return settings


def require_sound_settings(settings: Settings, origin: str) -> None:
    """Check the settings that depend on each other, after they were merged. `origin` says where they are from."""
    try:
        require_sound_quality(settings.quality)
        _require_one_reranker(settings)
        settings.store.require_shared_ledger()
    except ConfigurationError as problem:
        raise ConfigurationError(f"{origin}: {problem}") from None


def require_sound_quality(quality: QualitySettings) -> None:
    weights = ("coverage_weight", "relevance_weight", "diversity_weight", "count_weight")
    total = sum(getattr(quality, name) for name in weights)
    if abs(total - 1) > 0.001:
        terms = " + ".join(f"{name} {getattr(quality, name):g}" for name in weights)
        raise ConfigurationError(f"The weights of [quality] must sum to 1, not {total:g}: {terms}.")
    if quality.coverage_weight > 0.999:
        raise ConfigurationError(
            "[quality] coverage_weight leaves no weight for the others, and coverage is not always known: lower it."
        )
    if quality.medium > quality.high:
        raise ConfigurationError(
            f"[quality] medium ({quality.medium:g}) must not exceed high ({quality.high:g}): lower medium or raise "
            "high."
        )


def _require_one_reranker(settings: Settings) -> None:
    old, new = settings.retrieval.reranker, settings.models.reranker
    if old != "none" and new not in ("none", "bundled", old):
        raise ConfigurationError(
            "models.reranker and retrieval.reranker, its earlier name, are different models: remove retrieval.reranker."
        )


def model_warnings(models: ModelSettings, servers: Mapping[str, ModelServer]) -> list[str]:
    """Warnings about settings that work but defeat their purpose (SPEC A9)."""
    if (
        models.writer is None
        or models.reviewer is None
        or _place_and_name(models.writer, servers) != _place_and_name(models.reviewer, servers)
    ):
        return []
    return [
        f'The model "{models.writer}" reviews its own drafts ({origin("models", "reviewer")}): '
        "set models.reviewer to another model."
    ]


def _place_and_name(model: str, servers: Mapping[str, ModelServer]) -> tuple[str, str]:
    """Two servers with one address are one place; `openai:`, `openai-chat:` and `openai-responses:` are, too."""
    provider, _, name = model.partition(":")
    if provider in servers:
        return servers[provider].url.lower(), name
    family = provider.partition("-")[0]
    own_server = os.environ.get("OPENAI_BASE_URL", "") if family == "openai" else ""
    return own_server.strip().rstrip("/").lower() or family, name


def variable(section: str, key: str) -> str:
    """The environment variable of a setting."""
    return f"{PREFIX}{section}__{key}".upper()


def set_variable(section: str, key: str) -> str:
    """The environment variable that sets a setting. The VERACITY_… variable takes precedence over its alias, which is
    returned if that is not set."""
    own = variable(section, key)
    return own if os.environ.get(own, "").strip() else ALIASES.get((section, key), own)


def origin(section: str, key: str) -> str:
    """The file or variable that sets a setting, for messages."""
    name = set_variable(section, key)
    return f"the environment variable {name}" if os.environ.get(name, "").strip() else f"veracity.toml, {section}.{key}"


def _in_environment(section: str) -> dict[str, Any]:
    """The settings of a section from the environment. Empty variables are ignored."""
    names = {key: set_variable(section, key) for key in KEYS[section]}
    values = {key: value for key, name in names.items() if (value := os.environ.get(name, "").strip())}
    for key, value in values.items():
        _refuse_credential(names[key], value)
    try:
        return SECTIONS[section].model_validate_strings(values).model_dump(exclude_unset=True)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        name = names[str(first["loc"][0])]
        reason = f"{name}{assigned(first['input'])}: {complaint(first)}"
        raise ConfigurationError(f"The environment variable {reason}.") from None


def _server_keys(document: dict[str, Any]) -> dict[str, list[str]]:
    """The keys of each server, for messages about the file."""
    servers = document.get("servers")
    names = servers if isinstance(servers, dict) else ()
    return {f"servers.{name}": list(ModelServer.model_fields) for name in names}


def _with_environment(servers: Mapping[str, ModelServer]) -> dict[str, ModelServer]:
    """The servers of the file, with the values and the servers of the environment."""
    found = servers_in_environment(servers)
    for server, values in found.items():
        for key, value in values.items():
            _refuse_credential(server_variable(server, key), value)
    known = {name: server.model_dump(exclude_unset=True) for name, server in servers.items()}
    try:
        return TypeAdapter(Servers).validate_python(
            known | {server: known.get(server, {}) | values for server, values in found.items()}
        )
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
    if not first["loc"]:  # a name
        raise ConfigurationError(f"The environment variables {VARIABLE_PREFIX}…: {complaint(first)}.")
    name = server_variable(*map(str, first["loc"]))
    if first["type"] == "missing":
        raise ConfigurationError(f"The environment variable {name} is missing: set it to the address of the server.")
    raise ConfigurationError(f"The environment variable {name}{assigned(first['input'])}: {complaint(first)}.")


def _refuse_credential(variable: str, value: str) -> None:
    if looks_like_key(value):
        raise ConfigurationError(
            f"The environment variable {variable} looks like a credential (not shown): "
            "put that into the provider's own variable, such as OPENAI_API_KEY."
        )


def _refuse_unknown_variables() -> None:
    """Raise for a variable that is probably a misspelt setting. Other VERACITY_… variables are ignored."""
    known = [variable(section, key) for section in SECTIONS for key in KEYS[section]]
    for name in own_variables():
        is_server = name.upper().startswith(VARIABLE_PREFIX)
        close = [] if is_server else difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.85)
        is_setting = close or "__" in name or name.upper().removeprefix(PREFIX).lower() in KEYS[""]
        if is_setting and name not in known and not is_server_variable(name):
            hint = f"did you mean {close[0]}?" if close else _known_names(name)
            raise ConfigurationError(f"The environment variable {presentable(name)} is not a setting; {hint}")


def _known_names(name: str) -> str:
    """The variables of the section, if the name has a known one."""
    section = name.upper().removeprefix(PREFIX).partition("__")[0].lower()
    if section == "servers":
        return f"known: {', '.join(server_variable('NAME', key) for key in ModelServer.model_fields)}."
    if section in SECTIONS:
        return f"known: {', '.join(variable(section, key) for key in KEYS[section])}."
    return f"settings are named {PREFIX}SECTION__KEY, and the sections are: {', '.join(KEYS[''])}."


def own_variables() -> dict[str, str]:
    """Non-empty environment variables that start with VERACITY_."""
    names = [name for name in os.environ if name.upper().startswith(PREFIX)]  # values are decoded only when asked for
    return {name: value for name in names if (value := os.environ.get(name, "")).strip()}
