"""Imports LanceDB without the API classes of its REST client, which Veracity never uses.

That saves a quarter of LanceDB's import: 1.5 s of 5.9 s CPU on a busy 2-core machine (`python -m
benchmarks.import_cost`, lines "import lancedb" and "lancedb as we load it"). Other code in the same process can still
use them: they are loaded on first access.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_CLIENT = "lance_namespace_urllib3_client"
_PLACEHOLDER: Any = object()


class _StubModule(ModuleType):
    """Stands in for a module while the client is imported: every name in it is a placeholder."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _PLACEHOLDER


def _import_client_without_api() -> None:
    spec = importlib.util.find_spec(_CLIENT)
    if spec is None or not spec.submodule_search_locations:  # this version of LanceDB has no such client
        return
    folder = Path(spec.submodule_search_locations[0]) / "api"
    stubs = [f"{_CLIENT}.api.{path.stem}" for path in folder.glob("*_api.py")]
    sys.modules.update({name: _StubModule(name) for name in stubs})
    try:
        client = importlib.import_module(_CLIENT)
    finally:
        for name in stubs:
            del sys.modules[name]
    missing = {name for name, value in vars(client).items() if value is _PLACEHOLDER}
    for name in missing:
        delattr(client, name)

    def load(name: str) -> Any:
        if name != "api" and name not in missing:
            raise AttributeError(f"module {_CLIENT!r} has no attribute {name!r}")
        api = importlib.import_module(f"{_CLIENT}.api")
        return api if name == "api" else getattr(api, name)

    client.__getattr__ = load  # type: ignore[method-assign]


if _CLIENT not in sys.modules:
    _import_client_without_api()

import lancedb  # noqa: E402
from lancedb.index import FTS, HnswSq  # noqa: E402
from lancedb.query import MatchQuery  # noqa: E402
from lancedb.table import Table  # noqa: E402

__all__ = ["FTS", "HnswSq", "MatchQuery", "Table", "lancedb"]
