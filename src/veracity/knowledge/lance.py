"""Imports LanceDB without what Veracity never uses: the client of its REST service, and checks of its own classes.

That saves more than half of the import (`python -m benchmarks.startup`, lines "import lancedb" and "LanceDB as Veracity
loads it"). Other code in the same process can still use the client: it is loaded on first use.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from veracity.deferred_imports import deferred, without_pandas


@contextmanager
def _without_override_checks() -> Iterator[None]:
    """On Python 3.11 LanceDB compares the signatures of its classes on import; on 3.12 it uses `typing.override`."""
    if sys.version_info >= (3, 12) or "overrides" in sys.modules:
        yield
        return
    stand_in: Any = ModuleType("overrides")
    stand_in.override = lambda method: method
    stand_in.EnforceOverrides = type("EnforceOverrides", (), {})
    sys.modules["overrides"] = stand_in
    try:
        yield
    finally:
        del sys.modules["overrides"]


with deferred("lance_namespace_urllib3_client"), without_pandas(), _without_override_checks():
    import lancedb
    from lancedb.index import FTS, HnswSq
    from lancedb.query import MatchQuery
    from lancedb.table import Table

__all__ = ["FTS", "HnswSq", "MatchQuery", "Table", "lancedb"]
