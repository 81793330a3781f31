"""Published text is inert (DESIGN 8): no link, image or markup by a model or a document."""

import time

import pytest

from veracity.agents.links import make_inert


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Staff have [25 days](https://evil.example/?d=1) of leave. [1]", "Staff have 25 days of leave. [1]"),
        (
            "Staff have 25 days ![x](https://evil.example/p.png) of leave. [1][2]",
            "Staff have 25 days x of leave. [1][2]",
        ),
        ("A. [1](javascript:alert(1))", "A. [1]"),
        ("A [![x](https://a.example/i.png)](https://b.example/) b", "A x b"),
        ("A. [1]\n\n[1]: https://evil.example/x", "A. [1]\n\n"),
        ("A <https://evil.example/>.", "A …."),
        ("A <img src=x onerror=alert(1)> b", "A  b"),
        ("A <script>alert(1)</script>", "A alert(1)"),
        ("A <img src=x onerror=alert(1)", "A < img src=x onerror=alert(1)"),
        ("See https://evil.example/?q=secret now", "See … now"),
        ("点击 www.evil.example/机密 吧", "点击 …机密 吧"),
        ("a < b and c > d, 3<4", "a < b and c > d, 3<4"),
        ("The data: 25 days; file: leave.txt", "The data: 25 days; file: leave.txt"),
    ],
)
def test_links_and_markup_become_plain_text(text: str, left: str) -> None:
    assert make_inert(text) == left


def test_address_stays_only_if_the_evidence_contains_it() -> None:
    assert (
        make_inert("见https://a.example/x。申请[1]。", ["在 https://a.example/x，谢谢"])
        == "见https://a.example/x。申请[1]。"
    )
    assert make_inert("见https://a.example/y。申请[1]。", ["在 https://a.example/x，谢谢"]) == "见…。申请[1]。"
    ev = ["Ask for it at https://portal.example/leave."]
    assert make_inert("It is https://portal.example/leave. [1]", ev) == "It is https://portal.example/leave. [1]"
    assert make_inert("It is https://portal.example/leave?d=25. [1]", ev) == "It is …. [1]"
    assert make_inert("It is https://portal.example/. [1]", ev) == "It is …. [1]"


@pytest.mark.parametrize(
    "hostile", ["[" * 50000, "![x](" * 20000, "<a" * 50000, "[a](" + "(" * 50000, "http://" * 20000]
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    started = time.process_time()
    make_inert(hostile)
    assert time.process_time() - started < 20, "quadratic would take hours"
