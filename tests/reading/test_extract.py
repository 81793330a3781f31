"""Whatever is handed in, either clean text comes back or a reason."""

import contextlib
import random
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reading import documents
from tests.reading.reads import assert_clean
from veracity import reading
from veracity.reading import Unreadable, extract
from veracity.reading.base import Format
from veracity.reading.extract import _READERS

EXTENSIONS = [*"txt md html xhtml pdf docx pptx xlsx csv tsv json jsonl xml svg exe".split()]  # noqa: SIM905
names = st.one_of(st.text(max_size=20), st.sampled_from(EXTENSIONS).map("file.{}".format))
fragments = st.sampled_from(
    [
        b"%PDF-1.7\n",
        b"PK\x03\x04",
        b"<html>",
        b"<p>",
        b"</p>",
        b"<table><tr><td>",
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
        found = extract(content, name)
    except Unreadable as refused:
        assert refused.status in {"skipped", "failed"}
        assert refused.reason
        assert "\n" not in refused.reason
        assert len(refused.reason) < 300
    else:
        assert_clean(found)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(contents, names)
def test_any_bytes_under_any_name(content: bytes, name: str) -> None:
    assert_read_or_refused(content, name)


WHOLE = {
    "docx": documents.docx("# Title", "text 退货", title="T"),
    "xlsx": documents.xlsx({"S": [["a", "b"], [1, 2]]}),
    "pptx": documents.pptx_file(("Title", "text")),
    "pdf": documents.pdf("one", "二", title="T"),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_documents_with_damage_anywhere(kind: str) -> None:
    chance = random.Random(kind)
    for _ in range(40):
        content = bytearray(WHOLE[kind])
        for _ in range(chance.randint(1, 8)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.3:
            del content[chance.randrange(len(content)) :]
        assert_read_or_refused(bytes(content), f"a.{kind}")


@pytest.mark.parametrize("kind", ["docx", "xlsx"])
def test_parts_that_are_junk(kind: str) -> None:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(WHOLE[kind])) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    for name in parts:
        for junk in (b"", b"junk", b"<a>", b"<a/>", b"\xff\xfe\0\0"):
            assert_read_or_refused(documents.zipped(parts | {name: junk}), f"a.{kind}")
        with contextlib.suppress(Unreadable):
            extract(documents.zipped({other: content for other, content in parts.items() if other != name}), "a")


def test_every_format_has_a_reader() -> None:
    assert set(_READERS) == set(get_args(Format))


def test_the_names_that_others_use() -> None:
    assert sorted(reading.__all__) == ["CappedWorkers", "Limits", "Reading", "Unreadable", "WorkerFailure", "extract"]
    assert all(getattr(reading, name) for name in reading.__all__)
    with pytest.raises(AttributeError):
        _ = reading.nothing
