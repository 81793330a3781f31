"""Keeps a workspace in order: resumes interrupted runs, removes what was forgotten or is too old, checks the stores.

A server does most of it in the background. Programs without one call `Veracity.recover` when they start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from veracity.assembly import Assembly
from veracity.deadlines import NEVER, Stop
from veracity.errors import KnowledgeError, LedgerError
from veracity.inbox import Inbox
from veracity.inputs import require_text
from veracity.knowledge.location import FolderLocation
from veracity.knowledge.purge import is_purge_due
from veracity.models import Answer, KnownDocument, Pruned
from veracity.workspace import remove_reports, require_space

FORGET_TIMEOUT_SECONDS = 5.0  # how long `forget` waits for an ingest


class Maintenance:
    """Can be shared by threads; processes exclude each other where they must."""

    def __init__(self, parts: Assembly) -> None:
        self._parts = parts

    def recover(self) -> list[Answer]:
        """Resume interrupted runs, end drafts that have expired, send announcements that are due, and remove forgotten
        documents from the disk if that takes little time."""
        parts, inbox = self._parts, Inbox(self._parts)
        if is_purge_due(FolderLocation(parts.workspace.knowledge_folder)):
            with contextlib.suppress(KnowledgeError):  # the next change of the documents tries again
                self.purge_forgotten(only_if_cheap=True)
        inbox.expire()
        answers = parts.runner.recover() if parts.ledger.interrupted() else []
        with contextlib.suppress(LedgerError):  # the next answer delivers them
            self._deliver()
        inbox.send_notifications()
        return answers

    def queue_interrupted(self) -> int:
        """Leave interrupted runs to workers. Returns their number."""
        return self._parts.ledger.queue_interrupted()

    def forget(self, name: str) -> list[KnownDocument]:
        """Remove the documents with this id or path, their text in receipts and observations, and uploaded files."""
        from veracity.knowledge.library import forget  # noqa: PLC0415 - imports LanceDB

        require_text(name, "The document")
        parts, store, uploads = self._parts, self._parts.documents, self._parts.uploads

        def forget_elsewhere(document_ids: list[str]) -> None:
            record("document", document_ids)
            remove_reports(parts.workspace.experiments_folder)
            parts.ledger.forget_documents(document_ids, parts.observations)
            uploads.remove(document.location for document in store.documents() if document.id in document_ids)

        with uploads.lock(FORGET_TIMEOUT_SECONDS), parts.ledger.journal.forgetting() as record:
            return forget(store, name, uploads.locations, forget_elsewhere, parts.shared_lock)

    def purge_forgotten(self, *, only_if_cheap: bool = False) -> bool:
        """Remove documents from the disk that were forgotten more than ten minutes ago; False if there are none.

        A server calls it every few minutes. Changes of the documents and `recover` do it `only_if_cheap`: if there are
        few passages.
        """
        from veracity.knowledge.library import purge_forgotten  # noqa: PLC0415 - imports LanceDB

        return purge_forgotten(self._parts.documents, self._parts.shared_lock, only_if_cheap=only_if_cheap)

    def prune(self, *, dry_run: bool = True, stop: Stop = NEVER) -> Pruned:
        """Remove what is older than the settings `retention` allow."""
        from veracity.ledger.expiry import Cutoffs  # noqa: PLC0415 - loads SQLAlchemy

        days = self._parts.settings.retention
        cutoffs = Cutoffs.of(runs=days.runs_days, receipts=days.receipts_days, conversations=days.conversations_days)
        if not self._parts.has_ledger:
            return Pruned(dry_run=dry_run)
        return self._parts.ledger.prune(cutoffs, self._parts.observations, dry_run=dry_run, stop=stop)

    def observations(self) -> Iterator[dict[str, Any]]:
        """The records of `observational_data.json`, after outstanding ones were written."""
        self._deliver()
        return self._parts.observations.read()

    def readiness_checks(self) -> dict[str, Callable[[], None]]:
        """What answering needs, by name. Each function raises `VeracityError` if that cannot be used now."""
        parts = self._parts
        return {
            "ledger": lambda: parts.ledger.require_writable(),  # noqa: PLW0108 - opened by the check
            "knowledge": lambda: parts.documents.require_readable(),  # noqa: PLW0108 - opened by the check
            "disk": lambda: require_space(parts.workspace.root, parts.settings.server.free_megabytes),
        }

    def indexed_with(self) -> tuple[str, int] | None:
        """The embedder that made the stored vectors, and their dimensions. None if there are no documents."""
        return self._parts.documents.stored_embedder()

    def _deliver(self) -> None:
        """Write outstanding observations to their file."""
        if self._parts.has_ledger:
            self._parts.ledger.deliver(self._parts.observations)


def export_spans() -> bool:
    """Send OpenTelemetry spans to the collector that the environment names. False if it names none."""
    from veracity import telemetry  # noqa: PLC0415 - only servers need it

    return telemetry.set_up()
