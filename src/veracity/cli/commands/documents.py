"""`veracity documents`, and `veracity forget` for documents and conversations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from veracity.cli.ui.console import console, count, is_narrow, plain, print_json, shorten_start, shown_path, table
from veracity.engine import Veracity, require_workspace
from veracity.errors import InputError
from veracity.printable import visible


def list_documents(workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        documents = engine.documents()
    if as_json:
        print_json(documents)
        return
    optional = () if is_narrow() else ("Format", "Language")
    columns = ("Id", "Title", "From", *optional, "Passages")
    rows = table(*columns, right=("Passages",), whole=("Id", "From", *optional, "Passages"))
    for document in documents:
        path = shorten_start(visible(shown_path(document.location)), console.width // 4)
        details = (document.format, document.language) if optional else ()
        rows.add_row(*map(plain, (document.id, document.title, path, *details)), f"{document.passages:,}")
    console.print(rows)
    passages = sum(document.passages for document in documents)
    console.print(plain(f"\n{count(len(documents), 'document')}, {count(passages, 'passage')}"))


def forget_again(since: datetime | None, journals: Sequence[Path], workspace: Path | None) -> None:
    if since is None:
        raise InputError("--again needs the time of the backup: add --since, such as --since 2026-05-17T08:30.")
    from veracity.cli.commands.backup import print_forgotten  # noqa: PLC0415 - imports LanceDB
    from veracity.transfer.reforget import forget_since  # noqa: PLC0415 - imports LanceDB

    print_forgotten(forget_since(workspace, since if since.tzinfo else since.replace(tzinfo=UTC), journals))


def forget(document: str | None, conversation: str | None, user: str, workspace: Path | None) -> None:
    if (document is None) == (conversation is None):
        raise InputError("Name a document to forget, by its id or path, or a conversation with --conversation NAME.")
    with Veracity(require_workspace(workspace)) as engine:
        if conversation is not None:
            turns = engine.forget_conversation(conversation, user=user)
            console.print(plain(f"Forgot the conversation {conversation}: {count(turns, 'turn')} removed."))
            return
        for removed in engine.forget(str(document)):
            console.print(plain(f"forgot {removed.location or removed.id}"), soft_wrap=True)
