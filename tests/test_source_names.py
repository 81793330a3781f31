"""docs/source-names.md: every name of ours in its tables exists, and a name that is not offered has a reason."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from veracity.settings import KEYS

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| (?P<source>.+?) \| (?P<ours>.+?) \| (?P<notes>.*?) ?\|$", re.M)
NAME = re.compile(r"`([^`]+)`")
SETTING = re.compile(r"[a-z]+\.[a-z_]+")


def rows() -> list[tuple[str, str, str]]:
    page = (ROOT / "docs/source-names.md").read_text(encoding="utf-8")
    return [row for row in ROW.findall(page) if row[0] not in ("source", "---")]


def has_attribute(owner: Any, name: str) -> bool:
    """Also a field of a typed dictionary, dataclass or Pydantic model, which are not attributes of the class."""
    fields = (getattr(owner, kind, {}) for kind in ("__annotations__", "model_fields", "__dataclass_fields__"))
    return hasattr(owner, name) or any(name in known for known in fields)


def exists(path: str) -> bool:
    """Whether a dotted path names a module or something in it."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not has_attribute(found, name):
                return False
            found = getattr(found, name, None)
        return True
    return False


@pytest.mark.parametrize(("source", "ours", "notes"), rows())
def test_our_names_exist(source: str, ours: str, notes: str) -> None:
    if ours.startswith("not offered: "):
        return
    names = NAME.findall(ours)
    assert len(names) == 1, "one name of ours per row; others are notes"
    for name in [*names, *(note for note in NAME.findall(notes) if note.startswith("veracity."))]:
        section, _, key = name.partition(".")
        if name.startswith("veracity."):
            assert exists(name), name
        elif SETTING.fullmatch(name):
            assert key in KEYS[section], name
        else:
            assert (ROOT / name).is_file(), name


def test_every_source_document_has_a_table() -> None:
    page = (ROOT / "docs/source-names.md").read_text(encoding="utf-8")
    assert page.count("| source | here | notes |\n|---|---|---|\n") == page.count("\n## ") == 5
    assert len(rows()) > 100


@pytest.mark.parametrize(
    "path", ["veracity.nothing", "veracity.models.Review.nothing", "veracity.graph.state.RunState.x"]
)
def test_a_missing_name_is_found(path: str) -> None:
    assert not exists(path)
