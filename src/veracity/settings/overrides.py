"""Changes single settings for one experiment: `models.writer=openai:gpt-5`."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from veracity.errors import InputError
from veracity.secrets import looks_like_key, presentable
from veracity.settings.loading import require_sound_settings
from veracity.settings.pace import with_pace
from veracity.settings.sections import KEYS, SECTIONS, Settings
from veracity.settings.toml import alternatives, assigned, complaint

FIXED = ("store", "server", "worker")  # where a workspace is, and how it is served, is no part of an experiment


def with_overrides(settings: Settings, overrides: Iterable[str]) -> Settings:
    """Settings with these changes, each `SECTION.KEY=VALUE`. Raises `InputError` for one that is not valid."""
    changed: dict[str, dict[str, str]] = {}
    for override in overrides:
        section, key, value = _split(override)
        changed.setdefault(section, {})[key] = value
    sections = {name: _change(settings, name, values) for name, values in changed.items()}
    result = with_pace(settings.model_copy(update=sections))
    require_sound_settings(result, "--set")
    return result


def _split(override: str) -> tuple[str, str, str]:
    name, separator, value = override.partition("=")
    section, _, key = name.strip().partition(".")
    if not separator or not key:
        raise InputError(f'"{presentable(override)}" is not a setting: write --set SECTION.KEY=VALUE.')
    if section not in SECTIONS or section in FIXED:
        known = alternatives(section, [name for name in SECTIONS if name not in FIXED])
        raise InputError(f'--set {presentable(name)}: there is no section "{presentable(section)}"{known}.')
    if key not in KEYS[section]:
        raise InputError(f"--set {presentable(name)}: there is no such setting{alternatives(key, KEYS[section])}.")
    if looks_like_key(value):
        raise InputError(f"--set {name} looks like a credential (not shown): set the provider's own variable instead.")
    return section, key, value.strip()


def _change(settings: Settings, section: str, values: dict[str, str]) -> object:
    try:
        update = SECTIONS[section].model_validate_strings(values).model_dump(exclude_unset=True)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        name = f"{section}.{first['loc'][0]}"
        raise InputError(f"--set {name}{assigned(first['input'])}: {complaint(first)}.") from None
    return getattr(settings, section).model_copy(update=update)
