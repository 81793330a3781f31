"""Builds real PDF and Office files for the tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

import openpyxl  # type: ignore[import-untyped]
import pptx
from pptx.util import Inches

OFFICE = "http://schemas.openxmlformats.org"
WORD = f"{OFFICE}/wordprocessingml/2006/main"
TYPES = (
    f'<?xml version="1.0" encoding="UTF-8"?><Types xmlns="{OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RELATIONSHIPS = (
    f'<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="{OFFICE}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def zipped(parts: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def docx_parts(*paragraphs: str, title: str = "", doctype: str = "") -> dict[str, str | bytes]:
    """Paragraphs that begin with # are headings."""
    body = "".join(map(_paragraph, paragraphs))
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONSHIPS,
        "word/document.xml": f'<?xml version="1.0" encoding="UTF-8"?>{doctype}'
        f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
    }
    if title:
        parts["docProps/core.xml"] = (
            f'<cp:coreProperties xmlns:cp="{OFFICE}/package/2006/metadata/core-properties" '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title></cp:coreProperties>'
        )
    return parts


def docx(*paragraphs: str, title: str = "") -> bytes:
    return zipped(docx_parts(*paragraphs, title=title))


def _paragraph(text: str) -> str:
    level = len(text) - len(text.lstrip("#"))
    style = f'<w:pPr><w:pStyle w:val="Heading{level}"/></w:pPr>' if level else ""
    run = text if text.startswith("<") else f"<w:r><w:t>{escape(text[level:].strip())}</w:t></w:r>"
    return f"<w:p>{style}{run}</w:p>"


def xlsx(sheets: Mapping[str, list[list[Any]]], title: str = "") -> bytes:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    workbook.properties.title = title or None
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def pptx_file(*slides: tuple[str, str], notes: str = "", table: list[list[str]] | None = None) -> bytes:
    """Slides as title and body; the notes and the table go to the last one."""
    presentation = pptx.Presentation()
    for title, body in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    if table:
        frame = slide.shapes.add_table(len(table), len(table[0]), Inches(1), Inches(5), Inches(4), Inches(1))
        for at, row in enumerate(table):
            for column, text in enumerate(row):
                frame.table.cell(at, column).text = text
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


def pdf(*pages: str, title: str = "") -> bytes:
    """A PDF whose character codes are code points, with a ToUnicode map."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>"
        % (len(pages), b" ".join(b"%d 0 R" % (7 + 2 * n) for n in range(len(pages)))),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Test /Encoding /Identity-H /DescendantFonts [4 0 R] "
        b"/ToUnicode 5 0 R >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Test /DW 600 "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
        b"/FontDescriptor << /Type /FontDescriptor /FontName /Test /Flags 4 /FontBBox [0 0 600 800] /ItalicAngle 0 "
        b"/Ascent 800 /Descent 0 /CapHeight 700 /StemV 80 >> >>",
        _stream(_unicode_map("".join(pages))),
        b"<< /Title <%s> >>" % ("\ufeff" + title).encode("utf-16-be").hex().encode(),
    ]
    for number, page in enumerate(pages):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 2000 800] /Contents %d 0 R "
            b"/Resources << /Font << /F 3 0 R >> >> >>" % (8 + 2 * number)
        )
        lines = b" T* ".join(b"<%s> Tj" % line.encode("utf-16-be").hex().encode() for line in page.split("\n"))
        objects.append(_stream(b"BT /F 12 Tf 14 TL 20 700 Td " + lines + b" ET" if page else b""))
    return pdf_of(objects, info=6 if title else 0)


def pdf_of(objects: list[bytes], info: int = 0, trailer: bytes = b"") -> bytes:
    content, offsets = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    extra = (b"/Info %d 0 R " % info if info else b"") + trailer
    content += b"trailer\n<< /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, extra, start)
    return content


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _unicode_map(text: str) -> bytes:
    codes = sorted({ord(character) for character in text if character != "\n"})
    blocks = [codes[at : at + 100] for at in range(0, len(codes), 100)]
    ranges = b"".join(
        b"%d beginbfchar\n%s\nendbfchar\n" % (len(block), b"\n".join(b"<%04X> <%04X>" % (code, code) for code in block))
        for block in blocks
    )
    return (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Test def /CMapType 2 def\n"
        b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + ranges + b"endcmap end end"
    )
