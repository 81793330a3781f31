"""The folder of an experiment, `experiments/NAME`: what was run, and the result of each case.

Results are lines that are appended once, when a case ends: a killed experiment goes on with the others. They hold no
text of documents or answers; those are in the receipts of the runs, where forgetting finds them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from veracity.errors import BusyError, InputError, NotFoundError, VeracityError, reason_of
from veracity.experiments.suite import SuiteSettings
from veracity.models import ApprovalReason, Usage
from veracity.secrets import presentable

FOLDER = "experiments"
LAST = "last"  # names the newest experiment
MAX_NAME_BYTES = 200
MANIFEST = "manifest.json"
RESULTS = "results.jsonl"
SYNC_SECONDS = 0.5  # between two syncs to the disk: a power failure may lose what was appended since
_NAME = re.compile(r"\w[\w.-]{0,99}")

Status = Literal["answered", "abstained", "scored", "failed"]


class Manifest(BaseModel):
    """`hashes` cover all that a result depends on, besides its case and repeat: equal ones can share results."""

    model_config = ConfigDict(frozen=True)

    name: str
    suite: str
    suite_file: str
    created: datetime
    version: str
    models: dict[str, str]
    overrides: list[str] = []
    hashes: dict[str, str]
    cases: int
    repeats: int = 1
    sample: int | None = None
    seed: int = 0
    settings: SuiteSettings = SuiteSettings()

    @property
    def total(self) -> int:
        return self.cases * self.repeats

    @property
    def identity(self) -> str:
        """Of this experiment alone: another one under the same name must not find its runs."""
        return hashlib.sha256(f"{self.name} {self.created.isoformat()} {self.fingerprint}".encode()).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.hashes, sort_keys=True).encode()).hexdigest()


class CaseResult(BaseModel):
    """One case, once. `faults` say why it did not pass; `held` why the gate would not release the answer. A `failed`
    one has a `problem`, was not judged, and is tried again."""

    model_config = ConfigDict(frozen=True)

    case: str
    repeat: int = 0
    attempt: int = 0
    digest: str
    group: str
    language: str
    tags: list[str] = []
    expect: Literal["answer", "abstain"]
    status: Status
    passed: bool = False
    faults: list[str] = []
    held: ApprovalReason | None = None
    score: float | None = None
    metrics: dict[str, float] = {}
    run_id: str = ""
    problem: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    reused_from: str = ""

    @property
    def is_released(self) -> bool:
        return self.status in ("answered", "scored") and self.held is None


class Records:
    """The results of one experiment. Can be shared by threads; `open` excludes other processes."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Raises `NotFoundError` if it is not the folder of an experiment."""
        try:
            return cls(folder, Manifest.model_validate_json((folder / MANIFEST).read_bytes()))
        except FileNotFoundError:
            raise NotFoundError(f'There is no experiment "{presentable(folder.name)}".') from None
        except (OSError, ValidationError) as problem:
            reason = reason_of(problem) if isinstance(problem, OSError) else "it is not a manifest"
            raise InputError(
                f"{folder / MANIFEST} cannot be read ({reason}): remove the folder to start over."
            ) from None

    def create(self) -> None:
        """Write the manifest. Raises `InputError` if the folder cannot be written."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = self.folder / f"{MANIFEST}.part"
            partial.write_text(self.manifest.model_dump_json(indent=2), encoding="utf-8")
            partial.replace(self.folder / MANIFEST)
        except OSError as problem:
            raise InputError(f"{self.folder} cannot be written ({reason_of(problem)}).") from None

    def results(self) -> Iterator[CaseResult]:
        """Every finished case, and those that failed, in the order in which they ended. Skips a line cut by a kill."""
        try:
            with (self.folder / RESULTS).open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.endswith(b"\n"):
                        yield self._parse(line, number)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise InputError(f"{self.folder / RESULTS} cannot be read ({reason_of(problem)}).") from None

    def _parse(self, line: bytes, number: int) -> CaseResult:
        try:
            return CaseResult.model_validate_json(line)
        except ValidationError:
            raise InputError(f"{self.folder / RESULTS}, line {number} is not a result: remove the line.") from None

    def finished(self) -> Iterator[CaseResult]:
        """The results without failures; of each case and repeat, the first."""
        seen = set[tuple[str, int]]()
        for result in self.results():
            key = (result.case, result.repeat)
            if result.status != "failed" and key not in seen:
                seen.add(key)
                yield result

    @property
    def is_complete(self) -> bool:
        return sum(1 for _ in self.finished()) >= self.manifest.total

    @contextlib.contextmanager
    def open(self) -> Iterator[Appender]:
        """Raises `BusyError` if another process runs this experiment."""
        from filelock import FileLock, Timeout  # noqa: PLC0415 - only running needs it

        try:
            with FileLock(self.folder / "lock", timeout=0):
                appender = Appender(self.folder / RESULTS)
                try:
                    yield appender
                finally:
                    appender.close()
        except Timeout:
            raise BusyError(f'Another process runs the experiment "{self.manifest.name}": wait for it.') from None


class Appender:
    """Appends results. Each line is one write: a killed process leaves it whole, or cut at the end of the file."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            _drop_cut_line(self._descriptor)
        except OSError as problem:
            raise InputError(f"{file} cannot be written ({reason_of(problem)}).") from None
        self._file = file
        self._synced = time.monotonic()

    def append(self, result: CaseResult) -> None:
        line = (result.model_dump_json() + "\n").encode()
        try:
            with self._lock:
                if os.write(self._descriptor, line) != len(line):
                    raise OSError("the disk is full")
                if time.monotonic() - self._synced > SYNC_SECONDS:
                    os.fsync(self._descriptor)
                    self._synced = time.monotonic()
        except OSError as problem:
            raise VeracityError(f"{self._file} cannot be written ({reason_of(problem)}): free some space.") from None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.fsync(self._descriptor)
        os.close(self._descriptor)


def experiment_folder(workspace: Path, name: str) -> Path:
    """Raises `InputError` for a name that is no file name."""
    if not _NAME.fullmatch(name) or name == LAST or len(name.encode()) > MAX_NAME_BYTES:
        raise InputError(
            f'"{presentable(name)}" cannot name an experiment: use up to 100 letters, digits, dots and dashes.'
        )
    return workspace / FOLDER / name


def list_experiments(workspace: Path) -> list[Records]:
    """All experiments, newest first. Folders that are none are left out."""
    found = []
    for manifest in (workspace / FOLDER).glob(f"*/{MANIFEST}"):
        with contextlib.suppress(VeracityError):
            found.append(Records.load(manifest.parent))
    return sorted(found, key=lambda records: records.manifest.created, reverse=True)


def next_name(workspace: Path, suite: str) -> str:
    """`SUITE-1`, `SUITE-2`, …"""
    stem = re.sub(r"[^\w.-]", "-", suite)[:90]
    taken = {path.name for path in (workspace / FOLDER).glob(f"{stem}-*")}
    return next(name for number in range(1, len(taken) + 2) if (name := f"{stem}-{number}") not in taken)


def now() -> datetime:
    return datetime.now(UTC)


def _drop_cut_line(descriptor: int) -> None:
    """Remove the end of a line that a killed process wrote in part."""
    size = os.fstat(descriptor).st_size
    while size and os.pread(descriptor, 1, size - 1) != b"\n":
        size -= 1
    os.ftruncate(descriptor, size)
