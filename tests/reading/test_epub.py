"""EPUB: chapters in the order of the book, broken and protected books."""

import random

import pytest

from tests.reading import documents
from tests.reading.reads import assert_clean, refusal
from veracity.reading.base import Unreadable
from veracity.reading.extract import extract

TEXTS = ("Returns within thirty days.", "退货须在三十天内办理。", "返品は三十日以内です。")
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
CHAPTER = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x'
    "</title><style>p {{}}</style></head><body><h1>{}</h1><p>{}</p></body></html>"
)


def book_parts(title: str = "手引き") -> dict[str, str | bytes]:
    """Three chapters, the last one first in the manifest, and a cover without text."""
    items = "".join(
        f'<item id="c{number}" href="part%20{number}.xhtml" media-type="application/xhtml+xml"/>'
        for number in (3, 1, 2, 0)
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>{title}</dc:title></metadata><manifest>{items}"
        '<item id="img" href="a.png" media-type="image/png"/></manifest><spine>'
        + "".join(f'<itemref idref="{name}"/>' for name in ("c0", "img", "c1", "c2", "c3", "missing", "c1"))
        + "</spine></package>"
    )
    chapters: dict[str, str | bytes] = {
        f"OEBPS/part {number}.xhtml": CHAPTER.format(f"Part {number}", text) for number, text in enumerate(TEXTS, 1)
    }
    cover: dict[str, str | bytes] = {
        "OEBPS/part 0.xhtml": '<html><body><img src="a.png"/></body></html>',
        "OEBPS/a.png": b"\x89PNG",
    }
    fixed: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": package,
    }
    return fixed | chapters | cover


def test_chapters_in_the_order_of_the_book() -> None:
    reading = extract(documents.zipped(book_parts()), "book.epub")
    assert_clean(reading)
    assert reading.text.split("\n\n") == ["# Part 1", TEXTS[0], "# Part 2", TEXTS[1], "# Part 3", TEXTS[2]]
    assert (reading.title, reading.format, reading.markdown) == ("手引き", "epub", True)
    assert extract(documents.zipped(book_parts(title="")), "book.zip").title == "Part 1"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"META-INF/container.xml": "<container/>"}, "it lacks the list of its chapters"),
        ({"OEBPS/book.opf": "<package"}, 'its part "OEBPS/book.opf" is not valid XML'),
        ({"OEBPS/book.opf": "<package/>"}, "it holds no text"),
        ({"OEBPS/book.opf": "<!DOCTYPE x [<!ENTITY a 'ha'>]><package>&a;</package>"}, "it declares XML entities"),
        ({"../evil.xhtml": "text"}, "points outside of the file"),
        ({"OEBPS/bomb.xhtml": b"0" * 20_000_000}, "it unpacks to more than 200 times its size"),
        (
            {
                "META-INF/encryption.xml": '<encryption xmlns:e="x"><e:CipherReference URI="OEBPS/part%201.xhtml"/>'
                "</encryption>"
            },
            "it is encrypted",
        ),
    ],
)
def test_broken_books(changed: dict[str, str | bytes], reason: str) -> None:
    assert reason in refusal(documents.zipped(book_parts() | changed), "book.epub").reason


def test_encrypted_fonts_do_not_matter() -> None:
    fonts = {"META-INF/encryption.xml": '<encryption><CipherReference URI="OEBPS/font.otf"/></encryption>'}
    assert TEXTS[0] in extract(documents.zipped(book_parts() | fonts), "book.epub").text


def test_parts_with_junk() -> None:
    generator = random.Random("epub")
    for name, content in book_parts().items():
        whole = content.encode() if isinstance(content, str) else content
        for junk in (b"", b"<a>", b"\xff\xfe\0\0", whole[: generator.randrange(len(whole))]):
            try:
                assert_clean(extract(documents.zipped(book_parts() | {name: junk}), "book.epub"))
            except Unreadable as problem:
                assert problem.reason
