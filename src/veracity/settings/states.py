"""The settings in force for people to read: each with its source, the model of each role, and the model servers."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from veracity.secrets import without_secrets
from veracity.settings.loading import set_variable, variable
from veracity.settings.sections import SECTIONS, Settings

JUDGE = "judge"
LANGUAGE_ROLES = ("writer", "reviewer", "rewriter", "router", "summarizer")

Source = Literal["default", "file", "environment", "command_line", "pace"]
Value = str | int | float | bool | list[str] | None


@dataclass(frozen=True)
class SettingState:
    """A setting in force. The source "pace" is `llm.pace`. `is_changed`: the environment or the command line sets it,
    or the value is not the default."""

    name: str
    value: Value
    source: Source
    variable: str
    is_changed: bool
    description: str


@dataclass(frozen=True)
class RoleState:
    """A role and its model. `model` is empty for a role that runs on this machine without one. A judge has the
    `metrics` that use it."""

    role: str
    model: str
    metrics: Sequence[str] = ()


@dataclass(frozen=True)
class ServerState:
    """A server of the settings. `key_env` is empty if it gets no key."""

    name: str
    url: str
    key_env: str
    has_key: bool


def is_set(name: str) -> bool:
    """Whether the environment has this variable, and it is not blank."""
    return bool(os.environ.get(name, "").strip())


def setting_states(settings: Settings, command_line: Collection[str] = ()) -> list[SettingState]:
    """Every setting. `command_line` names those that an option of the command sets, such as "server.port"."""
    return [
        _setting_state(settings, section, key, f"{section}.{key}" in command_line)
        for section, model in SECTIONS.items()
        for key in model.model_fields
    ]


def role_states(settings: Settings, judged: Mapping[str, Sequence[str]]) -> list[RoleState]:
    """Every role. `judged` has the metrics in use by their judge model."""
    models = settings.models
    judges = {**({models.judge: ()} if models.judge else {}), **judged}
    return [
        *(RoleState(role, getattr(models, role) or "") for role in LANGUAGE_ROLES),
        *([RoleState(JUDGE, model, metrics) for model, metrics in judges.items()] or [RoleState(JUDGE, "")]),
        RoleState("embedder", models.embedder),
        RoleState("reranker", settings.reranker),
        RoleState("reader", settings.reader),
    ]


def language_models(roles: Collection[RoleState]) -> list[str]:
    """Every configured language model, each once."""
    named = [role.model for role in roles if role.role not in ("embedder", "reranker", "reader")]
    return list(dict.fromkeys(filter(None, named)))


def server_states(settings: Settings) -> Iterator[ServerState]:
    for name, server in settings.servers.items():
        yield ServerState(name, server.url, server.key_env or "", bool(server.key_env) and is_set(server.key_env or ""))


def _setting_state(settings: Settings, section: str, key: str, is_option: bool) -> SettingState:
    values, field = getattr(settings, section), SECTIONS[section].model_fields[key]
    value, own_variable = getattr(values, key), set_variable(section, key)
    is_in_environment = is_set(own_variable)
    is_default = value == field.get_default(call_default_factory=True)
    source: Source = "default" if is_default else "pace"
    if is_option:
        source = "command_line"
    elif is_in_environment:
        source = "environment"
    elif key in values.model_fields_set:
        source = "file"
    is_changed = not is_default or source in ("command_line", "environment")
    name = own_variable if is_in_environment else variable(section, key)
    return SettingState(f"{section}.{key}", _shown(value), source, name, is_changed, field.description or "")


def _shown(value: Value) -> Value:
    """The loader refuses credentials; this hides what it may have missed."""
    if isinstance(value, str):
        return without_secrets(value)
    return [without_secrets(item) for item in value] if isinstance(value, list) else value
