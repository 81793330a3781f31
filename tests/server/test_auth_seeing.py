"""When users were last here: kept beside their requests, and in the way of none."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from tests.server.conftest import MakeEngine, Serve
from veracity.engine import Veracity
from veracity.ledger.database import BUSY_SECONDS


def _last_seen(engine: Veracity, name: str) -> bool:
    return next(one for one in engine.users.list() if one.name == name).last_seen is not None


def test_who_comes_is_seen_and_nobody_waits_for_that(serve: Serve, engine_with: MakeEngine, root: Path) -> None:
    served = serve(engine_with())
    ann, bob = served.client(role="asker", name="ann"), served.client(role="asker", name="bob")
    served.token("asker", "never")
    with closing(sqlite3.connect(root / "ledger" / "ledger.sqlite", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # somebody writes, and takes his time
        begun = time.monotonic()
        assert [client.get("/api/me").status_code for client in (ann, bob, ann, served.client())] == [200] * 4
        assert time.monotonic() - begun < BUSY_SECONDS
        assert not _last_seen(served.engine, "ann")
        connection.execute("ROLLBACK")
    end = time.monotonic() + 30
    while not (_last_seen(served.engine, "ann") and _last_seen(served.engine, "bob")):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert not _last_seen(served.engine, "never")
