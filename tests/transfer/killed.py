"""Backups and moves that are killed at a given call of a function."""

import importlib
import os
import signal
from pathlib import Path
from typing import Any

from veracity.transfer.backup import back_up
from veracity.transfer.move import move_store


def work_until_killed(options: dict[str, Any]) -> None:
    owner, name, call = importlib.import_module(options["module"]), options["function"], options["call"]
    original, calls = getattr(owner, name), []

    def die(*arguments: object, **keywords: object) -> object:
        calls.append(name)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **keywords)

    setattr(owner, name, die)
    root = Path(options["root"])
    if url := options.get("url"):
        move_store(root, ledger=url)
    else:
        back_up(root, Path(options["file"]))
