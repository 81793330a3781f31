"""`veracity users`: who may use the workspace over the network.

A token goes to standard output, alone, so that it can be piped on; what is said of it to standard error.
"""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from veracity.cli.console import console, plain, table
from veracity.cli.ingesting import existing
from veracity.engine import Veracity
from veracity.models import Role

errors = Console(stderr=True, highlight=False)


def run(workspace: Path | None, as_json: bool) -> None:
    with Veracity(existing(workspace)) as engine:
        known = engine.users.list()
    if as_json:
        print(json.dumps([one.model_dump(mode="json") for one in known], ensure_ascii=False, indent=2))
        return
    if not known:
        console.print(plain("There are no users yet: veracity users add NAME --role asker."))
        return
    rows = table("User", "Role", "Since (UTC)", whole=("User",))
    for one in known:
        rows.add_row(plain(one.name), one.role, f"{one.created:%Y-%m-%d %H:%M}")
    console.print(rows)


def add(name: str, role: Role, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        token = engine.users.add(name, role)
    _hand_over(token, f"Added {name}, {role}.")


def renew(name: str, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        token = engine.users.renew(name)
    _hand_over(token, f"The old token of {name} is refused from now on.")


def remove(name: str, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        engine.users.remove(name)
    console.print(plain(f"Removed {name}: the token is refused from now on. What {name} asked stays."), soft_wrap=True)


def change_role(name: str, role: Role, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        engine.users.change_role(name, role)
    console.print(plain(f"The role of {name} is {role} from now on."), soft_wrap=True)


def _hand_over(token: str, told: str) -> None:
    """It is printed as it is: on a narrow terminal, a table would break it."""
    errors.print(plain(f"{told} The token is shown only now: keep it in a safe place."), soft_wrap=True)
    print(token)
