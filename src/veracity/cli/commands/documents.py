"""`veracity documents` and `veracity forget`."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.cli.commands.ingest import chosen, counted, shown_path
from veracity.cli.ui.console import console, ending, is_narrow, plain, table
from veracity.engine import Veracity
from veracity.printable import visible


def run(workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        known = engine.documents()
    if as_json:
        print(json.dumps([document.model_dump(mode="json") for document in known], ensure_ascii=False, indent=2))
        return
    more = () if is_narrow() else ("Format", "Language")
    columns = ("Id", "Title", "From", *more, "Passages")
    rows = table(*columns, right=("Passages",), whole=("Id", "From", *more, "Passages"))
    for document in known:
        told = (document.format, document.language) if more else ()
        place = ending(visible(shown_path(document.location)), console.width // 4)
        rows.add_row(*map(plain, (document.id, document.title, place, *told)), f"{document.passages:,}")
    console.print(rows)
    passages = sum(document.passages for document in known)
    console.print(plain(f"\n{counted(len(known), 'document')}, {counted(passages, 'passage')}"))


def forget(name: str, workspace: Path | None) -> None:
    with Veracity(chosen(workspace)) as engine:
        for document in engine.forget(name):
            console.print(plain(f"forgot {document.location or document.id}"), soft_wrap=True)
