"""The user's own model servers: `[servers.NAME]` in the settings, and `NAME:model` where a model is named.

`[servers.gpu] url` is also the variable VERACITY_SERVERS__GPU__URL. A `-` in a name is a `_` in the variable.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict

from veracity.secrets import KEY_VARIABLE, presentable

# pydantic-ai's providers with their environment variables. Any one of a provider's variables is enough. Empty: the SDK
# looks for credentials of another kind.
PROVIDERS: dict[str, tuple[str, ...]] = {
    name: tuple(variables)
    for name, variables in json.loads((Path(__file__).parent / "variables.json").read_text(encoding="utf-8")).items()
}
# Models that run on this machine: a folder, or a name that a library knows.
LOCAL_KINDS = ("onnx", "fastembed", "sentence-transformers")
# What else a setting may name before a colon, or without one.
OTHER_KINDS = frozenset(
    {"bundled", "cross-encoder", "gateway", "jina", "none", "server", "test", "voyage", *LOCAL_KINDS}
)

VARIABLE_PREFIX = "VERACITY_SERVERS__"
_VARIABLE = re.compile(rf"{VARIABLE_PREFIX}([A-Z0-9_]+?)__(URL|KEY_ENV|API)")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def split_base_url(url: str) -> SplitResult | None:
    """None unless it is an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, or unbalanced brackets
        return None
    return parts if is_server else None


def _checked_url(url: str) -> str:
    url = url.strip()
    parts = split_base_url(url) if url.isprintable() and " " not in url else None
    if parts is None:
        raise ValueError("must be the address of a server, such as http://localhost:8000/v1")
    if "@" in parts.netloc:  # it would appear in logs
        raise ValueError("must not contain a user name or password: name the variable of the key in key_env")
    if "?" in url or "#" in url:
        raise ValueError("must end with its path: remove the ? or # and what follows it")
    return url.rstrip("/")


def _checked_key_env(name: str) -> str:
    if not _KEY_NAME.fullmatch(name):
        raise ValueError("must be the name of an environment variable, such as GPU_API_KEY")
    if not KEY_VARIABLE.search(name):  # `secrets` hides the values of such variables only
        raise ValueError("must be a variable with _KEY, _TOKEN, _SECRET or _PASSWORD in its name, such as GPU_API_KEY")
    return name


class ModelServer(BaseModel):
    """An OpenAI-compatible server, or a reranker. Without `key_env` no key is sent.

    `api` is "tei" for Text Embeddings Inference, whose own endpoints truncate long texts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[str, AfterValidator(_checked_url)]
    key_env: Annotated[str, AfterValidator(_checked_key_env)] | None = None
    api: Literal["openai", "tei"] = "openai"


def _checked_names(servers: dict[str, ModelServer]) -> dict[str, ModelServer]:
    variables: dict[str, str] = {}
    for name in servers:
        shown = presentable(name)
        if not _NAME.fullmatch(name):
            raise ValueError(f'a server cannot be called "{shown}": use small letters, digits, - and _')
        if name in PROVIDERS or name in OTHER_KINDS:
            raise ValueError(
                f'a server cannot be called "{shown}", which is the name of a provider or a kind of model: '
                "choose another name"
            )
        if other := variables.get(name.replace("-", "_")):
            raise ValueError(f'the servers "{other}" and "{shown}" would have the same environment variables')
        variables[name.replace("-", "_")] = name
    return servers


Servers = Annotated[dict[str, ModelServer], AfterValidator(_checked_names)]


def server_variable(server: str, key: str) -> str:
    """The environment variable of a server's setting."""
    return f"{VARIABLE_PREFIX}{server.replace('-', '_')}__{key}".upper()


def servers_in_environment(known: Mapping[str, ModelServer]) -> dict[str, dict[str, Any]]:
    """What the environment says of each server. `known` are those of the file."""
    names = {name.replace("-", "_"): name for name in known}
    found: dict[str, dict[str, Any]] = {}
    for variable, value in os.environ.items():
        if value.strip() and (match := _VARIABLE.fullmatch(variable)):
            name = match[1].lower()
            found.setdefault(names.get(name, name), {})[match[2].lower()] = value.strip()
    return found


def is_server_variable(variable: str) -> bool:
    return _VARIABLE.fullmatch(variable) is not None
