"""`veracity worker`."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from veracity.cli.ui.console import console, plain
from veracity.engine import Veracity, require_existing_workspace
from veracity.errors import ConfigurationError
from veracity.maintenance import export_spans


def work(workspace: Path | None, only: str) -> None:
    root = require_existing_workspace(workspace)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    export_spans()
    with Veracity(root) as engine:
        if not engine.settings.store.ledger:
            raise ConfigurationError("A worker shares a ledger with servers: set store.ledger to a Postgres database.")
        from veracity import worker  # noqa: PLC0415 - an extra

        queues = worker.parse_queues(only)
        console.print(plain(f"A worker of {root.resolve()} takes {', '.join(queues)}. Press Ctrl-C to stop."))
        worker.work(engine, queues)
