"""A kill at any moment loses nothing that was told, and leaves nothing half-visible.

VERACITY_KILLS=50 pytest tests/knowledge/test_kills.py kills more often than every day.
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
from tests.knowledge.material import found, quiet, require_whole
from veracity.errors import OutdatedIndexError
from veracity.knowledge.library import Library
from veracity.knowledge.store import Store

KILLS = int(os.environ.get("VERACITY_KILLS", "6"))
# What takes long to import and starts no threads.
PRELOADED = ["lance_namespace", "numpy", "pyarrow", "pydantic", "pytest", "veracity.embedding", "veracity.language"]
PATIENCE = 60.0
# The last word of who was killed, and what it was doing.
MOMENTS = {
    "started": "before the first document",
    "told": "while ingesting",
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
    what: Callable[..., None],
    arguments: tuple[object, ...],
    log: Path,
    rest: float,
    after: str = "",
) -> list[str]:
    """The lines that were written until then. `rest` is the time to the kill from the first, or from `after`."""
    log.unlink(missing_ok=True)
    process = context.Process(target=what, args=arguments, daemon=True)
    process.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not (log.exists() and after in log.read_text(encoding="utf-8")) and time.monotonic() < deadline:
            assert process.is_alive()
            time.sleep(0.005)
        time.sleep(rest)
        assert process.is_alive()
    finally:
        process.kill()
        process.join(PATIENCE)
    return log.read_text(encoding="utf-8").splitlines()


def fresh_store(knowledge: Path) -> Store:
    library: Library = killed.make_library(knowledge)
    library.close()
    return library.store


class Truth:
    """Which generation of each file has to be found, and which others may be."""

    def __init__(self) -> None:
        self.told: dict[str, int] = {}
        self.written: dict[str, list[int]] = defaultdict(lambda: [0])
        self.moments: Counter[str] = Counter()

    def read(self, lines: list[str]) -> None:
        self.moments[MOMENTS[lines[-1].split()[0]]] += 1
        for line in lines:
            match line.split():
                case ["wrote", name, generation]:
                    self.written[name].append(int(generation))
                case ["told", name, _]:
                    self.told[name] = self.written[name][-1]

    def forget_unwritten(self, last: str, files: Path) -> None:
        """The line comes before the file: a kill between the two leaves a file that was never written."""
        match last.split():
            case ["wrote", name, generation]:
                content = killed.content(int(name[:3]), int(generation))
                if (files / name).read_text(encoding="utf-8") != content:
                    self.written[name].remove(int(generation))

    def check(self, store: Store) -> int:
        """How many documents were told of and looked for. Each holds what was told or what was written later."""
        require_whole(store)
        known = {Path(row["location"]).name: row for row in store.bodies()}
        wanted = {}
        for name, generation in self.told.items():
            number, after = int(name[:3]), self.written[name][self.written[name].index(generation) :]
            there = [one for one in after if known[name]["text"] == killed.content(number, one).strip()]
            assert len(there) == 1, (name, generation)
            wanted[killed.token(number, there[0])] = known[name]["document_id"]
        for some in _sliced(list(wanted), 50):
            hits = store.by_words(some, 10_000)
            assert {hit.passage.document_id for hit in hits} == {wanted[word] for word in some}
        return len(wanted)


def _sliced(words: list[str], length: int) -> list[list[str]]:
    return [words[start : start + length] for start in range(0, len(words), length)]


def test_ingesting_survives_kills(processes: ForkServerContext, tmp_path: Path) -> None:
    knowledge, files, log = tmp_path / "knowledge", tmp_path / "files", tmp_path / "log"
    files.mkdir()
    killed.write_files(files, list(range(killed.COUNT)), 0)
    chance, truth, checked = random.Random(7), Truth(), 0
    for kill in range(KILLS):
        generation = max((numbers[-1] for numbers in truth.written.values()), default=0)
        rest, after = (chance.uniform(0.05, 0.6), "") if kill < KILLS // 2 else (chance.uniform(0.0, 1.7), "told")
        arguments = (knowledge, files, log, generation)
        lines = kill_at_random(processes, killed.ingest_for_ever, arguments, log, rest, after)
        truth.read(lines)
        truth.forget_unwritten(lines[-1], files)
        checked += truth.check(fresh_store(knowledge))
    print(f"\n{KILLS} kills {dict(truth.moments)}: {checked} documents that were told of checked, 0 anomalies")
    assert checked
    library: Library = killed.make_library(knowledge)
    report = library.ingest([files], True, quiet)
    library.close()
    assert len(report.outcomes) == len(library.store.documents()) == killed.COUNT
    assert not report.count("failed") + report.count("skipped") + report.count("removed")
    truth.read([f"told {Path(outcome.name).name} {outcome.status}" for outcome in report.outcomes])
    truth.check(library.store)


def test_reindexing_survives_kills(processes: ForkServerContext, tmp_path: Path) -> None:
    """Either all is as before or all is new; and with the settings it was made with it can be used."""
    knowledge, files, log = tmp_path / "knowledge", tmp_path / "files", tmp_path / "log"
    files.mkdir()
    killed.write_files(files, list(range(40)), 0)
    library: Library = killed.make_library(knowledge)
    library.ingest([files], False, quiet)
    library.close()
    chance = random.Random(3)
    for _ in range(max(2, KILLS // 4)):
        kill_at_random(processes, killed.reindex_for_ever, (knowledge, log), log, chance.uniform(0.2, 1.5))
        stores = {name: killed.make_library(knowledge, name).store for name in ("hashed", "other")}
        usable = [store for store in stores.values() if _is_usable(store)]
        assert len(usable) == 1
        require_whole(usable[0])
        assert len(usable[0].documents()) == 40
        assert all(found(usable[0], killed.token(number, 0)) for number in range(40))


def _is_usable(store: Store) -> bool:
    try:
        store.require_same_recipe()
    except OutdatedIndexError:
        return False
    return True
