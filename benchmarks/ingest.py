"""Ingestion speed without embedding, and the time of a second run over unchanged files.

    python benchmarks/ingest.py [--files 3000]

The files are copies of the bundled handbook, each with different numbers in it. The embedder is `none`. "cores" is the
CPU time of all processes divided by the elapsed time.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from importlib.resources import files
from pathlib import Path

from veracity.engine import Veracity
from veracity.models import IngestReport


def write_files(folder: Path, count: int) -> None:
    shipped = Path(str(files("veracity") / "handbook"))
    sources = [path for path in sorted(shipped.rglob("*")) if path.suffix in (".md", ".txt")]
    texts = [(path, path.read_text(encoding="utf-8")) for path in sources]
    for number in range(count):
        path, text = texts[number % len(texts)]
        content = "\n\n".join(f"{text}\n\nRevision {number}.{part}." for part in range(3))
        place = folder / f"{number % 50:02}" / f"{number}{path.suffix}"
        place.parent.mkdir(exist_ok=True)
        place.write_text(content, encoding="utf-8")


def timed(engine: Veracity, folder: Path) -> tuple[IngestReport, float, float]:
    """The report, seconds, and cores in use."""
    started, used = time.perf_counter(), sum(os.times()[:4])
    report = engine.ingest(folder)
    engine.close()  # CPU time of worker processes is counted when they have ended
    seconds = time.perf_counter() - started
    return report, seconds, (sum(os.times()[:4]) - used) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=3000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, workspace = Path(scratch) / "files", Path(scratch) / "workspace"
        folder.mkdir()
        workspace.mkdir()
        (workspace / "veracity.toml").write_text('[models]\nembedder = "none"\n')
        write_files(folder, arguments.files)
        time.sleep(3)  # files younger than two seconds are read again by the next run
        first, seconds, cores = timed(Veracity(workspace), folder)
        second, again, _ = timed(Veracity(workspace), folder)
    print(f"{len(first.outcomes):,} files, {first.passages:,} passages: {seconds:.1f} s")
    print(f"passages a second       {first.passages / seconds:8,.0f}")
    print(f"cores in use            {cores:8.2f} of {os.cpu_count()}")
    print(f"second run, unchanged   {again:8.2f} s for {second.count('unchanged'):,} files")
    print(f"first against second    {seconds / again:8.0f} times")


if __name__ == "__main__":
    main()
