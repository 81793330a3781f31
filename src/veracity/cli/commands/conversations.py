"""`veracity conversations`, and `veracity forget` for conversations as for documents."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.cli.commands import documents
from veracity.cli.commands.ingest import chosen, counted
from veracity.cli.ui.console import console, plain, table, tell_limit
from veracity.engine import Veracity
from veracity.errors import InputError


def run(user: str, words: str, limit: int, workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        known = engine.conversations(user=user, limit=limit, query=words)
    if as_json:
        print(json.dumps([one.model_dump(mode="json") for one in known], ensure_ascii=False, indent=2))
        return
    if not known:
        none = (
            "In no conversation all these words were said."
            if words
            else "There are no conversations yet: veracity chat."
        )
        console.print(plain(none))
        return
    rows = table(
        "Conversation", "Turns", "Last (UTC)", "Began with", right=("Turns",), whole=("Conversation", "Last (UTC)")
    )
    for one in known:
        cells = (f"{one.last:%Y-%m-%d %H:%M}", " ".join(one.title.split()))
        rows.add_row(plain(one.conversation), f"{one.turns:,}", *map(plain, cells))
    console.print(rows)
    tell_limit(len(known), limit)


def forget(name: str | None, conversation: str | None, user: str, workspace: Path | None) -> None:
    if (name is None) == (conversation is None):
        raise InputError("Name a document to forget, by its id or path, or a conversation with --conversation NAME.")
    if conversation is None:
        documents.forget(str(name), workspace)
        return
    with Veracity(chosen(workspace)) as engine:
        removed = engine.forget_conversation(conversation, user=user)
    console.print(plain(f"Forgot the conversation {conversation}: {counted(removed, 'turn')} removed."))
