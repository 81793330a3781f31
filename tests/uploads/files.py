"""Uploads files and lists what the upload folder holds."""

import io
from pathlib import Path
from typing import Any, BinaryIO

from veracity.engine import Veracity
from veracity.models import Outcome

BINARY = bytes(range(256)) * 20


def upload(engine: Veracity, name: str, content: str | bytes) -> Outcome:
    data = content.encode() if isinstance(content, str) else content
    [outcome] = engine.upload(name, io.BytesIO(data)).outcomes
    return outcome


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def set_aside(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".aside/*") if path.name != "lock"]


def full_disk(**_: Any) -> BinaryIO:
    """A temporary file on a device that is always full: the system refuses what is written, and again on closing."""
    return Path("/dev/full").open("w+b")
