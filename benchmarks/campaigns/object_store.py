"""Kills writers in the midst of their commits to an object store: no document may be lost, stored twice or incomplete.

    python -m benchmarks.campaigns.object_store [--kills 100] [--seed 1] [--no-lock] [--ignore-conditions]

Four processes write to one table on moto. In each round a proxy kills one of them at one of its requests: before the
request is carried out, after it, or long before it, so that it arrives when another writer already holds the lock. Then
the killed writer starts again. All writers add documents of their own, and all add the round's common document.

With `--no-lock` nothing but LanceDB's conditional puts keeps the writers apart, and they add their own documents only.
With `--ignore-conditions` the server ignores the condition: the store must be refused.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.campaigns.fork_server import Child, ForkServer
from benchmarks.campaigns.object_store_worker import make_library, text_of, write
from benchmarks.campaigns.s3_servers import (
    BUCKET,
    ENVIRONMENT,
    MOMENTS,
    NOT_INSTALLED,
    Moto,
    Proxy,
    Strike,
    is_moto_installed,
)
from veracity.errors import ConfigurationError
from veracity.knowledge.rows import DOCUMENT
from veracity.knowledge.store import Store
from veracity.models import Document

WRITERS = 4
DOCUMENTS = 2  # of its own that a writer adds in a round
# A writer sends about this many write requests in a round: more if it compacts the table.
USUAL_WRITES, MOST_WRITES = 10, 24
MODULES = ("benchmarks.campaigns.object_store_worker",)


@dataclass
class Result:
    kills: Counter[str] = field(default_factory=Counter)  # by moment
    targets: Counter[str] = field(default_factory=Counter)  # what the fatal request was about
    missed: int = 0  # the writer had finished before its request came
    reported: int = 0
    violations: list[str] = field(default_factory=list)


class Campaign:
    def __init__(self, server: ForkServer, endpoint: str, folder: Path, seed: int, *, use_lock: bool = True) -> None:
        self.url = f"s3://{BUCKET}/{uuid.uuid4().hex}"
        self.result = Result()
        self._server = server
        self._endpoint = endpoint
        self._folder = folder
        self._locks = folder / "locks" if use_lock else None
        self._random = random.Random(seed)
        self._wanted: dict[str, set[int]] = {}  # the documents that were reported, and who may have written them
        (folder / "locks").mkdir(exist_ok=True)

    def run(self, kills: int) -> Result:
        if self._locks is None:  # nothing would keep two writers from creating the indexes at once
            library = make_library(self.url, self._endpoint, None)
            library.add([Document(id="first", text=text_of("first", 0), markdown=True)], lambda outcome, to_come: None)
        with ExitStack() as stack:
            proxies = [stack.enter_context(Proxy(self._endpoint)) for _ in range(WRITERS)]
            number = 0
            while sum(self.result.kills.values()) < kills and not self.result.violations:
                self._round(number, proxies)
                number += 1
        return self.result

    def _round(self, number: int, proxies: list[Proxy]) -> None:
        victim = self._random.randrange(WRITERS)
        started = threading.Event()

        def kill() -> None:
            started.wait(60)
            children[victim].kill()

        last = self._random.choice((USUAL_WRITES, USUAL_WRITES, MOST_WRITES))
        strike = Strike(self._random.randint(1, last), self._random.choice(MOMENTS), kill)
        proxies[victim].arm(strike)
        children = [self._start(number, writer, proxies[writer]) for writer in range(WRITERS)]
        started.set()
        codes = [children[victim].wait()]
        proxies[victim].arm(None)
        timer = threading.Timer(self._random.uniform(0.0, 1.5), strike.release.set)
        timer.start()
        if codes == [-signal.SIGKILL]:
            self.result.kills[strike.moment] += 1
            self.result.targets[_kind(strike.struck)] += 1
            if self._locks is None:  # nothing would keep the next writer from adding what the late request adds
                timer.join()
                time.sleep(0.3)
            codes = [self._start(number, victim, proxies[victim]).wait()]
        else:
            self.result.missed += 1
        codes += [child.wait() for child in (*children[:victim], *children[victim + 1 :])]
        timer.join()
        self._check(f"round {number}, {strike.moment} {strike.struck}", codes)

    def _start(self, number: int, writer: int, proxy: Proxy) -> Child:
        documents = [f"round-{number}-writer-{writer}-{n}" for n in range(DOCUMENTS)]
        options = {
            "url": self.url,
            "endpoint": proxy.url,
            "locks": str(self._locks or ""),
            "log": str(self._folder / "log"),
            "writer": writer,
            "documents": [*documents, f"round-{number}-common"] if self._locks else documents,
        }
        return self._server.start(write, options)

    def _check(self, round_: str, codes: list[int]) -> None:
        log = self._folder / "log"
        for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
            document_id, writer, _ = json.loads(line)
            self._wanted.setdefault(document_id, set()).add(writer)
            self.result.reported += 1
        log.unlink(missing_ok=True)
        problems = violations(make_library(self.url, self._endpoint, self._locks).store, self._wanted)
        problems += [f"writers ended with {codes}"] if any(codes) else []
        self.result.violations += [f"{round_}: {problem}" for problem in problems]


def violations(store: Store, wanted: dict[str, set[int]]) -> list[str]:
    """What is lost, stored twice or incomplete. `wanted` holds the writers of each reported document."""
    table = store._table
    rows = [] if table is None else table.search().select(["id", "kind", "document_id", "text", "passages"]).to_list()
    found = [
        f"{name} is stored {count} times" for name, count in Counter(row["id"] for row in rows).items() if count > 1
    ]
    documents = {row["document_id"]: row for row in rows if row["kind"] == DOCUMENT}
    passages = Counter(row["document_id"] for row in rows if row["kind"] != DOCUMENT)
    found += [f"{name} is lost" for name in wanted if name not in documents]
    for name, row in documents.items():
        if passages.pop(name, 0) != row["passages"]:
            found.append(f"{name} is incomplete")
        writers = wanted.get(name, range(WRITERS))
        if row["text"] not in [text_of(name, writer) for writer in writers]:
            found.append(f"{name} has a text that nobody reported")
    return found + [f"{name} has passages and no document" for name in passages]


def _kind(request: str) -> str:
    for part, kind in (
        ("_versions/", "manifest"),
        ("_transactions/", "transaction"),
        ("/data/", "data"),
        ("_indices/", "index"),
        ("_deletions/", "deletions"),
        (".veracity-test", "test of the store"),
    ):
        if part in request:
            return kind
    return "other"


def refuses(endpoint: str) -> str:
    """The error for a server that ignores conditions."""
    with Proxy(endpoint, ignore_conditions=True) as ignorant:
        try:
            make_library(f"s3://{BUCKET}/{uuid.uuid4().hex}", ignorant.url, None).store.documents()
        except ConfigurationError as error:
            return str(error)
    raise AssertionError("The store was not refused.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-lock", action="store_true")
    parser.add_argument("--ignore-conditions", action="store_true")
    options = parser.parse_args()
    if not is_moto_installed():
        sys.exit(NOT_INSTALLED)
    os.environ.update(ENVIRONMENT)
    folder, started = Path(tempfile.mkdtemp()), time.monotonic()
    with Moto() as moto:
        if options.ignore_conditions:
            print(refuses(moto.url))
            return
        with ForkServer(*MODULES) as server:
            campaign = Campaign(server, moto.url, folder, options.seed, use_lock=not options.no_lock)
            result = campaign.run(options.kills)
    _print(result, options.seed, time.monotonic() - started)
    if result.violations:
        sys.exit(f"The logs are in {folder}.")
    shutil.rmtree(folder)


def _print(result: Result, seed: int, seconds: float) -> None:
    rows = {
        "writers": WRITERS,
        "kills": sum(result.kills.values()),
        "killed before, after, long before the request": ", ".join(str(result.kills[moment]) for moment in MOMENTS),
        "fatal request": ", ".join(f"{kind} {count}" for kind, count in result.targets.most_common()),
        "rounds without a kill (the writer had finished)": result.missed,
        "documents reported as stored": result.reported,
        "lost, stored twice or incomplete": len(result.violations),
    }
    print("| | |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value} |")
    print(f"\n{seconds:.0f} seconds, seed {seed}")
    for violation in result.violations[:20]:
        print(f"VIOLATION seed {seed}: {violation}")


if __name__ == "__main__":
    main()
