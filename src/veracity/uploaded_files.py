"""Files that people upload, ingested by this process. `queues/ingestion_queue.py` leaves them to workers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from veracity.assembly import Assembly
from veracity.errors import InputError
from veracity.inputs import require_text
from veracity.models import LOCAL, AnnouncedFile, IngestReport, Outcome, UploadList
from veracity.printable import visible

if TYPE_CHECKING:
    from veracity.knowledge.library import Progress
    from veracity.ledger.rows.upload_lists import UploadLists

OVERHEAD_BYTES = 2048  # of a request besides its one file


def ignore_progress(outcome: Outcome, remaining: int | None) -> None:
    """No-op progress callback."""


class UploadedFiles:
    """Can be shared by threads."""

    def __init__(self, parts: Assembly) -> None:
        self._parts = parts

    def add(self, name: str, source: BinaryIO, progress: Progress = ignore_progress) -> IngestReport:
        """Store and index a file. It replaces an uploaded file with the same name."""
        require_text(name, "The file name")
        if not hasattr(source, "read") or isinstance(source, TextIOBase):
            raise InputError(f"An upload needs a binary file to read from, not {type(source).__name__}.")
        started = time.monotonic()
        outcome = self._parts.uploads.add(name, source, self._ingest)
        progress(outcome, 0)
        return IngestReport(outcomes=[outcome], seconds=time.monotonic() - started)

    def unfinished(self) -> list[str]:
        """The names of files whose process died before they were indexed."""
        return self._parts.uploads.unfinished()

    def finish(self, name: str) -> Outcome | None:
        """Index an unfinished file. None if there is nothing left to do."""
        outcome = self._parts.uploads.finish(name, self._ingest)
        if outcome is not None:
            self.lists.settle_document(self._parts.uploads.document_id(name), outcome)
        return outcome

    def announce(self, files: Iterable[tuple[str, int]], user: str = LOCAL, to: str = "") -> UploadList:
        """List files, by name and size, that the user is going to upload: in the list with the id `to`, or in a new
        one, which replaces the user's last."""
        limit = self._parts.settings.server.upload_megabytes
        too_large = f"it is larger than {limit} MB, the limit of this server"
        announced = [
            AnnouncedFile(
                name=visible(name),
                size=size,
                document_id=self._parts.uploads.document_id(name),
                reason=too_large if size + OVERHEAD_BYTES > limit * 1024 * 1024 else "",
            )
            for name, size in files
        ]
        return self.lists.announce(user, announced, to)

    @property
    def lists(self) -> UploadLists:
        """The last upload of each user: its files, and what became of them."""
        return self._parts.ledger.upload_lists

    def _ingest(self, path: Path) -> Outcome:
        return self._parts.library.ingest([path], False, ignore_progress).outcomes[0]
