"""`veracity documents` and `veracity forget`."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.cli.console import console, plain, table
from veracity.cli.ingesting import chosen, counted, shown_path
from veracity.engine import Veracity


def run(workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        known = engine.documents()
    if as_json:
        print(json.dumps([document.model_dump(mode="json") for document in known], ensure_ascii=False, indent=2))
        return
    rows = table("Id", "Title", "From", "Format", "Language", "Passages", right=("Passages",), whole=("Id", "From"))
    for document in known:
        cells = (document.id, document.title, shown_path(document.location), document.format, document.language)
        rows.add_row(*map(plain, cells), f"{document.passages:,}")
    console.print(rows)
    passages = sum(document.passages for document in known)
    console.print(plain(f"\n{counted(len(known), 'document')}, {counted(passages, 'passage')}"))


def forget(name: str, workspace: Path | None) -> None:
    with Veracity(chosen(workspace)) as engine:
        for document in engine.forget(name):
            console.print(plain(f"forgot {document.location or document.id}"), soft_wrap=True)
