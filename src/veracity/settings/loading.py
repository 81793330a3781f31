"""Where settings come from: defaults ← `veracity.toml` ← environment.

Each setting is also an environment variable: `[models] judge` is VERACITY_MODELS__JUDGE. Holds no credentials, ever.
The file and the environment are checked each on its own, so that an error can say where the value stands.
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

# Names of the environment under which these two are known elsewhere.
ALIASES = {("answering", "gener_epoch"): "GENER_EPOCH", ("models", "reviewer"): "LLM_MUTI_AGENT"}


def load_settings(content: bytes | None, path: Path) -> Settings:
    """`content` is what the file holds, None when there is none."""
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
    """What no single setting can tell: each may come from another place."""
    weights = ("coverage_weight", "relevance_weight", "diversity_weight", "count_weight")
    total = sum(getattr(quality, name) for name in weights)
    if abs(total - 1) > 0.001:
        told = " + ".join(f"{name} {getattr(quality, name):g}" for name in weights)
        raise ConfigurationError(f"The weights of [quality] must sum to 1, not {total:g}: {told}.")
    if quality.coverage_weight > 0.999:
        raise ConfigurationError(
            "[quality] coverage_weight leaves nothing for the others, and coverage is not always known: lower it."
        )
    if quality.medium > quality.high:
        raise ConfigurationError(
            f"[quality] medium ({quality.medium:g}) must not be above high ({quality.high:g}): lower the one or raise "
            "the other."
        )


def model_warnings(models: ModelSettings) -> list[str]:
    """What works, but not as it is meant to (SPEC A9)."""
    if models.writer is None or models.reviewer is None or _bare(models.writer) != _bare(models.reviewer):
        return []
    return [
        f'The model "{models.writer}" reviews what it wrote itself ({origin("models", "reviewer")}): '
        "set models.reviewer to another model."
    ]


def _bare(model: str) -> tuple[str, str]:
    """One provider has several doors: `openai:`, `openai-chat:` and `openai-responses:` lead to the same model."""
    provider, _, name = model.partition(":")
    return provider.partition("-")[0], name


def variable(section: str, key: str) -> str:
    """The environment variable of a setting."""
    return f"{PREFIX}{section}__{key}".upper()


def origin(section: str, key: str) -> str:
    """Where a setting that is set was set."""
    name = _given_variable(section, key)
    return f"the environment variable {name}" if os.environ.get(name, "").strip() else f"veracity.toml, {section}.{key}"


def _in_environment(section: str) -> dict[str, Any]:
    """The settings of a section that the environment gives. An empty variable is none."""
    names = {key: _given_variable(section, key) for key in KEYS[section]}
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


def _given_variable(section: str, key: str) -> str:
    """Our own name wins over the other one."""
    own = variable(section, key)
    return own if os.environ.get(own, "").strip() else ALIASES.get((section, key), own)


def _refuse_unknown_variables() -> None:
    """What is nearly a setting is meant as one. Other names that begin like ours are not our business."""
    known = [variable(section, key) for section in SECTIONS for key in KEYS[section]]
    for name in own_variables():
        close = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.85)
        meant = close or "__" in name or name.upper().removeprefix(PREFIX).lower() in SECTIONS
        if meant and name not in known:
            hint = f"did you mean {close[0]}?" if close else _those_there_are(name)
            raise ConfigurationError(f"The environment variable {presentable(name)} is not a setting; {hint}")


def _those_there_are(name: str) -> str:
    """Those of the section that the variable names, if it names one."""
    section = name.upper().removeprefix(PREFIX).partition("__")[0].lower()
    if section in SECTIONS:
        return f"there are: {', '.join(variable(section, key) for key in KEYS[section])}."
    return f"settings are named {PREFIX}SECTION__KEY, and the sections are: {', '.join(SECTIONS)}."


def own_variables() -> dict[str, str]:
    """The variables of the environment that begin like ours and hold something."""
    return {name: value for name, value in os.environ.items() if name.upper().startswith(PREFIX) and value.strip()}
