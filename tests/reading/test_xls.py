"""Excel before 2007."""

import random

from tests.reading import ole
from tests.reading.reads import assert_clean, refusal
from veracity.reading.base import Unreadable
from veracity.reading.extract import extract

ROWS: list[list[str | float]] = [["品名", "price", "备注"], ["茶", 3.5, "三十天内"], ["返品", 4.0, "a|b"]]


def test_sheets_are_tables() -> None:
    reading = extract(ole.xls("価格 2026", ROWS), "prices.xls")
    assert_clean(reading)
    assert reading.text == (
        "## 価格 2026\n\n| 品名 | price | 备注 |\n| --- | --- | --- |\n| 茶 | 3.5 | 三十天内 |\n| 返品 | 4 | a\\|b |"
    )
    assert (reading.format, reading.markdown) == ("xls", True)
    assert refusal(ole.xls("a", []), "a.xls").reason == "it holds no text"


def test_randomly_damaged_workbooks() -> None:
    whole, generator = ole.xls("a", ROWS * 20), random.Random("xls")
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(generator.randint(1, 8)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        try:
            assert_clean(extract(bytes(content), "a.xls"))
        except Unreadable as problem:
            assert problem.reason
