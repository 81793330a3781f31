"""Replaces functions, patterns and tables of the product while a rule is switched off, and counts their lines.

A name is written `agents/spelling:correct_spelling`; without a colon it is the whole module.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import veracity

PACKAGES = ("veracity.agents", "veracity.grounding", "veracity.language", "veracity.retrieval", "veracity.evaluator")
# Loaded models and vectors, which no rule changes.
KEPT_CACHES = frozenset(("_embed", "_ordinary_words"))


def module_of(name: str) -> ModuleType:
    return importlib.import_module("veracity." + name.partition(":")[0].replace("/", "."))


def find(name: str) -> Any:
    found: Any = module_of(name)
    for part in name.partition(":")[2].split("."):
        found = getattr(found, part)
    return found


def count_lines(name: str) -> int:
    """The lines of a module, or of a definition in it with the comments above it."""
    lines = Path(str(module_of(name).__file__)).read_text(encoding="utf-8").splitlines()
    *outer, wanted = name.partition(":")[2].split(".")
    if not wanted:
        return len(lines)
    body = ast.parse("\n".join(lines)).body
    for part in outer:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == part)
    node = next(node for node in body if wanted in _defined_names(node))
    first = node.lineno - len(getattr(node, "decorator_list", ()))
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return (node.end_lineno or first) - first + 1


def _defined_names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)}


@contextmanager
def switched_off(replacements: Mapping[str, object]) -> Iterator[None]:
    """Replaces each name where it is defined and wherever it was imported."""
    with ExitStack() as stack:
        for name, value in replacements.items():
            *outer, attribute = name.partition(":")[2].split(".")
            if outer:
                owner = find(f"{name.partition(':')[0]}:{'.'.join(outer)}")
                stack.enter_context(patch.object(owner, attribute, value))
                continue
            original = find(name)
            for module in list(_loaded_modules()):
                if module.__dict__.get(attribute) is original:
                    stack.enter_context(patch.object(module, attribute, value))
        clear_caches()
        yield
    clear_caches()


def _loaded_modules() -> Iterator[ModuleType]:
    names = [name for name in sys.modules if name.startswith(("veracity.", "benchmarks."))]
    return (module for name in names if (module := sys.modules[name]) is not None)


def clear_caches() -> None:
    for module in list(_loaded_modules()):
        for attribute, value in list(vars(module).items()):
            if attribute not in KEPT_CACHES and module.__name__.startswith(PACKAGES) and hasattr(value, "cache_clear"):
                value.cache_clear()


def import_everything() -> None:
    """Imports the modules of the packages, so that no later import binds a replaced name."""
    for package in pkgutil.walk_packages(veracity.__path__, "veracity."):
        if package.name.startswith(PACKAGES):
            importlib.import_module(package.name)
