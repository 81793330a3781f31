"""The commands that have subcommands, with their options: users, models and observations."""

from __future__ import annotations

from typing import Annotated

import typer

from veracity.cli.options import ROLE_HELP, ROLES, JsonOption, UserArgument, WorkspaceOption

users = typer.Typer(rich_markup_mode=None)
models = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
observations = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@observations.command("export")
def export_observations(
    workspace: WorkspaceOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array instead of one record per line.")
    ] = False,
) -> None:
    """Print the records of observational_data.json.

    One JSON object per line: instruction (the question), input (the evidence), output (the answer).
    """
    from veracity.cli.commands.observations import export

    export(workspace, as_json)


@models.command("list")
def list_models(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the bundled, pulled and known models: languages, size, licence, and which setting uses them."""
    from veracity.cli.commands.models import list_models

    list_models(workspace, as_json)


@models.command("pull")
def pull_model(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Such as intfloat/multilingual-e5-small, fastembed:NAME or sentence-transformers:NAME."
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FOLDER|URL", help="A folder with the files, or a mirror of the hub."),
    ] = None,
    revision: Annotated[
        str, typer.Option("--revision", metavar="COMMIT", help="Default: the one that is pinned.", show_default=False)
    ] = "",
    file: Annotated[
        str,
        typer.Option("--file", metavar="PATH", help="The ONNX file, if not onnx/model.onnx.", show_default=False),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Fetch it without asking.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch a model for models.embedder or models.reranker.

    Shows licence, size and origin, and asks; without a terminal, only --yes fetches it. Files are compared with the
    hashes that are known, recorded in lock.json, and compared with it from then on. An interrupted pull continues.
    """
    from veracity.cli.commands.models import pull_model

    pull_model(name, source, revision, file, yes, workspace, as_json)


@users.callback(invoke_without_command=True)
def list_or_change_users(
    context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """List and change the users of veracity serve.

    Each user has a token and a role. Without a command: list them.
    """
    context.obj = (workspace, as_json)
    if context.invoked_subcommand is None:
        list_users(context)


@users.command("list")
def list_users(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the users and their roles."""
    from veracity.cli.commands.users import list_users

    list_users(workspace or context.obj[0], as_json or context.obj[1])


@users.command("add")
def add_user(
    context: typer.Context,
    name: UserArgument,
    role: Annotated[str, typer.Option("--role", metavar=ROLES, help=ROLE_HELP)],
    workspace: WorkspaceOption = None,
) -> None:
    """Add a user and print the token, which is shown only once."""
    from veracity.cli.commands.users import add_user

    add_user(name, role, workspace or context.obj[0])


@users.command("remove")
def remove_user(context: typer.Context, name: UserArgument, workspace: WorkspaceOption = None) -> None:
    """Remove a user and revoke the token. The user's questions are kept."""
    from veracity.cli.commands.users import remove_user

    remove_user(name, workspace or context.obj[0])


@users.command("renew")
def renew_token(context: typer.Context, name: UserArgument, workspace: WorkspaceOption = None) -> None:
    """Print a new token for a user, once, and revoke the old one."""
    from veracity.cli.commands.users import renew_token

    renew_token(name, workspace or context.obj[0])


@users.command("role")
def change_role(
    context: typer.Context,
    name: UserArgument,
    role: Annotated[str, typer.Argument(metavar=ROLES, help=ROLE_HELP)],
    workspace: WorkspaceOption = None,
) -> None:
    """Change the role of a user."""
    from veracity.cli.commands.users import change_role

    change_role(name, role, workspace or context.obj[0])
