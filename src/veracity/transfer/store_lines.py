"""Writes `[store]` into a veracity.toml and leaves everything else in it as it is."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

from veracity.settings.store import StoreSettings

_HEADER = re.compile(r"^[ \t]*\[[ \t]*store[ \t]*\][ \t]*(?:#.*)?$")
_ANY_HEADER = re.compile(r"^[ \t]*\[")
_KEY = re.compile(r"^[ \t]*([A-Za-z0-9_]+)[ \t]*=")


def format_store(store: StoreSettings) -> str:
    """The section, or nothing if everything is in the workspace."""
    lines = [f"{key} = {_quote(value)}" for key, value in store.model_dump().items() if value]
    return "\n".join(["[store]", *lines]) if lines else ""


def write_store(path: Path, store: StoreSettings) -> bool:
    """Change the file. Returns False, and changes nothing, if the result would mean anything else than that."""
    before = path.read_text(encoding="utf-8-sig") if path.exists() else ""
    values = {key: value for key, value in store.model_dump().items() if value}
    after = _edit(before, values)
    try:
        expected = {name: section for name, section in tomllib.loads(before).items() if name != "store"}
        changed = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return False
    if changed.pop("store", {}) != values or changed != expected:
        return False
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(after, encoding="utf-8")
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        return False
    return True


def _edit(text: str, values: Mapping[str, str]) -> str:
    """Replaces the lines of the keys, removes those of the others, and adds what is missing below the header."""
    missing, is_inside, header = dict(values), False, -1
    kept: list[str] = []
    for line in text.splitlines():
        if _ANY_HEADER.match(line):
            is_inside = bool(_HEADER.match(line))
            header = len(kept) if is_inside else header
        elif is_inside and (found := _KEY.match(line)):
            if (key := found[1]) in missing:
                kept.append(f"{key} = {_quote(missing.pop(key))}")
            continue
        kept.append(line)
    added = [f"{key} = {_quote(value)}" for key, value in missing.items()]
    if header < 0 and added:
        kept += ["", "[store]", *added] if kept else ["[store]", *added]
    else:
        kept[header + 1 : header + 1] = added
    return "\n".join(kept) + "\n"


def _quote(value: str) -> str:
    return json.dumps(value)
