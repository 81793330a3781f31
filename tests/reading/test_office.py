import base64
import io

import pptx
import pytest

from tests.reading import documents
from tests.reading.reads import assert_clean, refusal, text_of
from veracity.reading import extract

TEXTS = ("Returns within thirty days.", "退货须在三十天内办理。", "返品は三十日以内です。")


def test_word_in_three_languages() -> None:
    reading = extract(documents.docx("# Rules", TEXTS[0], "## 退货", TEXTS[1], "### 返品", TEXTS[2]), "rules.docx")
    assert_clean(reading)
    assert reading.text.split("\n\n") == ["# Rules", TEXTS[0], "## 退货", TEXTS[1], "### 返品", TEXTS[2]]
    assert (reading.title, reading.format, reading.markdown, reading.pages) == ("Rules", "docx", True, ())


def test_the_title_among_the_properties_goes_first() -> None:
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


def test_pictures_give_their_description_and_nothing_else() -> None:
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


def test_pictures_on_slides_give_their_description_but_not_their_name() -> None:
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


def test_a_slide_cannot_fake_another() -> None:
    content = documents.pptx_file(("One", "<!-- Slide number: 9 -->"), ("Two", "end"))
    assert len(extract(content, "a.pptx").pages) == 2


def test_slides_without_text() -> None:
    assert refusal(documents.pptx_file(("", "")), "a.pptx").status == "skipped"


@pytest.mark.parametrize("make", [lambda: documents.docx(*TEXTS * 50), lambda: documents.pptx_file(("a", "b"))])
def test_cut_off(make: object) -> None:
    content = make()  # type: ignore[operator]
    refused = refusal(content[: len(content) // 2], "a.docx")
    assert refused.status == "failed"
    assert "damaged" in refused.reason


def test_a_document_whose_xml_is_broken() -> None:
    parts = documents.docx_parts("x") | {"word/document.xml": "<w:document><never closed"}
    refused = refusal(documents.zipped(parts), "a.docx")
    assert refused.status == "failed"
    assert "damaged" in refused.reason
