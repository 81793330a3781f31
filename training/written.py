"""Questions that were written for this project, one by one, about windows.

    python -m training.written add DATA LINES    # adds lines WINDOW<TAB>UNITS<TAB>QUESTION to written.tsv.xz
    python -m training.written show DATA         # prints counts

`written.tsv.xz` names a window by a digest of its text, so that it survives another order of windows. UNITS are the
numbers of the units that answer, each on its own, or "-": a near miss, which the window seems to answer and does not.
`writing.md` says how the questions are written. `generated.tsv.xz` contains questions of the same form that
`training.teacher write` wrote, about a unit of the window or, with "-", meant as near misses. Nobody has checked them.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from training.corpus import STATEMENTS, Window, read_windows

FILE = Path(__file__).with_name("written.tsv.xz")
GENERATED = Path(__file__).with_name("generated.tsv.xz")
LINE = re.compile(r"([0-9a-f]{12}|\d+)\t(-|\d+(?:,\d+)*)\t(\S.{2,240})")


class Written(NamedTuple):
    window: int
    units: tuple[int, ...]  # none: a near miss
    text: str
    is_generated: bool = False


def digest(window: Window) -> str:
    text = "\n".join([window.head, *(unit.text for unit in window.units)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_written(windows: Sequence[Window], file: Path = FILE) -> list[Written]:
    """The questions about the given windows, in the order of the file."""
    numbers = {digest(window): number for number, window in enumerate(windows) if window.use != "excluded"}
    return list(_parse(_lines(file), numbers))


def read_all(windows: Sequence[Window]) -> list[Written]:
    """The written questions, then the generated ones, if there are any."""
    generated = read_written(windows, GENERATED) if GENERATED.exists() else []
    return [*read_written(windows), *(one._replace(is_generated=True) for one in generated)]


def _lines(file: Path) -> list[str]:
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        return lines.read().splitlines()


def _parse(lines: Iterable[str], numbers: dict[str, int]) -> Iterator[Written]:
    for line in lines:
        match = LINE.fullmatch(line)
        if match and match[1] in numbers:
            units = () if match[2] == "-" else tuple(map(int, match[2].split(",")))
            yield Written(numbers[match[1]], units, match[3])


def find_fault(line: str, windows: Sequence[Window]) -> str | None:
    """What is wrong with a new line, or None."""
    match = LINE.fullmatch(line)
    if not match:
        return "not WINDOW<TAB>UNITS<TAB>QUESTION"
    if not match[1].isdigit() or int(match[1]) >= len(windows):
        return f"no window {match[1]}"
    units = windows[int(match[1])].units
    numbers = [] if match[2] == "-" else list(map(int, match[2].split(",")))
    wrong = [number for number in numbers if number >= len(units) or units[number].kind not in STATEMENTS]
    return f"window {match[1]} has no statement {wrong[0]}" if wrong else None


def add(windows: Sequence[Window], lines: Iterable[str], file: Path = FILE) -> tuple[int, list[str]]:
    """Adds lines that are not there yet. Returns their number, and a sentence for each line that is wrong."""
    stored = _lines(file) if file.exists() else []
    known, faults, count = set(stored), [], 0
    for line in lines:
        fault = find_fault(line, windows)
        if fault:
            faults.append(f"{line[:80]!r}: {fault}.")
            continue
        window, units, text = line.split("\t")
        new = f"{digest(windows[int(window)])}\t{units}\t{' '.join(text.split())}"
        if new not in known:
            known.add(new)
            stored.append(new)
            count += 1
    content = "".join(f"{line}\n" for line in stored)
    file.write_bytes(lzma.compress(content.encode(), preset=9 | lzma.PRESET_EXTREME))
    return count, faults


def show(windows: Sequence[Window]) -> None:
    written = read_written(windows)
    print("questions", len(written), "of", len(_lines(FILE)), "about", len({one.window for one in written}), "windows")
    kinds = Counter((windows[one.window].language, "answer" if one.units else "near miss") for one in written)
    for (language, kind), count in sorted(kinds.items()):
        print(language, kind, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("add", "show"))
    parser.add_argument("data", type=Path, help="with windows.jsonl.xz")
    parser.add_argument("lines", type=Path, nargs="*", help="files with new questions")
    arguments = parser.parse_args()
    windows = read_windows(arguments.data)
    if arguments.command == "add":
        lines = [line for file in arguments.lines for line in file.read_text(encoding="utf-8").splitlines() if line]
        count, faults = add(windows, lines)
        print(*faults, sep="\n")
        print("added", count, "wrong", len(faults))
    show(windows)


if __name__ == "__main__":
    main()
