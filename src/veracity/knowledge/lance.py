"""LanceDB, loaded without the client of its REST catalogue.

That client takes two fifths of the time that LanceDB takes to load (`python -m benchmarks.import_cost`), and nothing
here speaks to a catalogue. Whoever does use it in the same program gets it: it is loaded when it is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_CLIENT = "lance_namespace_urllib3_client"
_API = f"{_CLIENT}.api"
_UNREAD: Any = object()


class _Unread(ModuleType):
    """Stands in for a module of the API while the package around it is loaded."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _UNREAD


class _UnreadFinder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=name == _API) if _is_of_api(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Unread(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def _is_of_api(name: str) -> bool:
    return name == _API or name.startswith(f"{_API}.")


def _load_without_api() -> None:
    finder = _UnreadFinder()
    sys.meta_path.insert(0, finder)
    try:
        client = importlib.import_module(_CLIENT)
    except ModuleNotFoundError:  # a LanceDB that has no such client needs no help
        return
    finally:
        sys.meta_path.remove(finder)
        for name in filter(_is_of_api, list(sys.modules)):
            del sys.modules[name]
    unread = {name for name, value in vars(client).items() if value is _UNREAD or isinstance(value, _Unread)}
    for name in unread:
        delattr(client, name)

    def load(name: str) -> Any:
        if name not in unread:
            raise AttributeError(f"module {_CLIENT!r} has no attribute {name!r}")
        api = importlib.import_module(_API)
        return api if name == "api" else getattr(api, name)

    client.__getattr__ = load  # type: ignore[method-assign]


if _CLIENT not in sys.modules:
    _load_without_api()

import lancedb  # noqa: E402
from lancedb.index import FTS, HnswSq  # noqa: E402
from lancedb.query import MatchQuery  # noqa: E402
from lancedb.table import Table  # noqa: E402

__all__ = ["FTS", "HnswSq", "MatchQuery", "Table", "lancedb"]
