"""`veracity conversations`, and `veracity forget` for conversations as for documents."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.cli import documents
from veracity.cli.console import console, plain, table
from veracity.cli.ingesting import chosen, counted
from veracity.engine import Veracity
from veracity.errors import InputError
from veracity.models import PastTurn
from veracity.workspace import Workspace

ALL_TURNS = 1_000_000


def run(user: str, workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        known = engine.conversations(user=user)
    if as_json:
        print(json.dumps([one.model_dump(mode="json") for one in known], ensure_ascii=False, indent=2))
        return
    if not known:
        console.print(plain("There are no conversations yet: veracity chat."))
        return
    rows = table("Conversation", "Turns", "Last (UTC)", "Began with", right=("Turns",), whole=("Conversation",))
    for one in known:
        cells = (f"{one.last:%Y-%m-%d %H:%M}", " ".join(one.title.split()))
        rows.add_row(plain(one.conversation), f"{one.turns:,}", *map(plain, cells))
    console.print(rows)


def forget(name: str | None, conversation: str | None, user: str, workspace: Path | None) -> None:
    if (name is None) == (conversation is None):
        raise InputError("Name a document to forget, by its id or path, or a conversation with --conversation NAME.")
    if conversation is None:
        documents.forget(str(name), workspace)
        return
    root = chosen(workspace)
    with Veracity(root) as engine:
        turns = engine.turns(conversation, user=user, limit=ALL_TURNS) if conversation else []
        removed = engine.forget_conversation(conversation, user=user)
    _forget_typed(root, turns)
    console.print(plain(f"Forgot the conversation {conversation}: {counted(removed, 'turn')} removed."))


def _forget_typed(root: Path, turns: list[PastTurn]) -> None:
    from veracity.cli.prompting import forget_typed  # noqa: PLC0415 - loads prompt_toolkit

    try:
        forget_typed(Workspace(root).ledger_folder, [turn.question for turn in turns])
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise InputError(
            f"What was typed in the conversation is still in the history of the chat ({reason})."
        ) from None
