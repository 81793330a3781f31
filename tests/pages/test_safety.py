"""The page from a browser's side: nothing a text says becomes an element, nothing is asked for from anywhere, and
everybody can read it."""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pages.material import bare, full
from tests.pages.reading import Page
from veracity.graph.build import NODES
from veracity.models import Receipt
from veracity.pages import labels, receipt_page

STYLE = (files("veracity.pages") / "receipt.css").read_text(encoding="utf-8")
# What HTML reads as its own, and signs that it does not, for the same places.
HARMLESS = str.maketrans('<>&"', "‹›※“")
# Values that the data models restrict.
FIXED = {"status", "kind", "grade", "code", "outcome", "verdict", "state", "why", "on_reject", "form", "metric_set"}
KEPT = {*FIXED, "started", "created", "at", "retrieved", "language", "route"}
hostile = st.text(st.sampled_from('<>&"/=;!-[]#1 ab\n') | st.characters(), max_size=25)


def everywhere(value: Any, replace: Callable[[str], str], key: str = "") -> Any:
    """The same data with every free text replaced."""
    if isinstance(value, dict):
        return {name: everywhere(one, replace, name) for name, one in value.items()}
    if isinstance(value, list):
        return [everywhere(one, replace, key) for one in value]
    return replace(value) if isinstance(value, str) and key not in KEPT else value


def saying(replace: Callable[[str], str]) -> Page:
    return Page(receipt_page(Receipt.model_validate(everywhere(full().model_dump(mode="json"), replace))))


@settings(max_examples=60, deadline=None)
@given(hostile, hostile)
@example('"><script>alert(1)</script><img src=x onerror=alert(1)>', "")
@example("</style></title></head><body onload=x>", "</details></section></main>")
@example('"><a href="javascript:alert(1)">[1]</a>', "<!--")
def test_no_text_adds_an_element_or_an_attribute(before: str, after: str) -> None:
    """The page has the same elements with the same attributes as one whose texts hold nothing that HTML reads."""
    told = saying(lambda text: before + text + after)
    harmless = saying(lambda text: before.translate(HARMLESS) + text.translate(HARMLESS) + after.translate(HARMLESS))
    assert told.shape == harmless.shape
    assert all((one.attributes["href"] or "").startswith("#") for one in told.all("a"))


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=25))
@example("\u202e\u2066\x00\x1b\ud800\ufeff")
def test_nothing_unseen_is_on_the_page(said: str) -> None:
    page = receipt_page(Receipt.model_validate(everywhere(full().model_dump(mode="json"), lambda text: said + text)))
    assert all(one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Co") for one in page)
    page.encode()


def test_the_policy_allows_this_style_and_nothing_else() -> None:
    page = Page(receipt_page(full()))
    (style,) = page.all("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    policy = next(one.attributes["content"] for one in page.all("meta") if "http-equiv" in one.attributes)
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_nothing_is_asked_for_from_anywhere() -> None:
    names = {one.name for one in Page(receipt_page(full())).elements}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "input", "base", "video", "audio"}
    assert not re.search(r"url\(|@import|@font-face|</", STYLE)


@pytest.mark.parametrize("receipt", [full(), bare("running"), bare("failed")])
def test_headings_and_names_are_in_order(receipt: Receipt) -> None:
    page = Page(receipt_page(receipt))
    levels = [int(one.name[1]) for one in page.elements if re.fullmatch("h[1-6]", one.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    wanted = [one.attributes.get("href") for one in page.all("a")]
    assert {name.removeprefix("#") for name in wanted if name} <= set(ids)
    assert [len(page.all(name)) for name in ("header", "nav", "main")] == [1, 1, 1]
    assert all(one.attributes.get("aria-label") or one.attributes.get("aria-hidden") for one in page.all("svg"))


def test_every_label_is_there_and_used() -> None:
    """In three languages, each with the same gaps to fill."""
    source = "".join(path.read_text(encoding="utf-8") for path in Path(labels.__file__).parent.glob("*.py"))
    called = set(re.findall(r'words\(\s*"(\w+)"', source)) | set(re.findall(r"words\('(\w+)'\)", source))
    assert called <= set(labels.LABELS)
    kinds = set(re.findall(r"""named\(["'](\w+)["']""", source))
    assert {key.partition(".")[0] for key in labels.LABELS if "." in key} == kinds
    for texts in labels.LABELS.values():
        assert all(texts)
        assert len({tuple(sorted(re.findall(r"{\w+}", text))) for text in texts}) == 1


def test_every_step_of_a_run_has_a_name_for_people() -> None:
    assert {f"step.{node.__name__}" for node in NODES} <= set(labels.LABELS)


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lower, higher = sorted((luminance(one), luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_every_text_stands_out_from_what_is_behind_it(theme: int) -> None:
    """WCAG AA asks for 4.5."""
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
