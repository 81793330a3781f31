"""CPU time of commands and imports, each in a new process: `python -m benchmarks.startup [--before REVISION]`.

Prints the median of user and system time, which other programs on the machine hardly change. With `--before`, the same
commands also run with the source of that revision, in turn with the current one. The bar for `import veracity` and
`veracity --help` is three times `import typer, pydantic`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUESTION = "How many days of annual leave do I have?"


def commands(workspace: Path) -> dict[str, list[str]]:
    veracity = ["-m", "veracity"]
    return {
        "import typer, pydantic": ["-c", "import typer, pydantic"],
        "import veracity": ["-c", "import veracity"],
        "import every public name": ["-c", "from veracity import *"],
        "import lancedb": ["-c", "import lancedb"],
        "LanceDB as Veracity loads it": ["-c", "import veracity.knowledge.lance"],
        "import the server": ["-c", "import veracity.server.app"],
        "veracity --help": [*veracity, "--help"],
        "veracity search": [*veracity, "search", "annual leave", "--workspace", str(workspace)],
        "veracity ask": [*veracity, "ask", QUESTION, "--workspace", str(workspace)],
    }


def cpu_seconds(arguments: list[str], source: Path) -> float:
    """Of a process with this source and all processes it waited for."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each process would compile what it imports
    discard = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.executable, [sys.executable, *arguments], environment, file_actions=discard)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed.")
    return usage.ru_utime + usage.ru_stime


@contextmanager
def source_of(revision: str, folder: Path) -> Iterator[Path]:
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), revision], check=True)
    try:
        yield folder / "src"
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def measure(sources: dict[str, Path], workspace: Path, repeat: int) -> dict[str, dict[str, float]]:
    """The median seconds of each command by the name of the source. The first round, which compiles, does not count.

    Each source has a copy of the workspace: an older one cannot open what a newer one has asked."""
    copies = {source: shutil.copytree(workspace, workspace.with_name(f"of-{source}")) for source in sources}
    arguments = {source: commands(copy) for source, copy in copies.items()}
    medians: dict[str, dict[str, float]] = {}
    for name in commands(workspace):
        seconds: dict[str, list[float]] = {source: [] for source in sources}
        for _ in range(repeat + 1):
            for source, folder in sources.items():
                seconds[source].append(cpu_seconds(arguments[source][name], folder))
        medians[name] = {source: statistics.median(values[1:]) for source, values in seconds.items()}
    return medians


def print_table(medians: dict[str, dict[str, float]]) -> None:
    base = medians["import typer, pydantic"]["now"]
    has_before = "before" in medians["import typer, pydantic"]
    columns = ["command", *(["before"] if has_before else []), "now", "times `import typer, pydantic`"]
    columns += ["now / before"] if has_before else []
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, by_source in medians.items():
        cells = [f"{seconds:.2f} s" for seconds in by_source.values()] + [f"{by_source['now'] / base:.2f}"]
        cells += [f"{by_source['now'] / by_source['before']:.2f}"] if has_before else []
        print(f"| `{name}` | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--before", metavar="REVISION", help="a git revision to compare with")
    options = parser.parse_args()
    now = ROOT / "src"
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        cpu_seconds(["-m", "veracity", "init", str(workspace)], now)
        cpu_seconds(["-m", "veracity", "ingest", str(now / "veracity/handbook"), "--workspace", str(workspace)], now)
        if not options.before:
            print_table(measure({"now": now}, workspace, options.repeat))
            return
        with source_of(options.before, Path(folder) / "before") as before:
            print_table(measure({"before": before, "now": now}, workspace, options.repeat))


if __name__ == "__main__":
    main()
