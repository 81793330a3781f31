"""The commands that list drafts and decide on them, with their options."""

from __future__ import annotations

from typing import Annotated

import typer

from veracity.cli.options import ApprovalArgument, ByOption, FilterUserOption, JsonOption, WorkspaceOption


def approvals(
    user: FilterUserOption = None,
    state: Annotated[
        str,
        typer.Option(
            "--state", metavar="STATE", help="pending, approved, rejected, sent_back, expired, superseded or any."
        ),
    ] = "pending",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List pending approvals, the oldest first; those of another state, the newest first."""
    from veracity.cli.commands.approvals import list_approvals

    list_approvals(user, state, workspace, as_json)


def approve(
    approval: ApprovalArgument,
    edit: Annotated[
        str | None, typer.Option("--edit", metavar="FILE|-", help="Publish this text instead of the draft.")
    ] = None,
    by: ByOption = None,
    draft: Annotated[
        str | None, typer.Option("--draft", metavar="HASH", help="Approve only this draft; --show prints the hash.")
    ] = None,
    only_show: Annotated[bool, typer.Option("--show", help="Show the draft without deciding.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve a pending answer.

    If the run has several drafts, the approval's full id is required: you may have seen an earlier one. Exits with 5 if
    the approval was already decided or the draft has changed.
    """
    from veracity.cli.commands.approvals import approve

    approve(approval, edit, by, draft, only_show, workspace, as_json)


def reject(
    approval: ApprovalArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason.", show_default=False)] = "",
    by: ByOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reject a pending answer and search the web instead, once.

    Exits with 3 if the answer from the web awaits approval too, and with 5 if the approval was already decided.
    """
    from veracity.cli.commands.approvals import refuse

    refuse("reject", approval, reason, by, workspace, as_json)


def send_back(
    approval: ApprovalArgument,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What the next draft has to change.")],
    by: ByOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a pending answer back with a note: another draft is written and checked in the same way.

    Exits with 3 if that draft awaits approval too, and with 5 if the approval was already decided.
    """
    from veracity.cli.commands.approvals import refuse

    refuse("send_back", approval, note, by, workspace, as_json)


def assign(
    approval: ApprovalArgument,
    person: Annotated[str, typer.Argument(metavar="[PERSON]", help="Nobody, if left out.", show_default=False)] = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name the person who should decide a pending answer. Others may still decide it."""
    from veracity.cli.commands.approvals import assign

    assign(approval, person, workspace, as_json)
