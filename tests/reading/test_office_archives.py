"""Office files made to do harm."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.reading import documents
from tests.reading.reads import refusal, text_of
from veracity.reading import Limits, Unreadable, extract

LAUGHS = "<!DOCTYPE x [<!ENTITY a '{}'>{}]>".format(
    "ha" * 50, "".join(f"<!ENTITY {new} '{f'&{old};' * 10}'>" for old, new in zip("abcdefgh", "bcdefghi", strict=True))
)
QUADRATIC = f"<!DOCTYPE x [<!ENTITY a '{'x' * 100_000}'>]>"
ENTITIES = "it declares XML entities, which Office files never do"


def with_part(name: str, content: str | bytes) -> bytes:
    return documents.zipped(documents.docx_parts("text") | {name: content})


def test_a_bomb_is_refused_before_it_goes_off() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in documents.docx_parts("text").items():
            archive.writestr(name, content)
        with archive.open("word/media/image1.bin", "w", force_zip64=True) as part:
            for _ in range(40):
                part.write(b"\0" * 1_000_000)
    assert len(buffer.getvalue()) < 1_000_000
    assert refusal(buffer.getvalue(), "bomb.docx").reason == "it unpacks to more than 200 times its size"


def test_gigabytes_by_their_own_word() -> None:
    content = with_part("word/big.xml", b"\0" * 1000)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.getinfo("word/big.xml").file_size
    at = content.rindex(b"word/big.xml") - 46 + 24
    assert int.from_bytes(content[at : at + 4], "little") == size
    lying = content[:at] + (4_000_000_000).to_bytes(4, "little") + content[at + 4 :]
    assert refusal(lying, "a.docx").reason == "it unpacks to more than 512 MB"


def test_a_part_larger_than_it_says_is_damaged() -> None:
    content = with_part("word/big.xml", b"\0" * 100_000)
    at = content.rindex(b"word/big.xml") - 46 + 24
    assert "damaged" in refusal(content[:at] + (10).to_bytes(4, "little") + content[at + 4 :], "a.docx").reason


def test_limits_are_the_callers() -> None:
    with pytest.raises(Unreadable, match="more than 2 parts"):
        extract(documents.docx("text"), "a.docx", Limits(entries=2))
    with pytest.raises(Unreadable, match="more than 1 MB"):
        extract(with_part("x.bin", b"a" * 2_000_000), "a.docx", Limits(unpacked_megabytes=1))


@pytest.mark.parametrize("doctype", [LAUGHS, QUADRATIC, "<!DOCTYPE x SYSTEM 'http://localhost/x.dtd'>"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("part", ["word/document.xml", "word/styles.xml", "_rels/.rels", "docProps/core.xml"])
def test_entities_in_word(doctype: str, encoding: str, part: str) -> None:
    xml = f"<?xml version='1.0'?>{doctype}<x>&i;</x>".encode(encoding)
    assert refusal(with_part(part, xml), "a.docx").reason == ENTITIES


@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml"])
def test_entities_in_excel(part: str) -> None:
    with zipfile.ZipFile(io.BytesIO(documents.xlsx({"S": [["a"]]}))) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    assert refusal(documents.zipped(parts | {part: LAUGHS + "<x>&i;</x>"}), "a.xlsx").reason == ENTITIES


def test_external_entities_read_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    doctype = f'<!DOCTYPE x [<!ENTITY secret SYSTEM "{secret.as_uri()}">]>'
    parts = documents.docx_parts("text", doctype=doctype)
    body = str(parts["word/document.xml"]).replace("text", "&secret;")
    assert refusal(documents.zipped(parts | {"word/document.xml": body}), "a.docx").reason == ENTITIES


def test_a_declaration_across_two_pieces_is_found() -> None:
    xml = b"<?xml version='1.0'?><!--" + b" " * (65_536 - 32) + b"--><!ENTITY a 'x'>"
    assert refusal(with_part("word/other.bin", xml), "a.docx").reason == ENTITIES


def test_an_encoding_that_could_hide_a_declaration() -> None:
    xml = b"<?xml version='1.0' encoding='UTF-7'?>+ADwAIQ-DOCTYPE x><x/>"
    assert "encoding" in refusal(with_part("word/document.xml", xml), "a.docx").reason


@pytest.mark.parametrize("name", ["../evil.xml", "/etc/passwd", "word/../../x", "C:/x", "..\\x"])
def test_names_that_lead_out(name: str) -> None:
    assert refusal(with_part(name, "x"), "a.docx").reason == "a part of it points to a place outside of it"


def test_links() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in documents.docx_parts("text").items():
            archive.writestr(name, content)
        link = zipfile.ZipInfo("word/link.xml")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert refusal(buffer.getvalue(), "a.docx").reason == "a part of it points to a place outside of it"


def test_locked_parts() -> None:
    content = bytearray(documents.docx("text"))
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    assert refusal(bytes(content), "a.docx").reason == "it is encrypted: remove the password first"


def test_two_parts_of_one_name() -> None:
    buffer = io.BytesIO()
    with pytest.warns(UserWarning), zipfile.ZipFile(buffer, "w") as archive:
        for name, content in [*documents.docx_parts("a").items(), *documents.docx_parts("b").items()]:
            archive.writestr(name, content)
    assert "two parts of one name" in refusal(buffer.getvalue(), "a.docx").reason


def test_archives_inside_are_left_alone() -> None:
    assert text_of(with_part("word/embeddings/inner.zip", documents.docx("inner")), "a.docx") == "text"


def test_what_points_to_the_network_is_not_fetched() -> None:
    relationships = (
        f'<Relationships xmlns="{documents.OFFICE}/package/2006/relationships"><Relationship Id="rId9" '
        f'Type="{documents.OFFICE}/officeDocument/2006/relationships/attachedTemplate" '
        'Target="http://203.0.113.1/evil.dotm" TargetMode="External"/></Relationships>'
    )
    assert text_of(with_part("word/_rels/document.xml.rels", relationships), "a.docx") == "text"


def test_a_picture_may_have_a_doctype() -> None:
    assert text_of(with_part("word/media/a.svg", "<!DOCTYPE svg><svg/>"), "a.docx") == "text"
