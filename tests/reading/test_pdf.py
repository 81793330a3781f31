"""PDF files: pages, hyphenation, damaged files."""

import pytest

from tests.reading import documents
from tests.reading.reads import assert_clean, refusal, text_of
from veracity.reading import ocr
from veracity.reading.extract import extract

PAGES = ("Returns within thirty days.", "退货须在三十天内办理。", "返品は三十日以内です。")


def test_pages_in_three_languages() -> None:
    reading = extract(documents.pdf(*PAGES, title="手引き 1"), "manual.pdf")
    assert_clean(reading)
    assert reading.text == "\n\n".join(PAGES)
    assert [reading.text[start:].split("\n")[0] for start in reading.pages] == list(PAGES)
    assert (reading.title, reading.format, reading.markdown) == ("手引き 1", "pdf", False)


def test_empty_pages_count() -> None:
    reading = extract(documents.pdf("", "two", "", "four", ""), "a.pdf")
    assert reading.text == "two\n\nfour"
    assert reading.pages == (0, 0, 5, 5, 9)


@pytest.mark.parametrize(
    "title",
    ["untitled", "(anonymous)", "Microsoft Word - Rules v2.docx", "rules.indd", "C:\\Users\\a\\rules", "Document1",
     "文档1", "無題", "PowerPoint プレゼンテーション", "none", "  ", "---", "Slide 1", "report_final.pdf"],
)  # fmt: skip
def test_default_titles_are_left_out(title: str) -> None:
    assert extract(documents.pdf(*PAGES, title=title), "rules.pdf").title == ""


@pytest.mark.parametrize(
    "title",
    ["Rules", "Untitled masterpieces of 1920", "Document retention", "3.11", "ASP.NET in Action", "文档管理规定"],
)
def test_real_titles_stay(title: str) -> None:
    assert extract(documents.pdf(*PAGES, title=title), "rules.pdf").title == title


def test_a_receipt_keeps_its_lines() -> None:
    receipt = "Invoice no. 4711\n合計 1,200円\nDiscount -\nTotal EUR 99.00"
    assert text_of(documents.pdf(receipt), "receipt.pdf") == receipt


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("an exam-\nple of it", "an example of it"),
        ("the Anglo-\nSaxon way", "the Anglo-Saxon way"),
        ("in 1990-\n2000 or so", "in 1990-\n2000 or so"),
        ("well\u00adknown", "wellknown"),
        ("first line\nsecond line", "first line\nsecond line"),
    ],
)
def test_hyphenated_words_are_joined(page: str, text: str) -> None:
    assert text_of(documents.pdf(page), "a.pdf").replace("1990-2000", "1990-\n2000") == text


def test_a_scan_holds_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    refused = refusal(documents.pdf(""), "scan.pdf")
    reason = 'it holds no text (a scan needs text recognition: pip install "veracity[ocr]")'
    assert (refused.status, refused.reason) == ("skipped", reason)


def test_encrypted() -> None:
    encrypt = b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>] " % (
        b"41" * 32,
        b"42" * 32,
    )
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 0 /Kids [] >>"]
    refused = refusal(documents.pdf_of(objects, trailer=encrypt), "a.pdf")
    assert (refused.status, refused.reason) == ("failed", "it is encrypted: remove the password first")


@pytest.mark.parametrize(
    "objects",
    [
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 1 /Kids [2 0 R] >>"],
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 2 /Kids [3 0 R] /Parent 3 0 R >>",
            b"<< /Type /Pages /Count 2 /Kids [2 0 R] /Parent 2 0 R >>",
        ],
        [b"<< /Type /Catalog /Pages 1 0 R >>"],
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 3 0 R /Contents 3 0 R >>",
        ],
        [b"2 0 R", b"1 0 R"],
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 0 /Kids [] >>"],
    ],
)
def test_circular_references(objects: list[bytes]) -> None:
    assert refusal(documents.pdf_of(objects), "a.pdf").reason


def test_truncated_or_invalid_files() -> None:
    whole = documents.pdf(*PAGES)
    assert refusal(whole[:60], "a.pdf").status == "failed"
    assert refusal(b"%PDF-1.7\n" + b"junk\xff\x00" * 100, "a.pdf").status == "failed"


def test_a_missing_trailer_is_tolerated() -> None:
    assert PAGES[0] in text_of(documents.pdf(*PAGES)[:-12], "a.pdf")


def test_a_wrong_page_count() -> None:
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 50000 /Kids [] >>"]
    assert refusal(documents.pdf_of(objects), "a.pdf").reason
