"""Loads settings: defaults, then `veracity.toml`, then the environment.

`[models] judge` is also the variable VERACITY_MODELS__JUDGE. Credentials are refused. The file and the environment are
validated separately, so that an error can name the place of the value.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from veracity.errors import ConfigurationError
from veracity.secrets import looks_like_key, presentable
from veracity.settings.sections import KEYS, SECTIONS, ModelSettings, QualitySettings, Settings
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
        raise ConfigurationError(explain(problem, str(path), KEYS)) from None
    _refuse_unknown_variables()
    changed = {name: getattr(settings, name).model_copy(update=_in_environment(name)) for name in SECTIONS}
    settings = settings.model_copy(update=changed)
    try:
        require_sound_quality(settings.quality)
    except ConfigurationError as problem:
        raise ConfigurationError(f"{path} or the environment: {problem}") from None
    return settings


def require_sound_quality(quality: QualitySettings) -> None:
    """Check the settings that depend on each other, after file and environment are merged."""
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


def model_warnings(models: ModelSettings) -> list[str]:
    """Warnings about settings that work but defeat their purpose (SPEC A9)."""
    if (
        models.writer is None
        or models.reviewer is None
        or _provider_and_name(models.writer) != _provider_and_name(models.reviewer)
    ):
        return []
    return [
        f'The model "{models.writer}" reviews its own drafts ({origin("models", "reviewer")}): '
        "set models.reviewer to another model."
    ]


def _provider_and_name(model: str) -> tuple[str, str]:
    """`openai:`, `openai-chat:` and `openai-responses:` name the same model."""
    provider, _, name = model.partition(":")
    return provider.partition("-")[0], name


def variable(section: str, key: str) -> str:
    """The environment variable of a setting."""
    return f"{PREFIX}{section}__{key}".upper()


def origin(section: str, key: str) -> str:
    """The file or variable that sets a setting, for messages."""
    name = _set_variable(section, key)
    return f"the environment variable {name}" if os.environ.get(name, "").strip() else f"veracity.toml, {section}.{key}"


def _in_environment(section: str) -> dict[str, Any]:
    """The settings of a section from the environment. Empty variables are ignored."""
    names = {key: _set_variable(section, key) for key in KEYS[section]}
    values = {key: value for key, name in names.items() if (value := os.environ.get(name, "").strip())}
    for key, value in values.items():
        if looks_like_key(value):
            raise ConfigurationError(
                f"The environment variable {names[key]} looks like a credential (not shown): "
                "put that into the provider's own variable, such as OPENAI_API_KEY."
            )
    try:
        return SECTIONS[section].model_validate_strings(values).model_dump(exclude_unset=True)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        name = names[str(first["loc"][0])]
        reason = f"{name}{assigned(first['input'])}: {complaint(first)}"
        raise ConfigurationError(f"The environment variable {reason}.") from None


def _set_variable(section: str, key: str) -> str:
    """The VERACITY_… variable takes precedence over its alias."""
    own = variable(section, key)
    return own if os.environ.get(own, "").strip() else ALIASES.get((section, key), own)


def _refuse_unknown_variables() -> None:
    """Raise for a variable that is probably a misspelt setting. Other VERACITY_… variables are ignored."""
    known = [variable(section, key) for section in SECTIONS for key in KEYS[section]]
    for name in own_variables():
        close = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.85)
        is_setting = close or "__" in name or name.upper().removeprefix(PREFIX).lower() in SECTIONS
        if is_setting and name not in known:
            hint = f"did you mean {close[0]}?" if close else _known_names(name)
            raise ConfigurationError(f"The environment variable {presentable(name)} is not a setting; {hint}")


def _known_names(name: str) -> str:
    """The variables of the section, if the name has a known one."""
    section = name.upper().removeprefix(PREFIX).partition("__")[0].lower()
    if section in SECTIONS:
        return f"known: {', '.join(variable(section, key) for key in KEYS[section])}."
    return f"settings are named {PREFIX}SECTION__KEY, and the sections are: {', '.join(SECTIONS)}."


def own_variables() -> dict[str, str]:
    """Non-empty environment variables that start with VERACITY_."""
    return {name: value for name, value in os.environ.items() if name.upper().startswith(PREFIX) and value.strip()}
