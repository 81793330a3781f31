"""A kill at any moment loses no reported document and leaves no partial one.

VERACITY_KILLS=50 pytest tests/knowledge/test_kills.py kills more often.
"""

import multiprocessing
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from tests.knowledge import killed
from tests.knowledge.material import assert_consistent, no_progress, search
from veracity.errors import OutdatedIndexError
from veracity.knowledge.library import Library
from veracity.knowledge.store import Store

KILLS = int(os.environ.get("VERACITY_KILLS", "4"))
# Slow to import, and start no threads.
PRELOADED = ["lance_namespace", "numpy", "pyarrow", "pydantic", "pytest", "veracity.embedding", "veracity.language"]
WAIT_SECONDS = 60.0
# The last word in the log, and what the process was doing when it was killed.
MOMENTS = {
    "started": "before the first document",
    "reported": "while ingesting",
    "reindexing": "while reindexing",
    "changing": "between two ingestions",
    "wrote": "between two ingestions",
}


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def kill_at_random(
    context: ForkServerContext,
    target: Callable[..., None],
    arguments: tuple[object, ...],
    log: Path,
    delay: float,
    after: str = "",
) -> list[str]:
    """Kill the process `delay` seconds after its first log line, or after the line `after`. Returns the log lines."""
    log.unlink(missing_ok=True)
    process = context.Process(target=target, args=arguments, daemon=True)
    process.start()
    try:
        deadline = time.monotonic() + WAIT_SECONDS
        while not (log.exists() and after in log.read_text(encoding="utf-8")) and time.monotonic() < deadline:
            assert process.is_alive()
            time.sleep(0.005)
        time.sleep(delay)
        assert process.is_alive()
    finally:
        process.kill()
        process.join(WAIT_SECONDS)
    return log.read_text(encoding="utf-8").splitlines()


def fresh_store(knowledge: Path) -> Store:
    library: Library = killed.make_library(knowledge)
    library.close()
    return library.store


class Expected:
    """Which generation of each file must be stored, and which later ones may be."""

    def __init__(self) -> None:
        self.reported: dict[str, int] = {}
        self.written: dict[str, list[int]] = defaultdict(lambda: [0])
        self.moments: Counter[str] = Counter()

    def read(self, lines: list[str]) -> None:
        self.moments[MOMENTS[lines[-1].split()[0]]] += 1
        for line in lines:
            match line.split():
                case ["wrote", name, generation]:
                    self.written[name].append(int(generation))
                case ["reported", name, _]:
                    self.reported[name] = self.written[name][-1]

    def forget_unwritten(self, last: str, files: Path) -> None:
        """A kill between the log line and the file leaves a file that was never written."""
        match last.split():
            case ["wrote", name, generation]:
                content = killed.content(int(name[:3]), int(generation))
                if (files / name).read_text(encoding="utf-8") != content:
                    self.written[name].remove(int(generation))

    def check(self, store: Store) -> int:
        """Each reported document holds the reported text or a later one. Returns how many were checked."""
        assert_consistent(store)
        known = {Path(row["location"]).name: row for row in store.document_rows()}
        wanted = {}
        for name, generation in self.reported.items():
            number, after = int(name[:3]), self.written[name][self.written[name].index(generation) :]
            matching = [later for later in after if known[name]["text"] == killed.content(number, later).strip()]
            assert len(matching) == 1, (name, generation)
            wanted[killed.token(number, matching[0])] = known[name]["document_id"]
        for some in _slices(list(wanted), 50):
            hits = store.by_words(some, 10_000)
            assert {hit.passage.document_id for hit in hits} == {wanted[word] for word in some}
        return len(wanted)


def _slices(words: list[str], length: int) -> list[list[str]]:
    return [words[start : start + length] for start in range(0, len(words), length)]


def test_ingesting_survives_kills(processes: ForkServerContext, tmp_path: Path) -> None:
    knowledge, files, log = tmp_path / "knowledge", tmp_path / "files", tmp_path / "log"
    files.mkdir()
    killed.write_files(files, list(range(killed.COUNT)), 0)
    generator, expected, checked = random.Random(7), Expected(), 0
    for kill in range(KILLS):
        generation = max((numbers[-1] for numbers in expected.written.values()), default=0)
        delay, after = (
            (generator.uniform(0.05, 0.6), "") if kill < KILLS // 2 else (generator.uniform(0.0, 1.7), "reported")
        )
        arguments = (knowledge, files, log, generation)
        lines = kill_at_random(processes, killed.ingest_for_ever, arguments, log, delay, after)
        expected.read(lines)
        expected.forget_unwritten(lines[-1], files)
        checked += expected.check(fresh_store(knowledge))
    print(f"\n{KILLS} kills {dict(expected.moments)}: {checked} reported documents checked, 0 anomalies")
    assert checked
    library: Library = killed.make_library(knowledge)
    report = library.ingest([files], True, no_progress)
    library.close()
    assert len(report.outcomes) == len(library.store.documents()) == killed.COUNT
    assert not report.count("failed") + report.count("skipped") + report.count("removed")
    expected.read([f"reported {Path(outcome.name).name} {outcome.status}" for outcome in report.outcomes])
    expected.check(library.store)


def test_reindexing_survives_kills(processes: ForkServerContext, tmp_path: Path) -> None:
    """The index is either the old or the new one, and usable with its own settings."""
    knowledge, files, log = tmp_path / "knowledge", tmp_path / "files", tmp_path / "log"
    files.mkdir()
    killed.write_files(files, list(range(40)), 0)
    library: Library = killed.make_library(knowledge)
    library.ingest([files], False, no_progress)
    library.close()
    generator = random.Random(3)
    for _ in range(max(2, KILLS // 4)):
        kill_at_random(processes, killed.reindex_for_ever, (knowledge, log), log, generator.uniform(0.2, 1.5))
        stores = {name: killed.make_library(knowledge, name).store for name in ("hashed", "other")}
        usable = [store for store in stores.values() if _is_usable(store)]
        assert len(usable) == 1
        assert_consistent(usable[0])
        assert len(usable[0].documents()) == 40
        assert all(search(usable[0], killed.token(number, 0)) for number in range(40))


def _is_usable(store: Store) -> bool:
    try:
        store.require_same_recipe()
    except OutdatedIndexError:
        return False
    return True
