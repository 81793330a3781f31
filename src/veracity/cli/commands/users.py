"""`veracity users`: the users of `veracity serve`.

A token is printed alone on standard output, so that it can be piped; messages go to standard error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from veracity.cli.ui.console import console, error_console, plain, print_json, table
from veracity.engine import Veracity, require_existing_workspace
from veracity.models import Role
from veracity.server.listen import shared_address


def list_users(workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        users = engine.users.list()
    if as_json:
        print_json(users)
        return
    if not users:
        console.print(plain("There are no users yet: veracity users add NAME --role asker."))
        return
    rows = table("User", "Role", "Since (UTC)", "Last seen (UTC)", whole=("User", "Since (UTC)", "Last seen (UTC)"))
    for user in users:
        seen = f"{user.last_seen:%Y-%m-%d %H:%M}" if user.last_seen else "never"
        rows.add_row(plain(user.name), user.role, f"{user.created:%Y-%m-%d %H:%M}", seen)
    console.print(rows)


def add_user(name: str, role: str, workspace: Path | None) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        token = engine.users.add(name, cast(Role, role))  # raises if the role is unknown
        _print_token(token, f"Added {name}, {role}.", engine)


def renew_token(name: str, workspace: Path | None) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        token = engine.users.renew(name)
        _print_token(token, f"The old token of {name} is revoked.", engine)


def remove_user(name: str, workspace: Path | None) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        engine.users.remove(name)
    console.print(plain(f"Removed {name} and revoked the token. The questions of {name} are kept."), soft_wrap=True)


def change_role(name: str, role: str, workspace: Path | None) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        engine.users.change_role(name, cast(Role, role))
    console.print(plain(f"The role of {name} is now {role}."), soft_wrap=True)


def _print_token(token: str, message: str, engine: Veracity) -> None:
    """Prints the token without wrapping. The sign-in address contains it only if standard output is a terminal."""
    error_console.print(plain(f"{message} The token is shown only once: keep it in a safe place."), soft_wrap=True)
    if address := shared_address(engine.settings.server):
        shown = token if sys.stdout.isatty() else "TOKEN"
        error_console.print(plain(f"Sign-in address: {address}/#token={shown}"), soft_wrap=True)
    print(token)
