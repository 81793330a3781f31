"""`veracity chat`: a conversation at a terminal, or one question per line where none is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from veracity.cli.console import console, plain
from veracity.cli.ingesting import chosen, counted
from veracity.cli.offering import WAITS
from veracity.cli.talking import Chat, new_name
from veracity.cli.watching import complain, is_interactive
from veracity.engine import Veracity
from veracity.errors import InputError
from veracity.workspace import Workspace


def run(workspace: Path | None, conversation: str | None, go_on: bool, user: str, show_steps: bool) -> int:
    if conversation is not None and go_on:
        raise InputError(
            "--conversation names the one to go on with, and --continue takes the latest: give one of them."
        )
    root = chosen(workspace)
    with Veracity(root) as engine:
        if not (documents := len(engine.documents())):
            raise InputError("The workspace holds no documents yet: bring some in with veracity ingest PATH.")
        name = conversation or (_latest(engine, user) if go_on else None) or new_name()
        turns = len(engine.turns(name, user=user))  # a name that cannot be one is told here
        chat = Chat(engine, user, name, show_steps, workspace)
        seated = is_interactive()
        if seated:
            _greet(root, documents, chat, turns)
            _talk(chat, root)
        else:
            _read_all(chat)
        if chat.waits():
            return WAITS
        return 1 if chat.has_failed and not seated else 0  # who sat there was told


def _latest(engine: Veracity, user: str) -> str | None:
    known = engine.conversations(user=user, limit=1)
    return known[0].conversation if known else None


def _greet(root: Path, documents: int, chat: Chat, turns: int) -> None:
    so_far = f" ({counted(turns, 'turn')} so far)" if turns else ""
    where = root.resolve().name or str(root)
    told = f"{where}: {counted(documents, 'document')}. Conversation {chat.conversation}{so_far}. /help tells more."
    console.print(plain(told, "dim"), soft_wrap=True)


def _talk(chat: Chat, root: Path) -> None:
    from veracity.cli.prompting import Prompt  # noqa: PLC0415 - loads prompt_toolkit

    prompt = Prompt(Workspace(root).ledger_folder)
    while (said := prompt.read()) is not None and chat.hear(said):
        console.print()


def _read_all(chat: Chat) -> None:
    """What comes in stands before what comes of it."""
    for said in _lines(chat):
        console.print(plain(f"> {said}", "bold"))
        if not chat.hear(said):
            return
        console.print()


def _lines(chat: Chat) -> Iterator[str]:
    """As they come in. One that is no text is told of, and the next one is read."""
    for raw in sys.stdin.buffer if sys.stdin else ():
        try:
            said = raw.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            complain("A line that came in is not UTF-8 text: it was left out.")
            chat.has_failed = True
            continue
        if said:
            yield said
