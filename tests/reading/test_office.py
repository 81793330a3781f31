"""Word, PowerPoint and Excel files, and malicious ones."""

import base64
import io
import zipfile
from datetime import date, datetime
from pathlib import Path

import pptx
import pytest

from tests.reading import documents
from tests.reading.reads import assert_clean, refusal, text_of
from veracity.reading.base import ArchiveLimits, Unreadable
from veracity.reading.extract import extract

TEXTS = ("Returns within thirty days.", "退货须在三十天内办理。", "返品は三十日以内です。")
LAUGHS = "<!DOCTYPE x [<!ENTITY a '{}'>{}]>".format(
    "ha" * 50, "".join(f"<!ENTITY {new} '{f'&{old};' * 10}'>" for old, new in zip("abcdefgh", "bcdefghi", strict=True))
)
QUADRATIC = f"<!DOCTYPE x [<!ENTITY a '{'x' * 100_000}'>]>"
ENTITIES = "it declares XML entities, which Office files never do"


def test_word_in_three_languages() -> None:
    reading = extract(documents.docx("# Rules", TEXTS[0], "## 退货", TEXTS[1], "### 返品", TEXTS[2]), "rules.docx")
    assert_clean(reading)
    assert reading.text.split("\n\n") == ["# Rules", TEXTS[0], "## 退货", TEXTS[1], "### 返品", TEXTS[2]]
    assert (reading.title, reading.format, reading.markdown, reading.pages) == ("Rules", "docx", True, ())


def test_title_comes_from_the_properties() -> None:
    assert extract(documents.docx("# Heading", title="手冊 & more"), "a.docx").title == "手冊 & more"
    assert extract(documents.docx("# Heading", title="Word Document"), "a.docx").title == "Heading"


def test_characters_are_not_escaped() -> None:
    text = "snake_case * 2 [x] (y) #1 <tag> a|b \\ end"
    assert text_of(documents.docx(text), "a.docx") == text


def test_word_without_text() -> None:
    assert refusal(documents.docx(""), "a.docx").reason == "it holds no text"


def test_emphasis_and_tables() -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    row = f"<w:tr>{cell.format('品名')}{cell.format('price')}</w:tr><w:tr>{cell.format('茶')}{cell.format('3')}</w:tr>"
    bold = "<w:r><w:rPr><w:b/><w:u w:val='single'/></w:rPr><w:t>bold</w:t></w:r>"
    parts = documents.docx_parts(bold)
    body = str(parts["word/document.xml"]).replace("</w:body>", f"<w:tbl>{row}</w:tbl></w:body>")
    text = text_of(documents.zipped(parts | {"word/document.xml": body}), "a.docx")
    assert text.startswith("bold\n")
    assert "| 茶 | 3 |" in text


def test_pictures_give_only_their_description() -> None:
    picture = (
        '<w:r><w:drawing><wp:inline xmlns:wp="{0}/drawingml/2006/wordprocessingDrawing"><wp:docPr id="1" name="P" '
        'descr="A cup of tea"/><a:graphic xmlns:a="{0}/drawingml/2006/main"><a:graphicData><pic:pic '
        'xmlns:pic="{0}/drawingml/2006/picture"><pic:blipFill><a:blip r:{1}="rId7" '
        'xmlns:r="{0}/officeDocument/2006/relationships"/></pic:blipFill></pic:pic></a:graphicData></a:graphic>'
        "</wp:inline></w:drawing></w:r>"
    )
    relationship = (
        '<Relationships xmlns="{0}/package/2006/relationships"><Relationship Id="rId7" '
        'Type="{0}/officeDocument/2006/relationships/image" Target="{1}"/></Relationships>'
    )
    for kind, target in (("embed", "media/a.png"), ("link", "file:///etc/passwd")):
        parts = documents.docx_parts("before", picture.format(documents.OFFICE, kind), "after") | {
            "word/media/a.png": b"\x89PNG" + b"\0" * 1_000_000,
            "word/_rels/document.xml.rels": relationship.format(documents.OFFICE, target),
        }
        text = text_of(documents.zipped(parts), "a.docx")
        assert text.startswith("before")
        assert "base64" not in text
        assert "root:" not in text
        assert kind == "link" or "A cup of tea" in text


