"""Forgets again what a restored backup has brought back."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from sqlalchemy import select, union

from veracity.assembly import Assembly
from veracity.errors import NotFoundError
from veracity.knowledge.library import writer_lock
from veracity.knowledge.location import Location
from veracity.ledger import Ledger, Observations
from veracity.ledger.backend import open_backend
from veracity.ledger.forget import document_id_of
from veracity.ledger.journal import (
    MIRROR_FOLDER,
    Forgotten,
    Kind,
    find_matches,
    name_conversation,
    parse_journal,
    read_journal,
)
from veracity.ledger.tables import conversations, evidence, runs, users
from veracity.settings import Settings
from veracity.workspace import require_existing_workspace

MARGIN = timedelta(minutes=10)


class Reforgotten(BaseModel):
    """`tokens` are the users who had got a new token, and need one again."""

    model_config = ConfigDict(frozen=True)

    documents: int = 0
    conversations: int = 0
    users: list[str] = []
    tokens: list[str] = []

    @property
    def is_empty(self) -> bool:
        return self == Reforgotten()


def forget_since(directory: Path | None, since: datetime, journals: Iterable[Path] = ()) -> Reforgotten:
    """Forget again what was forgotten after this time, or up to ten minutes before: that forgetting may not have been
    done. `journals` are further ones, besides that of the workspace and the bucket."""
    root = require_existing_workspace(directory)
    entries = [entry for path in journals for entry in read_journal(path)]
    parts = Assembly(root)
    try:
        entries += parts.ledger.journal.entries()
        if parts.settings.store.knowledge:
            entries += read_mirror(parts.documents.location)
        parts.ledger.journal.add(entries)
    finally:
        parts.close()
    return forget_again(root, [entry for entry in entries if entry.time >= since - MARGIN])


def read_mirror(location: Location) -> list[Forgotten]:
    """The journal of all machines that use this bucket."""
    contents = (location.content(file.name) for file in location.files(MIRROR_FOLDER))
    return [entry for content in contents if content for entry in parse_journal(content)]


def forget_again(root: Path, entries: Iterable[Forgotten], settings: Settings | None = None) -> Reforgotten:
    """Forget what the entries name, if the workspace has it. `settings` default to those of the workspace."""
    parts = Assembly(root, settings=settings)
    try:
        return _forget_again(parts, list(entries))
    finally:
        parts.close()


def _forget_again(parts: Assembly, entries: list[Forgotten]) -> Reforgotten:
    known = _identifiers(parts)
    found = find_matches(entries, {kind: list(names) for kind, names in known.items()})
    ledger, file = parts.ledger, Observations(parts.workspace.observations_file)
    _forget_documents(parts, ledger, file, found["document"])
    conversation_count = 0
    for identifier in found["conversation"]:
        user, conversation = known["conversation"][identifier]
        with suppress(NotFoundError):  # it has no turns
            ledger.forget_conversation(user, conversation, file)
            conversation_count += 1
    for name in found["user"]:
        ledger.users.remove(name)
    tokens = [name for token in found["token"] for name in ledger.users.revoke(token)]
    return Reforgotten(
        documents=len(found["document"]), conversations=conversation_count, users=found["user"], tokens=tokens
    )


def _identifiers(parts: Assembly) -> dict[Kind, dict[str, tuple[str, str]]]:
    """All that could have been forgotten, by the identifiers in the journal. Also documents that are only cited."""
    database = open_backend(parts.workspace.ledger_folder, parts.settings.store.ledger).database
    try:
        with database.reading() as connection:
            cited = connection.execute(select(evidence.c.document_id).distinct()).scalars().all()
            names = union(
                select(conversations.c.user_name, conversations.c.conversation),
                select(runs.c.user_name, runs.c.conversation).where(runs.c.conversation != ""),
            )
            spoken = [(user, conversation) for user, conversation in connection.execute(names)]
            people = connection.execute(select(users.c.name, users.c.token_hash)).all()
    finally:
        database.close()
    stored = [document.id for document in parts.documents.documents()]
    documents = [document_id for document_id in (*stored, *cited) if not document_id.startswith(document_id_of(""))]
    return {
        "document": dict.fromkeys(documents, ("", "")),
        "conversation": {name_conversation(*pair): pair for pair in spoken},
        "user": {name: (name, "") for name, _ in people},
        "token": {token_hash: (name, "") for name, token_hash in people},
    }


def _forget_documents(parts: Assembly, ledger: Ledger, file: Observations, document_ids: list[str]) -> None:
    if not document_ids:
        return
    store, forgotten = parts.documents, set(document_ids)
    with (
        parts.uploads.lock(),
        ledger.journal.locked(),
        writer_lock(store.location, parts.shared_lock),
    ):
        store.fence()
        ledger.forget_documents(document_ids, file)
        parts.uploads.remove(document.location for document in store.documents() if document.id in forgotten)
        store.forget(document_ids)
        store.maintain()
