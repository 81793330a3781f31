"""Builds files in the container of Office before 2007: workbooks (.xls) and Outlook messages (.msg)."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping

SECTOR, MIN_STREAM = 512, 4_096
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
STORAGE, STREAM, ROOT = 1, 2, 5


def ole(streams: Mapping[str, bytes]) -> bytes:
    """Streams by path; a path has at most one folder. Short streams are filled with zero bytes, so that they need no
    mini stream. Entries of a folder form a list: readers accept a tree of any shape."""
    folders = sorted({path.split("/")[0] for path in streams if "/" in path})
    names = ["Root Entry", *folders, *streams]
    chains: list[int] = []
    body, starts = b"", dict[str, tuple[int, int]]()
    for path, content in streams.items():
        padded = content.ljust(MIN_STREAM, b"\0")
        count = -(-len(padded) // SECTOR)
        first = len(chains)
        starts[path] = (first, len(padded))
        chains += [*range(first + 1, first + count), END]
        body += padded.ljust(count * SECTOR, b"\0")
    siblings = {0: [names.index(name) for name in names[1:] if "/" not in name]}
    for folder in folders:
        siblings[names.index(folder)] = [names.index(path) for path in streams if path.startswith(f"{folder}/")]
    following = {a: b for group in siblings.values() for a, b in itertools.pairwise(group)}
    directory = b"".join(
        _entry(
            name.rpartition("/")[2],
            ROOT if number == 0 else STORAGE if name in folders else STREAM,
            following.get(number, FREE),
            siblings.get(number, [FREE])[0] if siblings.get(number) else FREE,
            *starts.get(name, (END if number == 0 else 0, 0)),
        )
        for number, name in enumerate(names)
    )
    directory += b"\0" * (-len(directory) % SECTOR)
    directory_start, count = len(chains), len(directory) // SECTOR
    chains += [*range(directory_start + 1, directory_start + count), END]
    fat_sectors = 1
    while (len(chains) + fat_sectors) * 4 > fat_sectors * SECTOR:
        fat_sectors += 1
    fat_start = len(chains)
    chains += [FAT] * fat_sectors
    table = struct.pack(f"<{len(chains)}I", *chains).ljust(fat_sectors * SECTOR, b"\xff")
    difat = [*range(fat_start, fat_start + fat_sectors)]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16 + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += b"\0" * 6 + struct.pack("<IIIIIIIII", 0, fat_sectors, directory_start, 0, MIN_STREAM, END, 0, END, 0)
    header += struct.pack("<109I", *difat, *[FREE] * (109 - len(difat)))
    return header + body + directory + table


def _entry(name: str, kind: int, following: int, child: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le") + b"\0\0"
    links = struct.pack("<HBBIII", len(encoded), kind, 1, FREE, following, child)
    return encoded.ljust(64, b"\0") + links + b"\0" * 36 + struct.pack("<III", start, size, 0)


def xls(sheet: str, rows: list[list[str | float]]) -> bytes:
    def record(number: int, content: bytes = b"") -> bytes:
        return struct.pack("<HH", number, len(content)) + content

    def cell(row: int, column: int, value: str | float) -> bytes:
        place = struct.pack("<HHH", row, column, 0)
        if isinstance(value, str):
            return record(0x204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
        return record(0x203, place + struct.pack("<d", value))

    start = record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    name = struct.pack("<BB", len(sheet), 1) + sheet.encode("utf-16-le")
    offset = len(start) + 4 + 6 + len(name) + 4
    book = start + record(0x85, struct.pack("<IBB", offset, 0, 0) + name) + record(0x0A)
    cells = b"".join(cell(at, column, value) for at, row in enumerate(rows) for column, value in enumerate(row))
    return ole(
        {"Workbook": book + record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0)) + cells + record(0x0A)}
    )


def msg(subject: str, body: str, attachments: Mapping[str, bytes] | None = None) -> bytes:
    """Sent on 2026-03-01 at 09:30 UTC."""
    sent = (13_416_831_000) * 10_000_000  # seconds since 1601
    table = b"\0" * 32 + struct.pack("<HHIQ", 0x40, 0x39, 0, sent)
    streams: dict[str, str | bytes] = {
        "__properties_version1.0": table,
        "__substg1.0_0037001F": subject,
        "__substg1.0_1000001F": body,
    }
    streams |= {"__substg1.0_0C1A001F": "Aiko", "__substg1.0_0C1F001F": "aiko@example.org"}
    for number, (name, content) in enumerate((attachments or {}).items()):
        folder = f"__attach_version1.0_#{number:08X}"
        streams |= {f"{folder}/__substg1.0_3707001F": name, f"{folder}/__substg1.0_37010102": content}
    return ole({path: part if isinstance(part, bytes) else part.encode("utf-16-le") for path, part in streams.items()})
