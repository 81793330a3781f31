import pytest

from tests.reading.reads import text_of
from veracity.reading import extract


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("name,price\nTea,3\nCoffee,4\n", ["name: Tea; price: 3", "name: Coffee; price: 4"]),
        ("名称;价格\n茶;3,50\n咖啡;4,20\n", ["名称: 茶; 价格: 3,50", "名称: 咖啡; 价格: 4,20"]),
        ("商品\t価格\nお茶\t300\n", ["商品: お茶; 価格: 300"]),
        ("a|b\nx|1\ny|2\n", ["a: x; b: 1", "a: y; b: 2"]),
        ("1,2,3\n4,5,6\n", ["1; 2; 3", "4; 5; 6"]),
        ('name,note\nTea,"two\nlines, one cell"\n', ["name: Tea; note: two lines, one cell"]),
        ("name,price\nTea\nCoffee,4,extra\n", ["name: Tea", "name: Coffee; price: 4; extra"]),
        ("name,price\n\nTea,\n,,\n", ["name: Tea"]),
        ("just one column\nsecond row\n", ["just one column", "second row"]),
        ("yes,no\nno,no\nyes,no\n", ["yes; no", "no; no", "yes; no"]),
        ('name,note\nTea,"never closed\nCoffee,4\n', ["name: Tea; note: never closed Coffee,4"]),
    ],
)
def test_rows_are_understood_alone(content: str, lines: list[str]) -> None:
    reading = extract(content.encode(), "table.csv")
    assert reading.text.split("\n") == lines
    assert (reading.format, reading.markdown) == ("csv", False)


def test_tsv_is_cut_at_tabs_whatever_else_there_is() -> None:
    assert text_of(b"a,b\tc,d\n1,2\t3,4\n", "t.tsv") == "a,b: 1,2; c,d: 3,4"


def test_a_field_longer_than_the_parser_allows_by_itself() -> None:
    assert len(text_of(b'name,blob\nTea,"' + b"x" * 300_000 + b'"\n', "t.csv")) > 300_000


def test_shift_jis_as_excel_writes_it() -> None:
    assert (
        text_of("商品,価格\nお茶,300\n珈琲,450\n".encode("cp932"), "t.csv")
        == "商品: お茶; 価格: 300\n商品: 珈琲; 価格: 450"
    )
