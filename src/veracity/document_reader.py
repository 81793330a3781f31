"""What a person sees of a document: its text, its pages and its original file."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from veracity.assembly import Assembly
from veracity.errors import NotFoundError
from veracity.inputs import check_text
from veracity.models import DocumentPage, KnownDocument
from veracity.secrets import presentable

if TYPE_CHECKING:
    from veracity.knowledge.originals import Original

T = TypeVar("T")


class DocumentReader:
    """Needs no model and no key. Can be shared by threads. Documents are named by their id."""

    def __init__(self, parts: Assembly) -> None:
        self._parts = parts

    @property
    def version(self) -> tuple[int, int]:
        """Changes whenever any process changes the documents. For polling."""
        return self._parts.documents.version

    def document(self, document_id: str) -> KnownDocument:
        return _require_found(self._parts.documents.document(_check_id(document_id)), document_id)

    def text(self, document_id: str) -> str:
        """The full text. The offsets of evidence point into it."""
        return _require_found(self._parts.documents.text(_check_id(document_id)), document_id)

    def is_markdown(self, document_id: str) -> bool:
        """Whether the text has headings, lists and tables in the syntax of Markdown."""
        return self._parts.documents.is_markdown(_check_id(document_id))

    def page_starts(self, document_id: str) -> list[int]:
        """The offset of each page in the text; empty if it has no pages."""
        return self._parts.documents.page_starts(_check_id(document_id))

    def page_image(self, document_id: str, page: int) -> bytes:
        """A page of a PDF document as PNG. Raises `NotFoundError` if there is no such page or no original."""
        self._parts.require_workspace()
        return self._parts.page_images.image(_check_id(document_id), page)

    def locate_on_page(self, document_id: str, start: int, end: int, page: int | None = None) -> DocumentPage:
        """Where characters `start` to `end` of a PDF document are: on the page on which they begin, or on another."""
        self._parts.require_workspace()
        return self._parts.page_images.locate(_check_id(document_id), start, end, page)

    def has_original(self, document_id: str) -> bool:
        """Whether `original` can open the file."""
        self._parts.require_workspace()
        return self._parts.originals.has(_check_id(document_id))

    def original(self, document_id: str) -> AbstractContextManager[Original]:
        """The file, open while the context lasts. Entering it raises `NotFoundError` if the document was added as text,
        or if its file was moved, changed or deleted since it was ingested."""
        self._parts.require_workspace()
        return self._parts.originals.open(_check_id(document_id))

    def digest(self, document_id: str) -> str:
        """The SHA-256 digest of the file; empty if the document was added as text."""
        return _require_found(self._parts.documents.fingerprint(_check_id(document_id)), document_id).digest


def matching_words(text: str, query: str) -> list[tuple[int, int]]:
    """Where the words of a query occur in a text, as start and end offsets."""
    from veracity.language import matching_spans  # noqa: PLC0415 - loads the word lists of the languages

    return matching_spans(text, query)


def _check_id(document_id: str) -> str:
    return check_text(document_id, "The document id")


def _require_found(value: T | None, document_id: str) -> T:
    if value is None:
        raise NotFoundError(f'There is no document with the id "{presentable(document_id)}".')
    return value
