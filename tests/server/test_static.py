"""The files of the page as they are shipped: the same words in every language, libraries that are what they are said to
be, and nothing that is fetched from elsewhere or goes around the Content-Security-Policy."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest

from veracity.graph.build import build_graph
from veracity.models.answer import AnswerStatus
from veracity.server.static_files import STATIC

LANGUAGES = ("en", "zh", "ja")
VENDOR = STATIC / "vendor"
OURS = sorted(path for path in STATIC.rglob("*.js") if VENDOR not in path.parents or path.parent == VENDOR)
STYLES = sorted(STATIC.rglob("*.css"))
WORDS = sorted((STATIC / "strings").glob("*.js"))
STRING = r'"(?:[^"\\]|\\.)*"'
ENTRY = re.compile(rf"^\s*({STRING}):\s*({STRING}),?$", re.MULTILINE)
GOES_AROUND = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "srcdoc",
    "createContextualFragment",
)
ADDRESS = re.compile(r"""["'(`]\s*(?:https?:)?//[a-z0-9]""", re.IGNORECASE)
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""")


def named(path: Path) -> str:
    return path.relative_to(STATIC).as_posix()


def words(path: Path) -> dict[str, dict[str, str]]:
    """The strings of a view by language. A strings file is plain data: one entry on each line."""
    parts = re.split(r"^(?:  |const )(en|zh|ja)(?::| =) \{", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for language, body in zip(parts[1::2], parts[2::2], strict=True):
        entries = [(json.loads(key), json.loads(text)) for key, text in ENTRY.findall(body)]
        assert len(entries) == len(dict(entries)), f"{named(path)} says something twice in {language}"
        found[language] = dict(entries)
    return found


@pytest.mark.parametrize("path", WORDS, ids=named)
def test_a_view_says_the_same_in_every_language(path: Path) -> None:
    said = words(path)
    assert set(said) == set(LANGUAGES)
    assert said["en"], "there is nothing"
    for language in ("zh", "ja"):
        assert said[language].keys() == said["en"].keys()
    for key, english in said["en"].items():
        assert key.startswith(f"{path.stem}."), "keys are prefixed by their view"
        assert all(said[language][key].strip() for language in LANGUAGES), key
        for language in ("zh", "ja"):
            assert _gaps(said[language][key]) <= _gaps(english), f"{key} fills in what is not given in {language}"


def _gaps(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize("path", WORDS, ids=named)
def test_every_line_of_a_strings_file_is_read_by_this_test(path: Path) -> None:
    keys = re.findall(r'^\s*"[a-z]+\.', path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sum(map(len, words(path).values())) == len(keys)


def test_what_the_page_says_is_there_to_be_said() -> None:
    known = {key for path in WORDS for key in words(path)["en"]}
    for path in OURS:
        for key in re.findall(r'\bt\("([\w.-]+)"', path.read_text(encoding="utf-8")):
            assert key in known, f"{named(path)} says {key}"


def test_the_steps_and_outcomes_of_a_run_have_words() -> None:
    """Those are put together out of names that the engine gives."""
    said = words(STATIC / "strings" / "ask.js")["en"]
    nodes = {name for name in build_graph().get_graph().nodes if not name.startswith("__")}
    assert {f"ask.step.{name}" for name in nodes} <= said.keys()
    assert {f"ask.spoken.{status}" for status in get_args(AnswerStatus)} <= said.keys()


def test_vendored_files_are_what_their_list_says() -> None:
    lines = (VENDOR / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ", 1) for line in lines if not line.startswith("#"))}
    there = {path.relative_to(VENDOR).as_posix() for path in VENDOR.rglob("*") if path.is_file()}
    assert there == {*listed, "SHA256SUMS", "preact.js"}
    for name, digest in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
    for package in {name.split("/")[0] for name in listed}:
        assert f"{package}/LICENSE" in listed


@pytest.mark.parametrize("path", sorted(STATIC.rglob("*.js")), ids=named)
def test_imports_are_files_that_are_there(path: Path) -> None:
    for name in IMPORT.findall(path.read_text(encoding="utf-8")):
        assert name.startswith("."), f"{name} needs an import map, which the policy forbids"
        assert (path.parent / name).is_file(), name


@pytest.mark.parametrize("path", [*OURS, *STYLES, STATIC / "index.html"], ids=named)
def test_nothing_comes_from_elsewhere_or_goes_around_the_policy(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not ADDRESS.search(text)
    assert not re.search(r"url\(|@import", text) or path.suffix != ".css"
    for way in (*GOES_AROUND, "dangerously"):
        assert way not in text


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_document_holds_no_inline_script_or_style_and_names_files_that_are_there() -> None:
    tags = Tags()
    tags.feed((STATIC / "index.html").read_text(encoding="utf-8"))
    for tag, attributes in tags.found:
        assert tag != "style"
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        if tag == "script":
            assert attributes["src"]
        for name in {attributes.get("src"), attributes.get("href")} - {None}:
            assert (STATIC.parent / str(name)).is_file()


def test_views_use_only_custom_properties_that_are_defined() -> None:
    defined = {name for path in STYLES for name in re.findall(r"^\s*(--[\w-]+):", path.read_text(), re.MULTILINE)}
    for path in STYLES:
        for name in re.findall(r"var\((--[\w-]+)", path.read_text()):
            assert name in defined, f"{named(path)} uses {name}"


def test_text_is_readable_in_both_themes() -> None:
    """WCAG AA: 4.5 for text, 3 for the edges of controls."""
    look = (STATIC / "base.css").read_text()
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", look)
    for theme in (1, 2):
        colour = {row[0]: row[theme] for row in found}
        grounds = ("bg", "surface", "raised", "sunken")
        pairs = [(ink, ground) for ink in ("text", "muted") for ground in (*grounds, "hover")]
        pairs += [(ink, ground) for ink in ("accent", "good", "warn", "bad") for ground in (*grounds, f"{ink}-soft")]
        pairs += [("text", "mark"), ("accent-text", "accent")]
        pairs += [("text", f"{tone}-soft") for tone in ("accent", "good", "warn", "bad")]
        for ink, ground in pairs:
            assert _contrast(colour[ink], colour[ground]) >= 4.5, f"{ink} on {ground}, theme {theme}"
        for ground in ("bg", "surface"):
            assert _contrast(colour["edge"], colour[ground]) >= 3, f"edge on {ground}, theme {theme}"


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
