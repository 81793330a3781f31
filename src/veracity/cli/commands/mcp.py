"""`veracity mcp`."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from pathlib import Path

from veracity.engine import Veracity, require_existing_workspace
from veracity.errors import ConfigurationError, InputError
from veracity.maintenance import export_spans
from veracity.secrets import presentable


def serve_tools(workspace: Path | None, user: str, allow_decide: bool) -> None:
    root = require_existing_workspace(workspace)
    if find_spec("mcp") is None:
        raise ConfigurationError('veracity mcp needs an optional package: install it with pip install "veracity[mcp]".')
    from veracity.server.mcp.stdio import find_local_user, serve_stdio  # noqa: PLC0415 - loads the SDK

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    export_spans()
    with Veracity(root) as engine:
        caller = find_local_user(engine, user)
        if allow_decide and caller.role == "asker":
            raise InputError(
                f'--allow-decide needs an approver, but "{presentable(user)}" is an asker: change the role with '
                "veracity users role, or leave out --user."
            )
        serve_stdio(engine, caller, allow_decide)
