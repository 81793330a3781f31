"""The page's files as shipped: complete translations, vendored libraries as listed, and nothing that loads from
elsewhere or bypasses the Content-Security-Policy."""

from __future__ import annotations

import hashlib
import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest

from veracity.graph.build import build_graph
from veracity.models.answer import AnswerStatus
from veracity.server.static_files import STATIC
from veracity.settings.sections import SECTIONS

LANGUAGES = ("en", "zh", "ja")
VENDOR = STATIC / "vendor"
MODULES = sorted(path for path in STATIC.rglob("*.js") if VENDOR not in path.parents)
STYLES = sorted(STATIC.rglob("*.css"))
GENERATOR = Path(__file__).parents[3] / "scripts" / "generate_api_types.py"
UNSAFE = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "srcdoc",
    "createContextualFragment",
    "dangerously",
)
ADDRESS = re.compile(r"""["'(`]\s*(?:https?:)?//[a-z0-9]""", re.IGNORECASE)
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""")
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def relative(path: Path) -> str:
    return path.relative_to(STATIC).as_posix()


def load_strings(language: str) -> dict[str, str]:
    pairs = json.loads((STATIC / "locales" / f"{language}.json").read_text(encoding="utf-8"), object_pairs_hook=list)
    assert len(pairs) == len(dict(pairs)), f"a key occurs twice in {language}.json"
    return dict(pairs)


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_translations_have_the_keys_and_placeholders_of_english(language: str) -> None:
    english, translated = load_strings("en"), load_strings(language)
    assert list(translated) == list(english)
    for key, text in english.items():
        assert translated[key].strip(), key
        assert set(PLACEHOLDER.findall(translated[key])) <= set(PLACEHOLDER.findall(text)), key


def test_keys_are_prefixed_by_their_view() -> None:
    views = {"shell", "ask", "answer", "inbox", "conversations", "documents", "evaluator", "experiments", "admin"}
    assert {key.split(".")[0] for key in load_strings("en")} == views
    assert all((STATIC / view).is_dir() for view in views)


def test_every_key_the_page_uses_exists_and_every_key_is_used() -> None:
    keys = set(load_strings("en"))
    source = "".join(path.read_text(encoding="utf-8") for path in MODULES)
    assert set(re.findall(r'\bt\("([\w.-]+)"', source)) <= keys
    literals = set(re.findall(r'"([a-z]+\.[\w.-]+)"', source))
    prefixes = tuple(re.findall(r"[`\"]([a-z]+\.[\w.-]*)\$\{", source) + re.findall(r'nameOf\("([^"]+)"', source))
    plain = {key.removesuffix(".one") for key in keys}
    assert {key for key in plain if key not in literals and not key.startswith(prefixes)} == set()


def test_steps_and_statuses_have_strings() -> None:
    keys = load_strings("en").keys()
    nodes = {name for name in build_graph().get_graph().nodes if not name.startswith("__")}
    assert {f"ask.step.{name}" for name in nodes} <= keys
    assert {f"ask.spoken.{status}" for status in get_args(AnswerStatus)} <= keys


def test_settings_are_described_as_in_the_code() -> None:
    fields = {
        f"{name}.{key}": field for name, section in SECTIONS.items() for key, field in section.model_fields.items()
    }
    english, prefix = load_strings("en"), "admin.setting."
    shown = {key.removeprefix(prefix): text for key, text in english.items() if key.startswith(prefix)}
    assert shown == {name: (field.description or "").replace("`", "") for name, field in fields.items()}
    assert {f"admin.section.{name}" for name in SECTIONS} <= english.keys()
    assert {key for key in english if key.startswith("admin.none.")} <= {f"admin.none.{name}" for name in fields}


def test_api_types_are_up_to_date() -> None:
    generated = runpy.run_path(str(GENERATOR))["generate_types"]()
    written = (STATIC / "lib" / "api-types.d.ts").read_text(encoding="utf-8")
    assert written == generated, "run python scripts/generate_api_types.py"
    for name in ("Step", "Answer", "Approval", "Receipt", "RunEvent", "Evidence"):
        assert re.search(rf"^export (?:interface|type) {name}\b", written, re.MULTILINE)


def test_vendored_files_match_their_digests() -> None:
    lines = (VENDOR / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ", 1) for line in lines if not line.startswith("#"))}
    present = {path.relative_to(VENDOR).as_posix() for path in VENDOR.rglob("*") if path.is_file()}
    assert present == {*listed, "SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
    for package in {name.split("/")[0] for name in listed}:
        assert f"{package}/LICENSE" in listed


def test_types_are_checked_against_the_vendored_version_of_preact() -> None:
    package = json.loads((GENERATOR.parents[1] / "package.json").read_text())
    assert f"# preact {package['devDependencies']['preact']} " in (VENDOR / "SHA256SUMS").read_text()


@pytest.mark.parametrize("path", sorted(STATIC.rglob("*.js")), ids=relative)
def test_imports_are_relative_and_exist(path: Path) -> None:
    for name in IMPORT.findall(path.read_text(encoding="utf-8")):
        assert name.startswith("."), f"{name} needs an import map, which the policy forbids"
        assert (path.parent / name).is_file(), name


@pytest.mark.parametrize("path", [*MODULES, *STYLES, STATIC / "index.html"], ids=relative)
def test_files_load_nothing_from_elsewhere_and_obey_the_policy(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not ADDRESS.search(text)
    assert not re.search(r"url\(|@import", text) or path.suffix != ".css"
    for unsafe in UNSAFE:
        assert unsafe not in text


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_index_has_no_inline_script_or_style_and_names_existing_files() -> None:
    parser = Tags()
    parser.feed((STATIC / "index.html").read_text(encoding="utf-8"))
    for tag, attributes in parser.tags:
        assert tag != "style"
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        if tag == "script":
            assert attributes["src"]
        for name in {attributes.get("src"), attributes.get("href")} - {None}:
            assert (STATIC.parent / str(name)).is_file()


def test_style_sheets_use_defined_custom_properties() -> None:
    defined = {name for path in STYLES for name in re.findall(r"^\s*(--[\w-]+):", path.read_text(), re.MULTILINE)}
    for path in STYLES:
        for name in re.findall(r"var\((--[\w-]+)", path.read_text()):
            assert name in defined, f"{relative(path)} uses {name}"


def test_colours_have_enough_contrast_in_both_themes() -> None:
    """WCAG AA: 4.5 for text, 3 for the edges of controls."""
    look = (STATIC / "lib" / "base.css").read_text()
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