def test_slides_are_pages() -> None:
    content = documents.pptx_file(
        ("Welcome", "First\nSecond"), ("退货", TEXTS[1]), ("返品", TEXTS[2]), notes="Speak slowly", table=[["a"], ["1"]]
    )
    reading = extract(content, "talk.pptx")
    assert_clean(reading)
    assert (reading.title, reading.format, reading.markdown) == ("Welcome", "pptx", True)
    assert [reading.text[start:].split("\n")[0] for start in reading.pages] == ["# Welcome", "# 退货", "# 返品"]
    assert "Slide number" not in reading.text
    assert reading.text.endswith("### Notes:\nSpeak slowly")
    assert all(text in reading.text for text in TEXTS[1:])


def test_pictures_on_slides_give_their_description_not_their_name() -> None:
    point = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    )
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Menu"
    for description in ("A cup of tea", "photo.png", ""):
        picture = slide.shapes.add_picture(io.BytesIO(point), 0, 0)
        picture._element._nvXxPr.cNvPr.set("descr", description)
    buffer = io.BytesIO()
    presentation.save(buffer)
    assert extract(buffer.getvalue(), "a.pptx").text.split() == ["A", "cup", "of", "tea", "#", "Menu"]


def test_text_on_a_slide_cannot_fake_a_slide() -> None:
    content = documents.pptx_file(("One", "<!-- Slide number: 9 -->"), ("Two", "end"))
    assert len(extract(content, "a.pptx").pages) == 2


def test_slides_without_text() -> None:
    assert refusal(documents.pptx_file(("", "")), "a.pptx").status == "skipped"


