"""What somebody typed in a chat at a terminal, which lies in a file beside the ledger: where, and how questions go from
it. Each entry is lines that begin with "+", after a line that says when. Knows nothing about terminals.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from veracity.errors import LedgerError, reason_of

FILE = "chat_history"
_ENTRY = re.compile(rb"(?:^(?!\+).*\n)*(?:^\+.*\n?)+", re.M)


def forget(folder: Path, texts: Iterable[str]) -> None:
    """Remove these from the history, and with them every other form in which they were typed."""
    path, unwanted = folder / FILE, {text.strip() for text in texts}
    try:
        entries = _ENTRY.findall(path.read_bytes())
        kept = [entry for entry in entries if _text(entry).strip() not in unwanted]
        if len(kept) < len(entries):
            _replace(path, b"".join(kept))
    except FileNotFoundError:
        return
    except OSError as problem:
        raise LedgerError(
            f'What was typed in the conversation may still be in "{path}" ({reason_of(problem)}): remove it.'
        ) from None


def _text(entry: bytes) -> str:
    lines = entry.decode("utf-8", "replace").split("\n")
    return "\n".join(line[1:] for line in lines if line.startswith("+"))


def _replace(path: Path, content: bytes) -> None:
    """Only its owner may read it."""
    rest = path.with_suffix(".new")
    rest.unlink(missing_ok=True)
    with os.fdopen(os.open(rest, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    rest.replace(path)
