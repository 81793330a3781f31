"""The known metrics: built-in, from the workspace's files, and registered from Python (SPEC B7).

A metric is identified by its class name.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from veracity.errors import ConfigurationError
from veracity.evaluator import metrics as builtin
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.secrets import presentable, without_secrets
from veracity.settings.toml import alternatives

BUILT_IN = "built-in"
REGISTERED = "registered from Python"
REQUIREMENT = "it needs an evaluate() method, or a system_instruction if it derives from LLMMetric"


@dataclass(frozen=True, slots=True)
class Entry:
    """A metric and its origin: BUILT_IN, REGISTERED or the path of its file."""

    metric: BaseMetric
    origin: str

    @property
    def name(self) -> str:
        return type(self.metric).__name__

    @property
    def summary(self) -> str:
        """The first line of the class's own docstring, not of an inherited one."""
        return inspect.cleandoc(type(self.metric).__doc__ or "").split("\n")[0]


class Registry:
    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self._add(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def with_entries(self, entries: Iterable[Entry]) -> Registry:
        return Registry([*self, *entries])

    def find(self, name: str, where: str) -> BaseMetric:
        if entry := self._entries.get(name):
            return entry.metric
        raise ConfigurationError(
            f'{where}: there is no metric "{presentable(name)}"{alternatives(name, sorted(self._entries))}. '
            "A metric is named by its class; put your own into the workspace's metrics folder, or pass it to the "
            "Evaluator."
        )

    def _add(self, entry: Entry) -> None:
        other = self._entries.get(entry.name)
        if other and type(other.metric) is not type(entry.metric):
            raise ConfigurationError(
                f'Two metrics are called "{entry.name}" ({other.origin}; {entry.origin}): rename one of them.'
            )
        self._entries[entry.name] = entry


@cache
def built_in() -> tuple[Entry, ...]:
    names = [module.name for module in pkgutil.iter_modules(builtin.__path__)]
    modules = [importlib.import_module(f"{builtin.__name__}.{name}") for name in names]
    return tuple(entry for module in modules for entry in _entries(module, BUILT_IN))


def from_files(paths: Iterable[Path], contents: dict[Path, bytes]) -> list[Entry]:
    return [entry for path in paths for entry in _from_file(path, contents[path])]


def registered(metric: type[BaseMetric]) -> Entry:
    if not (isinstance(metric, type) and issubclass(metric, BaseMetric)):
        raise ConfigurationError(
            f"{presentable(repr(metric))} cannot be registered: give a class derived from BaseMetric, not an instance."
        )
    if not _is_complete(metric):
        raise ConfigurationError(f'The metric "{metric.__name__}" cannot be registered: {REQUIREMENT}.')
    return Entry(_create(metric, REGISTERED), REGISTERED)


def _from_file(path: Path, content: bytes) -> list[Entry]:
    # The name includes a checksum, because the last valid version may still be in use.
    module = ModuleType(f"{path.stem}@{path.parent}#{zlib.crc32(content)}")
    module.__file__, module.__package__ = str(path), ""
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    try:
        exec(compile(content, path, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a user's file may raise anything
        sys.modules.pop(module.__name__, None)
        raise ConfigurationError(
            f"{path} does not import: {_describe(problem, path)}: fix the file or remove it."
        ) from None
    _refuse_repeated_classes(content, path)
    entries = list(_entries(module, str(path)))
    if not entries:
        raise ConfigurationError(
            f"{path} defines no metric: define a class derived from BaseMetric ({REQUIREMENT}), "
            "or start the file's name with an underscore."
        )
    return entries


def _refuse_repeated_classes(content: bytes, path: Path) -> None:
    """Python silently lets a second class of the same name replace the first."""
    names = Counter(node.name for node in ast.parse(content).body if isinstance(node, ast.ClassDef))
    for name, count in names.items():
        if count > 1:
            raise ConfigurationError(f'{path} defines {count} classes called "{name}": rename all but one.')


def _entries(module: ModuleType, origin: str) -> Iterator[Entry]:
    """The public metrics a module defines, without imported ones."""
    for metric in dict.fromkeys(value for value in vars(module).values() if isinstance(value, type)):
        own = metric.__module__ == module.__name__ and not metric.__name__.startswith("_")
        if own and issubclass(metric, BaseMetric) and _is_complete(metric):
            yield Entry(_create(metric, origin), origin)


def _is_complete(metric: type[BaseMetric]) -> bool:
    """False for an abstract base class."""
    if issubclass(metric, LLMMetric) and metric.evaluate is LLMMetric.evaluate:
        return bool(str(metric.system_instruction or "").strip())
    return not inspect.isabstract(metric)


def _create(metric: type[BaseMetric], origin: str) -> BaseMetric:
    try:
        return metric()
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a user's class may raise anything
        raise ConfigurationError(
            f'{origin}: the metric "{metric.__name__}" cannot be created ({_describe(problem)}): '
            "its constructor must work without arguments."
        ) from None


def _describe(problem: BaseException, path: Path | None = None) -> str:
    """The error type, its message on one line and, for a file, the line number."""
    words = problem.msg if isinstance(problem, SyntaxError) else str(problem)
    message = presentable(without_secrets(" ".join(words.split())), 200)
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    line = problem.lineno if isinstance(problem, SyntaxError) else lines[-1] if lines else None
    return f"{type(problem).__name__}{message and f': {message}'}" + (f" (line {line})" if line else "")
