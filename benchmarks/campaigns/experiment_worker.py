"""The process of the campaign that kills experiments: it runs or resumes one until it is killed.

A module of its own: the fork server finds a task by the name of its module.
"""

from __future__ import annotations

import traceback
from typing import Any

from veracity import Veracity
from veracity.settings import ModelSettings, ReadingSettings, Settings

SETTINGS = Settings(models=ModelSettings(embedder="none"), reading=ReadingSettings(workers=1))
NAME, SUITE = "killed", "rooms"
CONCURRENCY = 4


def run_experiment(options: dict[str, Any]) -> None:
    try:
        with Veracity(options["root"], settings=SETTINGS) as engine:
            engine.experiment(SUITE, name=NAME, concurrency=CONCURRENCY)
    except BaseException:
        traceback.print_exc()
        raise
