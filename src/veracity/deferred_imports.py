"""Puts off the import of modules that libraries import and Veracity hardly ever uses, such as clients of services.

While `deferred` is active, these modules are replaced by placeholders: each name imported from one is a `Deferred`,
which imports the real module when it is called, subclassed or asked for an attribute. `python -m
benchmarks.startup` prints what it saves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_is_own_process = False


def own_process() -> None:
    """Say that this process runs a command of Veracity: no other code in it expects pyarrow to know pandas."""
    global _is_own_process  # noqa: PLW0603 - a fact about the process
    _is_own_process = True


class Deferred:
    """A name of a module that is not imported yet. Behaves like its class or function, but is not equal to it."""

    def __init__(self, module: str, name: str) -> None:
        self.__dict__.update(_module=module, _name=name)

    def _load(self) -> Any:
        return getattr(import_module(self._module), self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what `typing` looks for in annotations
            raise AttributeError(name)
        return getattr(self._load(), name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._load()(*arguments, **named)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._load())

    def __subclasscheck__(self, other: type) -> bool:
        return issubclass(other, self._load())

    def __mro_entries__(self, _bases: tuple[object, ...]) -> tuple[Any, ...]:
        return (self._load(),)

    def __getitem__(self, item: Any) -> Any:
        return self._load()[item]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> dict[str, Any]:
        """A field of this type holds any object: checking it would import the module when its model is defined."""
        return {"type": "any"}


class _Placeholder(ModuleType):
    """A module in which every name is a `Deferred`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Deferred(self.__name__, name)


class _Finder(MetaPathFinder, Loader):
    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        is_deferred = any(name == module or name.startswith(f"{module}.") for module in self._modules)
        return ModuleSpec(name, self, is_package=True) if is_deferred else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs: the names are found when they are used."""


@contextmanager
def deferred(*modules: str) -> Iterator[None]:
    """Replace the imports of these modules and of their submodules in this block, unless they were imported before.

    Imports after the block get the real modules.
    """
    finder = _Finder([module for module in modules if module not in sys.modules])
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if isinstance(module, _Placeholder):
                del sys.modules[name]
                package, _, own = name.rpartition(".")
                if package in sys.modules:
                    vars(sys.modules[package]).pop(own, None)


@contextmanager
def deferred_in_commands(*modules: str) -> Iterator[None]:
    """Like `deferred`, for modules that other programs may use: does nothing in them."""
    if not _is_own_process:
        yield
        return
    with deferred(*modules):
        yield


@contextmanager
def without_pandas() -> Iterator[None]:
    """Hide pandas from pyarrow, which imports it with the first value it makes. Does nothing in other programs.

    pyarrow then takes pandas objects for sequences, until something asks it for a data frame.
    """
    if not _is_own_process or "pandas" in sys.modules:
        yield
        return
    finder = _Absent()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Absent(MetaPathFinder):
    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)
