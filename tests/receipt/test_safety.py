"""The page in a browser: hostile text is inert, nothing is loaded, and the page is accessible."""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.receipt.page import Page
from tests.receipt.receipts import bare, full
from veracity.graph.build import NODES
from veracity.locales import section_texts
from veracity.models import Receipt
from veracity.receipt.render import render_receipt

PACKAGE = files("veracity.receipt")
STYLE = (PACKAGE / "receipt.css").read_text(encoding="utf-8")
HARMLESS = str.maketrans('<&"', "‹※“")  # replaces what opens something in HTML; ">" quotes in Markdown
# Values that the models restrict.
FIXED = {"status", "kind", "grade", "code", "outcome", "verdict", "state", "why", "on_reject", "form", "metric_set"}
KEPT = {*FIXED, "started", "created", "at", "retrieved", "language", "route", "name", "role"}
hostile = st.text(st.sampled_from('<>&"/=;!-[]#1 ab\n') | st.characters(), max_size=25)


def replace_texts(value: Any, replace: Callable[[str], str], key: str = "") -> Any:
    """The same data with every free text replaced."""
    if isinstance(value, dict):
        return {name: replace_texts(item, replace, name) for name, item in value.items()}
    if isinstance(value, list):
        return [replace_texts(item, replace, key) for item in value]
    return replace(value) if isinstance(value, str) and key not in KEPT else value


def render_with(replace: Callable[[str], str]) -> str:
    return render_receipt(Receipt.model_validate(replace_texts(full().model_dump(mode="json"), replace)))


@given(hostile, hostile)
@example('"><script>alert(1)</script><img src=x onerror=alert(1)>', "")
@example("</style></title></head><body onload=x>", "</details></section></main>")
@example('"><a href="javascript:alert(1)">[1]</a>', "<!--")
def test_text_adds_no_element_and_no_attribute(before: str, after: str) -> None:
    """The page has the same elements and attributes as one whose texts contain nothing special."""
    page = Page(render_with(lambda text: before + text + after))
    harmless = render_with(
        lambda text: before.translate(HARMLESS) + text.translate(HARMLESS) + after.translate(HARMLESS)
    )
    assert page.shape == Page(harmless).shape
    assert all((link.attributes["href"] or "").startswith("#") for link in page.all("a"))


@given(st.text(max_size=25))
@example("\u202e\u2066\x00\x1b\ud800\ufeff")
def test_invisible_characters_are_replaced(prefix: str) -> None:
    page = render_with(lambda text: prefix + text)
    assert all(char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co") for char in page)
    page.encode()


def test_special_characters_stay_text() -> None:
    asked = "a < b & \"c\" 'd' &lt;"
    assert Page(render_receipt(bare("running", run={"question": asked}))).all("h1")[0].text == asked


def test_direction_overrides_become_visible() -> None:
    asked = "a\u202egnp.exe\u2066\x1b[2J\x00"
    assert Page(render_receipt(bare("running", run={"question": asked}))).all("h1")[0].text == "a�gnp.exe��[2J�"


def test_line_endings_are_normalized() -> None:
    asked = "one\r\ntwo\nthree"
    assert Page(render_receipt(bare("running", run={"question": asked}))).all("h1")[0].text == "one\ntwo\nthree"


def test_policy_allows_only_the_inlined_style() -> None:
    page = Page(render_receipt(full()))
    (style,) = page.all("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    policy = next(element.attributes["content"] for element in page.all("meta") if "http-equiv" in element.attributes)
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_nothing_is_loaded() -> None:
    names = {element.name for element in Page(render_receipt(full())).elements}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "input", "base", "video", "audio"}
    assert not re.search(r"url\(|@import|@font-face|</", STYLE)


@pytest.mark.parametrize("receipt", [full(), bare("running"), bare("failed")])
def test_headings_are_in_order_and_links_resolve(receipt: Receipt) -> None:
    page = Page(render_receipt(receipt))
    levels = [int(element.name[1]) for element in page.elements if re.fullmatch("h[1-6]", element.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    wanted = [element.attributes.get("href") for element in page.all("a")]
    assert {name.removeprefix("#") for name in wanted if name} <= set(ids)
    assert [len(page.all(name)) for name in ("header", "nav", "main")] == [1, 1, 1]
    assert all(
        element.attributes.get("aria-label") or element.attributes.get("aria-hidden") for element in page.all("svg")
    )


def test_every_label_exists_and_is_used() -> None:
    source = "".join((PACKAGE / file).read_text(encoding="utf-8") for file in ("receipt.html.j2", "render.py"))
    labels = set(section_texts("en", "receipt"))
    plain = {key for key in labels if "." not in key}
    assert set(re.findall(r'label\(\s*"(\w+)"', source)) <= labels
    assert plain <= set(re.findall(r'"(\w+)"', source))
    kinds = set(re.findall(r'\bnames?\("(\w+)"', source))
    assert {key.partition(".")[0] for key in labels - plain} == kinds


def test_every_step_has_a_label() -> None:
    assert {f"step.{node.__name__}" for node in NODES} <= set(section_texts("en", "receipt"))


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    lower, higher = sorted((luminance(first), luminance(second)))
    return (higher + 0.05) / (lower + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast_of_texts(theme: int) -> None:
    """WCAG AA requires 4.5."""
    blocks = re.findall(r":root\s*\{(.*?)\}", STYLE, re.DOTALL)
    colours = {
        name: colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
        for name, colour in re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,6})", blocks[theme])
    }
    texts = [(ink, paper) for ink in ("ink", "quiet", "accent", "bad") for paper in ("paper", "raised")]
    soft = [(tone, f"{tone}-soft") for tone in ("good", "fair", "bad")]
    on_soft = [("ink", "fair-soft"), ("ink", "marked"), ("ink", "track")]
    for ink, paper in [*texts, *soft, *on_soft]:
        assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
