"""The options that several commands have."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import Annotated, Any

import typer

from veracity.errors import InputError

LOCAL = "local"  # equals models.LOCAL, which would load Pydantic for every --help
ROLES = "asker|approver|admin"
ROLE_HELP = (
    "asker: asks and sees own answers; approver: also decides on drafts; admin: also changes documents and users."
)


def require_name(option: typer.CallbackParam, name: str | None) -> str | None:
    if name is not None and not name.strip():
        raise InputError(f"{option.opts[0]} is given without a name: name it, or leave the option out.")
    return name


def _resolve_paths(paths: list[str] | None) -> list[str]:
    """A path that exists means this file or folder. Anything else is a pattern for the engine."""
    return [_resolve_path(path) for path in paths or []]


def _resolve_path(path: str) -> str:
    full = os.path.normpath(Path(path).absolute())
    if not path.strip() or not os.path.lexists(full):
        return path
    return f"{full}/" if Path(full).is_dir() else full


def name_option(text: str, *flags: str) -> Any:
    return typer.Option(*flags, metavar="NAME", help=text, show_default=False, callback=require_name)


def place_option(flag: str, example: str, content: str) -> Any:
    return typer.Option(flag, metavar="PLACE", help=f"Where to move {content}: {example}, or the word workspace.")


WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", metavar="DIR", help="The workspace. Default: this directory, if it is one."),
]
UserOption = Annotated[str, name_option("The name of the user. Default: local.", "--user")]
OwnerOption = Annotated[str, name_option("The conversation's user. Default: local.", "--user")]
FilterUserOption = Annotated[str | None, name_option("Only questions of this user.", "--user")]
ByOption = Annotated[str | None, name_option("Your name. Default: the login name.", "--by")]
LanguageOption = Annotated[
    str | None,
    typer.Option(
        "--language", metavar="en|zh|ja", help="The language of report.html. Default: that of the terminal, or en."
    ),
]
LimitOption = Annotated[int, typer.Option("-n", "--limit", metavar="N", min=1, help="Maximum number of rows.")]
ApprovalArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The approval's id or a prefix of it, its run's id, or: last.")
]
ForgottenOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--forgotten",
        metavar="FILE",
        help="The ledger/forgotten.jsonl of another workspace: what was forgotten there; may be repeated.",
    ),
]
UserArgument = Annotated[str, typer.Argument(metavar="NAME", help="The user.")]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="PATH|GLOB",
        help="Use only documents that match, such as handbook/ or *.pdf; may be repeated.",
        show_default=False,
        callback=_resolve_paths,
    ),
]
StepsOption = Annotated[bool, typer.Option("--show-steps", help="Print each step to standard error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
