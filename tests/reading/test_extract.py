"""Any input gives either clean text or a reason."""

import contextlib
import io
import random
import zipfile
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reading import documents, ole
from tests.reading.reads import assert_clean
from tests.reading.test_archive import tarred
from tests.reading.test_epub import book_parts
from veracity.reading.base import BinaryFormat, TextFormat, Unreadable
from veracity.reading.extract import extract

EXTENSIONS = [
    *("txt", "md", "html", "xhtml", "pdf", "docx", "pptx", "xlsx", "xls", "epub", "eml", "msg", "zip", "tar", "png"),
    *("csv", "tsv", "json", "jsonl", "xml", "svg", "exe"),
]
names = st.one_of(st.text(max_size=20), st.sampled_from(EXTENSIONS).map("file.{}".format))
fragments = st.sampled_from(
    [
        b"%PDF-1.7\n",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
        b"Subject: a\n",
        b"\x89PNG\r\n\x1a\n",
        b"<html>",
        b"<p>",
        b"</p>",
        b"<table><tr><td>",
        b"<?xml version='1.0'?>",
        b"<a>",
        b"</a>",
        b"<!--",
        b"{",
        b'{"a":',
        b"[",
        b",",
        b"]",
        b"\n",
        b"---\n",
        b"# ",
        b'"',
        b";",
        b"\t",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "返品".encode("cp932"),
        "退货".encode("gb18030"),
        "退货".encode(),
        b"<script>",
        b"&#0;",
        b"&#xD800;",
        b"1",
        b"text ",
    ]
)
contents = st.one_of(st.binary(max_size=300), st.lists(fragments | st.binary(max_size=5), max_size=30).map(b"".join))


def assert_read_or_refused(content: bytes, name: str) -> None:
    try:
        reading = extract(content, name)
    except Unreadable as refused:
        assert refused.status in {"skipped", "failed"}
        assert refused.reason
        assert "\n" not in refused.reason
        assert len(refused.reason) < 300
    else:
        assert_clean(reading)


@settings(suppress_health_check=list(HealthCheck))
@given(contents, names)
def test_any_bytes_under_any_name(content: bytes, name: str) -> None:
    assert_read_or_refused(content, name)


DOCUMENTS = {
    "docx": documents.docx("# Title", "text 退货", title="T"),
    "xlsx": documents.xlsx({"S": [["a", "b"], [1, 2]]}),
    "pptx": documents.pptx_file(("Title", "text")),
    "pdf": documents.pdf("one", "二", title="T"),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_randomly_damaged_documents(kind: str) -> None:
    generator = random.Random(kind)
    for _ in range(40):
        content = bytearray(DOCUMENTS[kind])
        for _ in range(generator.randint(1, 8)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        if generator.random() < 0.3:
            del content[generator.randrange(len(content)) :]
        assert_read_or_refused(bytes(content), f"a.{kind}")


@pytest.mark.parametrize("kind", ["docx", "xlsx"])
def test_office_files_with_invalid_parts(kind: str) -> None:
    with zipfile.ZipFile(io.BytesIO(DOCUMENTS[kind])) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    for name in parts:
        for junk in (b"", b"junk", b"<a>", b"<a/>", b"\xff\xfe\0\0"):
            assert_read_or_refused(documents.zipped(parts | {name: junk}), f"a.{kind}")
        with contextlib.suppress(Unreadable):
            extract(documents.zipped({other: content for other, content in parts.items() if other != name}), "a")


def test_every_format_has_a_reader() -> None:
    texts = {
        "text": b"text",
        "markdown": b"# Title",
        "html": b"<p>text",
        "xml": b"<a>text</a>",
        "csv": b"a,b",
        "json": b'{"a": 1}',
        "jsonl": b"1",
        "eml": b"Subject: a",
    }
    containers = {
        "xls": ole.xls("a", [["b"]]),
        "msg": ole.msg("a", "b"),
        "epub": documents.zipped(book_parts()),
        "zip": documents.zipped({"a.txt": b"b"}),
        "tar": tarred({"a.txt": b"b"}),
    }
    extensions = {"text": "txt", "markdown": "md"}
    tested = texts | containers | DOCUMENTS
    assert tested.keys() | {"image"} == {*get_args(TextFormat), *get_args(BinaryFormat)}  # test_ocr.py reads images
    for kind, content in tested.items():
        assert extract(content, f"a.{extensions.get(kind, kind)}").format == kind
