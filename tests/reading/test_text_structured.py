import json

import pytest

from tests.reading.reads import refusal, text_of
from veracity.reading import extract


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


def test_the_title_of_an_object() -> None:
    assert extract(b'{"title": "Returns", "days": 30}', "a.json").title == "Returns"


def test_lines() -> None:
    reading = extract('{"a": 1}\n\n{"b": "二"}\n'.encode(), "data.jsonl")
    assert (reading.text, reading.format) == ("a: 1\n\nb: 二", "jsonl")
    assert extract(b'{"a": 1}\n{"b": 2}\n', "data.json").format == "jsonl"


def test_a_bad_line_is_named() -> None:
    refused = refusal(b'{"a": 1}\n\n\n\n\n{"b": \n', "data.jsonl")
    assert refused.status == "failed"
    assert "line 6" in refused.reason


def test_bad_json_is_placed() -> None:
    refused = refusal(b'{"a": 1,\n "b": }', "data.json")
    assert refused.status == "failed"
    assert "line 2, column 7" in refused.reason
    assert refusal(b'{"a": 1}\nnot json', "data.json").status == "failed"


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b"{}", b"[]", b"null"]
)
def test_what_holds_nothing_or_nests_too_deeply_is_refused(content: bytes) -> None:
    assert "damaged" not in refusal(content, "a.json").reason or len(content) > 1_000


def test_deep_nesting_has_a_clear_reason() -> None:
    assert refusal(b"[" * 100_000, "a.json").reason == "it nests its values too deeply"
    assert refusal(b"[" * 100_000 + b"\n", "a.jsonl").reason == "it nests its values too deeply"


def test_what_is_nested_but_not_too_deeply() -> None:
    nested: object = "end"
    for _ in range(100):
        nested = {"a": nested}
    assert text_of(json.dumps(nested).encode(), "a.json") == ".".join(["a"] * 100) + ": end"
