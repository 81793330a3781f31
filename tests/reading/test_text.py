"""Plain text, JSON and CSV."""

import json

import pytest

from tests.reading.reads import refusal, text_of
from veracity.reading.extract import extract


def test_plain_text_keeps_its_lines_and_has_no_title() -> None:
    reading = extract(b"# not a heading here\r\n  indented  \r\n\r\nend\r\n", "note.txt")
    assert reading.text == "# not a heading here\n  indented\n\nend"
    assert (reading.title, reading.markdown, reading.pages) == ("", False, ())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"name": "Tea", "origin": {"country": "中国"}}', "name: Tea\norigin.country: 中国"),
        ('[{"名前": "お茶"}, {"名前": "珈琲"}]', "名前: お茶\n\n名前: 珈琲"),
        ('{"a": 1, "list": [{"b": 2}, {"b": [3, 4]}]}', "a: 1\n\nlist[1].b: 2\n\nlist[2].b: 3, 4"),
        ('{"a": [true, false, null, 1.50, NaN]}', "a: true, false, 1.50, NaN"),
        ('{"a": 1, "a": 2}', "a: 1\na: 2"),
        ('{"a": "' + "9" * 10 + '", "b": ' + "9" * 5000 + "}", "a: 9999999999\nb: " + "9" * 5000),
        ('"only text"', "only text"),
        ('{"lone": "\\ud800 surrogate"}', "lone: \ufffd surrogate"),
        ('{"two": "first\\nsecond"}', "two: first\nsecond"),
    ],
)
def test_json(content: str, text: str) -> None:
    reading = extract(content.encode(), "data.json")
    assert (reading.text, reading.format) == (text, "json")


def test_json_title() -> None:
    assert extract(b'{"title": "Returns", "days": 30}', "a.json").title == "Returns"


def test_json_lines() -> None:
    reading = extract('{"a": 1}\n\n{"b": "二"}\n'.encode(), "data.jsonl")
    assert (reading.text, reading.format) == ("a: 1\n\nb: 二", "jsonl")
    assert extract(b'{"a": 1}\n{"b": 2}\n', "data.json").format == "jsonl"


def test_json_lines_error_names_the_line() -> None:
    refused = refusal(b'{"a": 1}\n\n\n\n\n{"b": \n', "data.jsonl")
    assert refused.status == "failed"
    assert "line 6" in refused.reason


def test_json_error_has_a_position() -> None:
    refused = refusal(b'{"a": 1,\n "b": }', "data.json")
    assert refused.status == "failed"
    assert "line 2, column 7" in refused.reason
    assert refusal(b'{"a": 1}\nnot json', "data.json").status == "failed"


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b"{}", b"[]", b"null"]
)
def test_empty_or_deeply_nested_json_is_refused(content: bytes) -> None:
    assert "damaged" not in refusal(content, "a.json").reason or len(content) > 1_000


def test_deep_nesting_has_a_clear_reason() -> None:
    assert refusal(b"[" * 100_000, "a.json").reason == "it nests its values too deeply"
    assert refusal(b"[" * 100_000 + b"\n", "a.jsonl").reason == "it nests its values too deeply"


def test_moderately_nested_json() -> None:
    nested: object = "end"
    for _ in range(100):
        nested = {"a": nested}
    assert text_of(json.dumps(nested).encode(), "a.json") == ".".join(["a"] * 100) + ": end"


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
def test_csv_rows_name_their_columns(content: str, lines: list[str]) -> None:
    reading = extract(content.encode(), "table.csv")
    assert reading.text.split("\n") == lines
    assert (reading.format, reading.markdown) == ("csv", False)


def test_tsv_is_split_at_tabs() -> None:
    assert text_of(b"a,b\tc,d\n1,2\t3,4\n", "t.tsv") == "a,b: 1,2; c,d: 3,4"


def test_a_csv_field_over_the_parsers_default_limit() -> None:
    assert len(text_of(b'name,blob\nTea,"' + b"x" * 300_000 + b'"\n', "t.csv")) > 300_000


def test_csv_in_shift_jis() -> None:
    assert (
        text_of("商品,価格\nお茶,300\n珈琲,450\n".encode("cp932"), "t.csv")
        == "商品: お茶; 価格: 300\n商品: 珈琲; 価格: 450"
    )
