"""What the database complains about, as one sentence of ours. Knows nothing about what was asked of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from veracity.errors import KnowledgeError

LONGEST = 200
# What follows is for who writes the database: its source files, and words around the reason.
_NOISE = re.compile(r",? ?/\S+\.rs:\d+(:\d+)?.*|\blance error: |\bLanceError\(\w+\): |\bExternal error: ", re.S)
_REMEDIES = [
    (re.compile(r"no space left|storage ?full|disk quota|os error (28|122)\b", re.I), "make room on the disk."),
    (
        re.compile(r"permission denied|read-only file|os error (13|30)\b", re.I),
        "make it readable and writable.",
    ),
    (re.compile(r"too many open files|os error 24\b", re.I), "allow more open files (ulimit -n)."),
]
OTHERWISE = "if it stays so, bring the folder back from a backup, or remove it and ingest again."


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, OSError, ValueError, pa.ArrowException) as problem:
        raise KnowledgeError(_sentence(folder, problem)) from problem
    except BaseException as problem:
        if type(problem).__name__ == "PanicException":  # of the database; it is no Exception
            raise KnowledgeError(_sentence(folder, problem)) from None
        raise


def _sentence(folder: Path, problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    reason = _NOISE.sub("", text)[:LONGEST].strip(" ,.:") or type(problem).__name__
    remedy = next((told for sign, told in _REMEDIES if sign.search(text)), OTHERWISE)
    return f'The documents in "{folder}" cannot be used ({reason}): {remedy}'
