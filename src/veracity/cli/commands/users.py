"""`veracity users`: who may use the workspace over the network.

A token goes to standard output, alone, so that it can be piped on; what is said of it to standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from veracity.cli.commands.ingest import existing
from veracity.cli.ui.console import console, plain, table
from veracity.engine import Veracity
from veracity.models import Role
from veracity.server.listen import shared_address

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
    rows = table("User", "Role", "Since (UTC)", "Last seen (UTC)", whole=("User", "Since (UTC)", "Last seen (UTC)"))
    for one in known:
        seen = f"{one.last_seen:%Y-%m-%d %H:%M}" if one.last_seen else "never"
        rows.add_row(plain(one.name), one.role, f"{one.created:%Y-%m-%d %H:%M}", seen)
    console.print(rows)


def add(name: str, role: Role, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        token = engine.users.add(name, role)
        address = shared_address(engine.settings.server)
    _hand_over(token, f"Added {name}, {role}.", address)


def renew(name: str, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        token = engine.users.renew(name)
        address = shared_address(engine.settings.server)
    _hand_over(token, f"The old token of {name} is refused from now on.", address)


def remove(name: str, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        engine.users.remove(name)
    console.print(plain(f"Removed {name}: the token is refused from now on. What {name} asked stays."), soft_wrap=True)


def change_role(name: str, role: Role, workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        engine.users.change_role(name, role)
    console.print(plain(f"The role of {name} is {role} from now on."), soft_wrap=True)


def _hand_over(token: str, told: str, address: str) -> None:
    """It is printed as it is: on a narrow terminal, a table would break it. Who keeps it in a file is not shown it."""
    errors.print(plain(f"{told} The token is shown only now: keep it in a safe place."), soft_wrap=True)
    if address:
        shown = token if sys.stdout.isatty() else "TOKEN"
        errors.print(plain(f"The address to hand over, which signs in: {address}/#token={shown}"), soft_wrap=True)
    print(token)