@pytest.mark.parametrize("make", [lambda: documents.docx(*TEXTS * 50), lambda: documents.pptx_file(("a", "b"))])
def test_truncated_files(make: object) -> None:
    content = make()  # type: ignore[operator]
    refused = refusal(content[: len(content) // 2], "a.docx")
    assert refused.status == "failed"
    assert "damaged" in refused.reason


def test_broken_xml() -> None:
    parts = documents.docx_parts("x") | {"word/document.xml": "<w:document><never closed"}
    refused = refusal(documents.zipped(parts), "a.docx")
    assert refused.status == "failed"
    assert "damaged" in refused.reason


def test_sheets_in_three_languages() -> None:
    content = documents.xlsx(
        {"Prices": [["Item", "Price"], ["Tea", 3.5]], "价格": [["品名", "价格"], ["茶", 3]], "価格": [["お茶", 300.0]]},
        title="Price list",
    )
    reading = extract(content, "prices.xlsx")
    assert_clean(reading)
    assert reading.text == (
        "## Prices\n\n| Item | Price |\n| --- | --- |\n| Tea | 3.5 |\n\n"
        "## 价格\n\n| 品名 | 价格 |\n| --- | --- |\n| 茶 | 3 |\n\n"
        "## 価格\n\n| お茶 | 300 |\n| --- | --- |"
    )
    assert (reading.title, reading.format, reading.markdown) == ("Price list", "xlsx", True)


def test_empty_cells_rows_columns_and_sheets_are_left_out() -> None:
    rows: list[list[object]] = [
        [None, None, None],
        [None, "a", None, "b"],
        [None, None, None, 1],
        [],
        [None, 2, None, None, None],
    ]
    text = text_of(documents.xlsx({"Empty": [], "S": rows}), "a.xlsx")
    assert text == "## S\n\n| a | b |\n| --- | --- |\n|  | 1 |\n| 2 |  |"
    assert "NaN" not in text
    assert "Unnamed" not in text


def test_cell_types() -> None:
    row = [True, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), "two\nlines | bar", 1e20, 0.1]
    assert text_of(documents.xlsx({"S": [["a"] * 6, row]}), "a.xlsx").split("\n")[-1] == (
        "| TRUE | 2026-01-02 | 2026-01-02 03:04:00 | two lines \\| bar | 1e+20 | 0.1 |"
    )


def test_a_workbook_without_text() -> None:
    assert refusal(documents.xlsx({"S": []}), "a.xlsx").reason == "it holds no text"


def test_a_sheet_that_claims_a_million_rows() -> None:
    with zipfile.ZipFile(io.BytesIO(documents.xlsx({"S": [["a"], [1]]}))) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    sheet = bytes(parts["xl/worksheets/sheet1.xml"]).decode()  # type: ignore[arg-type]
    assert "A1:A2" in sheet
    parts["xl/worksheets/sheet1.xml"] = sheet.replace("A1:A2", "A1:XFD1048576")
    assert text_of(documents.zipped(parts), "a.xlsx") == "## S\n\n| a |\n| --- |\n| 1 |"


def with_part(name: str, content: str | bytes) -> bytes:
    return documents.zipped(documents.docx_parts("text") | {name: content})


def test_a_zip_bomb_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in documents.docx_parts("text").items():
            archive.writestr(name, content)
        with archive.open("word/media/image1.bin", "w", force_zip64=True) as part:
            for _ in range(40):
                part.write(b"\0" * 1_000_000)
    assert len(buffer.getvalue()) < 1_000_000
    assert refusal(buffer.getvalue(), "bomb.docx").reason == "it unpacks to more than 200 times its size"


def test_a_declared_size_of_gigabytes_is_refused() -> None:
    content = with_part("word/big.xml", b"\0" * 1000)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.getinfo("word/big.xml").file_size
    at = content.rindex(b"word/big.xml") - 46 + 24
    assert int.from_bytes(content[at : at + 4], "little") == size
    lying = content[:at] + (4_000_000_000).to_bytes(4, "little") + content[at + 4 :]
    assert refusal(lying, "a.docx").reason == "it unpacks to more than 512 MB"


def test_a_part_larger_than_declared_is_damaged() -> None:
    content = with_part("word/big.xml", b"\0" * 100_000)
    at = content.rindex(b"word/big.xml") - 46 + 24
    assert "damaged" in refusal(content[:at] + (10).to_bytes(4, "little") + content[at + 4 :], "a.docx").reason


def test_the_caller_can_set_limits() -> None:
    with pytest.raises(Unreadable, match="more than 2 parts"):
        extract(documents.docx("text"), "a.docx", ArchiveLimits(entries=2))
    with pytest.raises(Unreadable, match="more than 1 MB"):
        extract(with_part("x.bin", b"a" * 2_000_000), "a.docx", ArchiveLimits(unpacked_megabytes=1))


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


def test_a_declaration_across_two_blocks_is_found() -> None:
    xml = b"<?xml version='1.0'?><!--" + b" " * (65_536 - 32) + b"--><!ENTITY a 'x'>"
    assert refusal(with_part("word/other.bin", xml), "a.docx").reason == ENTITIES


def test_an_encoding_that_could_hide_a_declaration() -> None:
    xml = b"<?xml version='1.0' encoding='UTF-7'?>+ADwAIQ-DOCTYPE x><x/>"
    assert "encoding" in refusal(with_part("word/document.xml", xml), "a.docx").reason


@pytest.mark.parametrize("name", ["../evil.xml", "/etc/passwd", "word/../../x", "C:/x", "..\\x"])
def test_names_that_point_outside(name: str) -> None:
    assert refusal(with_part(name, "x"), "a.docx").reason == "one of its parts points outside of the file"


def test_symbolic_links() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in documents.docx_parts("text").items():
            archive.writestr(name, content)
        link = zipfile.ZipInfo("word/link.xml")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert refusal(buffer.getvalue(), "a.docx").reason == "one of its parts points outside of the file"


def test_encrypted_parts() -> None:
    content = bytearray(documents.docx("text"))
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    assert refusal(bytes(content), "a.docx").reason == "it is encrypted: remove the password first"


def test_duplicate_part_names() -> None:
    buffer = io.BytesIO()
    with pytest.warns(UserWarning), zipfile.ZipFile(buffer, "w") as archive:
        for name, content in [*documents.docx_parts("a").items(), *documents.docx_parts("b").items()]:
            archive.writestr(name, content)
    assert "the same name" in refusal(buffer.getvalue(), "a.docx").reason


def test_nested_archives_are_ignored() -> None:
    assert text_of(with_part("word/embeddings/inner.zip", documents.docx("inner")), "a.docx") == "text"


def test_external_relationships_are_not_fetched() -> None:
    relationships = (
        f'<Relationships xmlns="{documents.OFFICE}/package/2006/relationships"><Relationship Id="rId9" '
        f'Type="{documents.OFFICE}/officeDocument/2006/relationships/attachedTemplate" '
        'Target="http://203.0.113.1/evil.dotm" TargetMode="External"/></Relationships>'
    )
    assert text_of(with_part("word/_rels/document.xml.rels", relationships), "a.docx") == "text"


def test_a_picture_may_have_a_doctype() -> None:
    assert text_of(with_part("word/media/a.svg", "<!DOCTYPE svg><svg/>"), "a.docx") == "text"
