"""Detecting formats, also under misleading names."""

import time

import pytest

from tests.reading import documents, ole
from tests.reading.reads import refusal, text_of
from veracity.reading.extract import extract

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 40
PROGRAM = b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0" + b"\0" * 100
OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (documents.pdf("Thirty days"), "returns.txt", "pdf"),
        (documents.pdf("Thirty days"), "returns", "pdf"),
        (documents.docx("Thirty days"), "returns.pdf", "docx"),
        (documents.xlsx({"a": [["Thirty days"]]}), "returns.docx", "xlsx"),
        (b"Thirty days", "returns.pdf", "text"),
        (b"Thirty days", "returns.docx", "text"),
        (b"<!DOCTYPE html><p>Thirty days</p>", "returns.txt", "html"),
        (b"<html><body>Thirty days</body></html>", "returns.docx", "html"),
        (b"BMW takes it back within Thirty days", "note.txt", "text"),
        (b"MZ is no program here. Thirty days", "note.txt", "text"),
        (b"%PDF is a signature. Thirty days", "note.txt", "text"),
    ],
)
def test_content_wins_over_the_file_name(content: bytes, name: str, kind: str) -> None:
    reading = extract(content, name)
    assert reading.format == kind
    assert "Thirty days" in reading.text


@pytest.mark.parametrize("name", ["a.pdf", "a.txt", "a.docx", "a", "图片.png"])
@pytest.mark.parametrize(
    ("content", "kind"),
    [(PROGRAM, "program"), (b"7z\xbc\xaf\x27\x1c" + PNG, "archive: pack it as .zip or .tar.gz")],
)
def test_unsupported_kinds_are_skipped(content: bytes, kind: str, name: str) -> None:
    refused = refusal(content, name)
    assert (refused.status, refused.reason) == ("skipped", f"its format is not supported ({kind})")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{\\rtf1\\ansi text}", "RTF"),
        (b"RIFF\x24\x08\0\0WAVEfmt ", "audio"),
        (b"\0\0\0\x18ftypmp42" + b"\0" * 20, "video"),
        (b"SQLite format 3\0" + b"\0" * 50, "database"),
        (b"<svg xmlns='x'><text>a</text></svg>", "image"),
        (documents.zipped({"content.xml": "", "META-INF/manifest.xml": ""}), "OpenDocument"),
        (ole.ole({"WordDocument": b"text"}), "Word before 2007: save it as .docx"),
        (ole.ole({"PowerPoint Document": b"text"}), "PowerPoint before 2007: save it as .pptx"),
    ],
)
def test_the_reason_names_the_unsupported_kind(content: bytes, kind: str) -> None:
    refused = refusal(content, "document.docx")
    assert refused.status == "skipped"
    assert kind in refused.reason


def test_encrypted_office() -> None:
    for content in (OLE2 + "EncryptedPackage".encode("utf-16-le"), ole.ole({"EncryptedPackage": b"secret"})):
        refused = refusal(content, "secret.docx")
        assert (refused.status, refused.reason) == ("failed", "it is encrypted: remove the password first")


def test_a_damaged_container() -> None:
    assert refusal(OLE2, "old.doc").reason == "it is damaged: it is cut off or not a valid file of Office before 2007"


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx", "a.pptx", "a.xls", "a.epub", "a.msg"])
def test_invalid_content_under_a_document_name_is_damaged(name: str) -> None:
    refused = refusal(b"\x07\x00\x01" * 100, name)
    assert refused.status == "failed"
    assert "damaged" in refused.reason


@pytest.mark.parametrize("content", [b"", b" \r\n\t ", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n", b"\xff\xfe \0"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf", "a.json", "a.jsonl", "a.csv", "a"])
def test_empty(content: bytes, name: str) -> None:
    assert refusal(content, name).status == "skipped"


@pytest.mark.parametrize("name", ["a.py", "a.rst", "a.toml", "a.yaml", "a.log", "a.xml", "Makefile", "a.b.unknown"])
def test_unknown_extensions_are_plain_text(name: str) -> None:
    reading = extract("key = '值' # 三十日以内".encode(), name)
    assert (reading.format, reading.markdown, reading.text) == ("text", False, "key = '值' # 三十日以内")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv"])
@pytest.mark.parametrize("filling", [b" ", b"#", b"# ", b"![", b"<!--", b"\n", b"-", b"<p>", b"|", b'"', b"\x1b["])
def test_repetitive_input_takes_linear_time(filling: bytes, name: str) -> None:
    started = time.monotonic()
    assert text_of(b"# start " + filling * 100_000 + b" end", name)
    assert time.monotonic() - started < 20  # quadratic time would be minutes


def test_a_huge_single_line() -> None:
    assert len(text_of(b"word " * 400_000, "a.txt")) == 5 * 400_000 - 1
