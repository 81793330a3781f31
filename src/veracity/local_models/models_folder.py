"""The folder of pulled models, and lock.json in it: which revision each one is, and what its files must be.

    FOLDER/lock.json
    FOLDER/onnx/intfloat/multilingual-e5-small/onnx/model.onnx

A file is trusted when it is pulled first, unless its hash was known before. From then on it must stay the same: every
load and every later pull compares it with lock.json, also if that was copied from another machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from veracity.errors import ConfigurationError, reason_of
from veracity.local_models.known import FilePin, Kind, KnownModel, find_known
from veracity.secrets import presentable

LOCK_FILE = "lock.json"
MAX_NAME = 200
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_CACHE_FOLDER = re.compile(r"models--([^/\\]+?)--([^/\\]+)[/\\]snapshots[/\\]")


class LockedModel(BaseModel):
    """A model as it was pulled. `revision` is empty if it came from a folder."""

    model_config = ConfigDict(frozen=True)

    revision: str
    origin: str
    licence: str
    files: dict[str, FilePin]


class _Lock(BaseModel):
    version: Literal[1] = 1
    models: dict[str, LockedModel] = {}


@dataclass(frozen=True)
class LocalModel:
    """A model on this disk. `locked` is None for a folder of the user's own."""

    name: str
    path: Path
    known: KnownModel | None
    locked: LockedModel | None = None

    def require_intact(self) -> None:
        """Raise `ConfigurationError` if a file is not the one that was pulled."""
        for name, pin in (self.locked.files if self.locked else {}).items():
            if not matches(self.path / name, pin):
                raise ConfigurationError(
                    f'The model "{self.name}" is damaged: {name} is not the file that was pulled; '
                    f'delete "{self.path}" and pull the model again.'
                )


class ModelsFolder:
    """`setting` is `models.folder`; empty for the default."""

    def __init__(self, setting: str = "") -> None:
        self.path = Path(setting).expanduser().absolute() if setting else default_folder()

    def path_of(self, kind: Kind, name: str) -> Path:
        return self.path / kind / check_name(name)

    def locked(self) -> dict[str, LockedModel]:
        """By "kind:name"; also models whose files are gone. Raises `ConfigurationError` if lock.json is unreadable."""
        file = self.path / LOCK_FILE
        try:
            return _Lock.model_validate_json(file.read_bytes()).models
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as problem:
            reason = reason_of(problem) if isinstance(problem, OSError) else "not a lock file"
        raise ConfigurationError(
            f"{file} cannot be read ({reason}): restore it, or delete it and pull the models again."
        )

    def record(self, key: str, model: LockedModel) -> None:
        from filelock import FileLock  # noqa: PLC0415 - only pulling needs it

        file = self.path / LOCK_FILE
        with FileLock(f"{file}.writing"):
            models = self.locked() | {key: model}
            ordered = _Lock(models=dict(sorted(models.items())))
            fresh = file.with_suffix(".new")
            fresh.write_text(ordered.model_dump_json(indent=2) + "\n", encoding="utf-8")
            fresh.replace(file)

    def find(self, kind: Kind, name: str) -> LocalModel:
        """A folder of the user's, or a pulled model. Raises `ConfigurationError` if it is neither."""
        own = _expand_user(name)
        if _is_folder(own):
            return LocalModel(name, own, find_known(_guess_name(own)))
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f'There is no model in the folder "{presentable(name, MAX_NAME)}": check the path after "{kind}:".'
            )
        path, locked = self.path_of(kind, name), self.locked().get(f"{kind}:{name}")
        if locked is None or not _is_folder(path):
            raise not_pulled(kind, name, self.path)
        return LocalModel(name, path, find_known(name), locked)


def not_pulled(kind: Kind, name: str, folder: Path) -> ConfigurationError:
    pulled = name if kind == "onnx" else f"{kind}:{name}"
    return ConfigurationError(
        f'The model "{presentable(name, MAX_NAME)}" is not in "{folder}", and nothing is fetched unasked: '
        f"run: veracity models pull {presentable(pulled, MAX_NAME)}"
    )


def default_folder() -> Path:
    """Where the platform keeps a user's data."""
    if data := os.environ.get("XDG_DATA_HOME" if sys.platform != "win32" else "LOCALAPPDATA", ""):
        return Path(data) / "veracity" / "models"
    return Path.home() / ".local" / "share" / "veracity" / "models"


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ConfigurationError(
            f'"{presentable(name, MAX_NAME)}" is not the name of a model: write it like intfloat/multilingual-e5-small.'
        )
    return name


def matches(path: Path, pin: FilePin) -> bool:
    """Whether the file has this size and hash."""
    try:
        return path.stat().st_size == pin.size and sha256_of(path) == pin.sha256
    except OSError:
        return False


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _guess_name(folder: Path) -> str:
    """The name of the model in a folder: as the cache of Hugging Face writes it, or the name of the folder."""
    cached = _CACHE_FOLDER.search(f"{folder}/")
    return f"{cached[1]}/{cached[2]}" if cached else folder.name


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # not a valid file name
        return False


def _expand_user(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # "~name" without such a user
        return Path(name)
