from datetime import date, datetime

from tests.reading import documents
from tests.reading.reads import assert_clean, refusal, text_of
from veracity.reading import extract


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


def test_empty_cells_rows_columns_and_sheets_leave_no_trace() -> None:
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


def test_kinds_of_cells() -> None:
    row = [True, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), "two\nlines | bar", 1e20, 0.1]
    assert text_of(documents.xlsx({"S": [["a"] * 6, row]}), "a.xlsx").split("\n")[-1] == (
        "| TRUE | 2026-01-02 | 2026-01-02 03:04:00 | two lines \\| bar | 1e+20 | 0.1 |"
    )


def test_a_workbook_without_text() -> None:
    assert refusal(documents.xlsx({"S": []}), "a.xlsx").reason == "it holds no text"


def test_a_sheet_that_claims_a_million_rows() -> None:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(documents.xlsx({"S": [["a"], [1]]}))) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    sheet = bytes(parts["xl/worksheets/sheet1.xml"]).decode()  # type: ignore[arg-type]
    assert "A1:A2" in sheet
    parts["xl/worksheets/sheet1.xml"] = sheet.replace("A1:A2", "A1:XFD1048576")
    assert text_of(documents.zipped(parts), "a.xlsx") == "## S\n\n| a |\n| --- |\n| 1 |"
