"""The original files of documents: uploads, and files on this machine."""

import os
from pathlib import Path

import pytest

from tests.reading.documents import pdf
from tests.uploads.files import upload
from veracity.engine import Veracity
from veracity.errors import NotFoundError
from veracity.models import Document

TEXT = "# Leave\n\nStaff have 31 days of leave a year.\n"


def read(engine: Veracity, document_id: str) -> tuple[str, bytes]:
    with engine.original(document_id) as original:
        return original.name, original.file.read()


def ingest(engine: Veracity, path: Path) -> str:
    [outcome] = engine.ingest(path).outcomes
    assert outcome.document_id
    return outcome.document_id


def test_an_upload_is_kept_until_its_document_is_forgotten(engine: Veracity, folder: Path) -> None:
    document_id = upload(engine, "dublin/年假.md", TEXT).document_id or ""
    assert engine.reader.has_original(document_id)
    assert read(engine, document_id) == ("dublin - 年假.md", TEXT.encode())
    engine.forget(document_id)
    assert not engine.reader.has_original(document_id)
    with pytest.raises(NotFoundError):
        read(engine, document_id)
    assert [path for path in folder.iterdir() if path.is_file()] == []


def test_a_file_is_read_from_its_path_while_it_is_unchanged(engine: Veracity, tmp_path: Path) -> None:
    path = tmp_path / "leave.md"
    path.write_text(TEXT)
    document_id = ingest(engine, path)
    assert engine.reader.has_original(document_id) and read(engine, document_id) == ("leave.md", TEXT.encode())
    os.utime(path, (1, 1))
    assert engine.reader.has_original(document_id)
    path.write_text(TEXT.replace("31", "13"))
    assert not engine.reader.has_original(document_id)
    with pytest.raises(NotFoundError, match="moved, changed or deleted"):
        read(engine, document_id)
    path.unlink()
    assert not engine.reader.has_original(document_id)


def test_what_took_the_place_of_the_file_is_not_read(engine: Veracity, tmp_path: Path) -> None:
    path, secret = tmp_path / "leave.md", tmp_path / "secret.md"
    path.write_text(TEXT)
    secret.write_text("x" * len(TEXT))
    document_id = ingest(engine, path)
    path.unlink()
    path.symlink_to(secret)
    assert not engine.reader.has_original(document_id)
    path.unlink()
    os.mkfifo(path)  # opening it would wait for ever
    assert not engine.reader.has_original(document_id)
    for act in (lambda: read(engine, document_id), lambda: engine.reader.page_image(document_id, 1)):
        with pytest.raises(NotFoundError):
            act()


def test_a_document_that_was_added_as_text_has_no_original(engine: Veracity) -> None:
    engine.add(Document(id="note", text="Staff have 31 days of leave."))
    assert not engine.reader.has_original("note") and not engine.reader.has_original("nothing")
    for name in ("note", "nothing"):
        with pytest.raises(NotFoundError):
            read(engine, name)


def test_pages_of_a_pdf_are_shown(engine: Veracity) -> None:
    document_id = upload(engine, "drill.pdf", pdf("The drill is in May.", "", "The warden is Maeve.")).document_id or ""
    text, starts = engine.text(document_id), engine.reader.page_starts(document_id)
    assert engine.reader.page_image(document_id, 3).startswith(b"\x89PNG")
    start = text.index("Maeve")
    found = engine.reader.locate_on_page(document_id, start, start + 5)
    assert (found.page, found.pages, len(found.boxes)) == (3, 3, 1)
    across = engine.reader.locate_on_page(document_id, text.index("May"), start + 5)
    assert (across.page, len(across.boxes)) == (1, 1)
    assert engine.reader.locate_on_page(document_id, 0, len(text), 3).boxes and starts[2] > starts[0]
    assert engine.reader.locate_on_page(document_id, 0, len(text), 2).boxes == []
    for page in (0, 4):
        with pytest.raises(NotFoundError, match=f"no page {page}"):
            engine.reader.page_image(document_id, page)


def test_only_pdf_has_pages_to_show(engine: Veracity) -> None:
    document_id = upload(engine, "leave.md", TEXT).document_id or ""
    with pytest.raises(NotFoundError, match="only the pages of PDF"):
        engine.reader.locate_on_page(document_id, 0, 5)
