"""Pages of PDF documents as pictures, with the place of a quote. They are made from the original file, in a process
with limits on time and memory, and are not stored."""

from __future__ import annotations

import base64
from typing import Any

from veracity.errors import NotFoundError
from veracity.knowledge.originals import Originals, no_original
from veracity.knowledge.store import Store
from veracity.models import DocumentPage
from veracity.reading.page_image import TASK
from veracity.reading.sandbox.pool import SandboxPool
from veracity.reading.sandbox.process import WorkerFailure
from veracity.settings import ReadingSettings

MAX_SECONDS = 20.0  # somebody is waiting for the page
FORMAT = "pdf"


class PageImages:
    """Keeps its worker process until it is closed."""

    def __init__(self, store: Store, originals: Originals, reading: ReadingSettings) -> None:
        self._store = store
        self._originals = originals
        self._workers = SandboxPool(
            TASK,
            workers=1,
            seconds=min(reading.seconds, MAX_SECONDS),
            memory_megabytes=reading.memory_megabytes,
        )

    def locate(self, document_id: str, start: int, end: int, number: int | None = None) -> DocumentPage:
        """The page on which a part of the text begins, or page `number`, and the boxes of the part on it. Raises
        NotFoundError if there is no such page or no original."""
        starts, text = self._page_starts(document_id), self._store.text(document_id) or ""
        number = number or max(1, sum(begin <= start for begin in starts))
        if number > len(starts):
            raise _no_page(number)
        first, last = starts[number - 1], [*starts, len(text)][number]
        quote = text[max(start, first) : max(min(end, last), first)]
        shown = self._show(document_id, number, quote=quote, before=text[first : max(start, first)])
        return DocumentPage(page=number, pages=len(starts), **shown)

    def image(self, document_id: str, number: int) -> bytes:
        """The page as PNG. Raises NotFoundError if there is no such page or no original."""
        if not 1 <= number <= len(self._page_starts(document_id)):
            raise _no_page(number)
        return base64.b64decode(self._show(document_id, number)["png"])

    def close(self) -> None:
        self._workers.close()

    def _page_starts(self, document_id: str) -> list[int]:
        document = self._store.document(document_id)
        return self._store.page_starts(document_id) if document and document.format == FORMAT else []

    def _show(self, document_id: str, number: int, **quote: str) -> dict[str, Any]:
        with self._originals.path(document_id) as (path, fingerprint):
            request = {"path": str(path), "digest": fingerprint.digest, "page": number - 1, **quote}
            try:
                shown = self._workers.submit(request).result()
            except WorkerFailure as failure:
                raise NotFoundError(f"Page {number} cannot be shown: {failure.reason}.") from None
        if "changed" in shown:
            raise no_original(document_id)
        if "unreadable" in shown:
            raise NotFoundError(f"Page {number} cannot be shown: it is damaged.")
        return shown


def _no_page(number: int) -> NotFoundError:
    return NotFoundError(f"There is no page {number} to show: only the pages of PDF documents can be shown.")
