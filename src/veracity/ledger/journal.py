"""`forgotten.jsonl`: what was forgotten, so that it is forgotten again after a backup was restored.

It is a file beside the ledger, because a restored ledger is older. It holds no names and no texts, only salted hashes
of identifiers: who knows an identifier can check whether it was forgotten, and nobody can list what was. A backup
holds a copy of it. What is in the journal and not in that copy was forgotten after the backup, whatever clocks say.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from filelock import FileLock

from veracity.errors import InputError, reason_of
from veracity.ledger.database import translate_errors
from veracity.ledger.snapshot_folder import remove_leftovers
from veracity.workspace import make_private_folder

JOURNAL_FILE = "forgotten.jsonl"
MIRROR_FOLDER = "forgotten"
REMEDY = "make it a file that can be written."
LOCK_TIMEOUT_SECONDS = 300.0  # a backup holds the lock while it copies the ledger
# A token is identified by the hash that the ledger stores.
Kind = Literal["document", "conversation", "user", "token"]
Record = Callable[[Kind, Iterable[str]], None]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`id` is random, and the same in every copy of the journal."""

    id: str
    at: str
    kind: Kind
    salt: str
    digest: str

    @property
    def time(self) -> datetime:
        return datetime.fromisoformat(self.at)


class Journal:
    """The journal in this folder, which is created with the first entry. Can be shared by threads and processes.

    `mirror` is called with a name and the new lines, for machines whose folders do not last.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / JOURNAL_FILE
        self.mirror: Callable[[str, bytes], None] | None = None
        self._lock = FileLock(folder / f".{JOURNAL_FILE}.lock", timeout=LOCK_TIMEOUT_SECONDS, poll_interval=0.02)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nothing is forgotten meanwhile, except by this thread."""
        with translate_errors(self.path, REMEDY):
            make_private_folder(self._folder)
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def forgetting(self) -> Iterator[Record]:
        """Forget within the block, after passing what will be forgotten to the function. A backup waits for the end."""
        with self.locked():
            remove_leftovers(self._folder)
            recorded: set[tuple[Kind, str]] = set()

            def record(kind: Kind, identifiers: Iterable[str]) -> None:
                new = dict.fromkeys((kind, identifier) for identifier in identifiers)
                self._append([identifier for _, identifier in new if (kind, identifier) not in recorded], kind)
                recorded.update(new)

            yield record

    def entries(self) -> list[Forgotten]:
        return read_journal(self.path) if self.path.exists() else []

    def add(self, entries: Iterable[Forgotten]) -> None:
        """Add entries of other journals, unless they are here."""
        with self.locked():
            known = {entry.id for entry in self.entries()}
            self._write([entry for entry in {entry.id: entry for entry in entries}.values() if entry.id not in known])

    def _append(self, identifiers: list[str], kind: Kind) -> None:
        if not identifiers:
            return
        earlier = self.entries()
        salt = earlier[-1].salt if earlier else secrets.token_hex(16)  # few salts: matching hashes once per salt
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._write(
            [
                Forgotten(secrets.token_hex(8), now, kind, salt, digest_of(kind, salt, identifier))
                for identifier in identifiers
            ]
        )

    def _write(self, entries: list[Forgotten]) -> None:
        """Each write begins on a new line: a killed process may have left a part of one."""
        if not entries:
            return
        lines = "".join(json.dumps(asdict(entry)) + "\n" for entry in entries).encode()
        with translate_errors(self.path, REMEDY):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write((b"\n" if file.tell() and not _ends_with_newline(self.path) else b"") + lines)
                file.flush()
                os.fsync(file.fileno())
        if self.mirror is not None:
            self.mirror(f"{MIRROR_FOLDER}/{entries[0].id}.jsonl", lines)


def read_journal(path: Path) -> list[Forgotten]:
    """The entries of a journal, oldest first. Raises `InputError` for a file that is none. A line that a killed process
    left unfinished is skipped."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f'"{path}" cannot be read ({reason_of(error)}): name a {JOURNAL_FILE}.') from None
    entries = parse_journal(content)
    if content and not entries:
        raise InputError(f'"{path}" is not a list of what was forgotten: name a {JOURNAL_FILE}.')
    return entries


def parse_journal(content: bytes) -> list[Forgotten]:
    return [entry for line in content.splitlines() if (entry := _parse(line)) is not None]


def find_matches(entries: Iterable[Forgotten], identifiers: dict[Kind, Iterable[str]]) -> dict[Kind, list[str]]:
    """Those of the identifiers that the entries name."""
    digests: defaultdict[tuple[Kind, str], set[str]] = defaultdict(set)
    for entry in entries:
        digests[entry.kind, entry.salt].add(entry.digest)
    return {
        kind: [
            identifier
            for identifier in known
            if any(
                digest_of(kind, salt, identifier) in wanted for (own, salt), wanted in digests.items() if own == kind
            )
        ]
        for kind, known in identifiers.items()
    }


def digest_of(kind: Kind, salt: str, identifier: str) -> str:
    return hashlib.sha256(f"{salt}\n{kind}\n{identifier}".encode(errors="surrogatepass")).hexdigest()


def name_conversation(user: str, conversation: str) -> str:
    """The identifier of a conversation."""
    return f"{user}\n{conversation}"


def _parse(line: bytes) -> Forgotten | None:
    try:
        entry = Forgotten(**json.loads(line))
        is_sound = all(isinstance(value, str) for value in asdict(entry).values()) and entry.time.tzinfo is not None
    except (ValueError, TypeError, RecursionError):
        return None
    return entry if is_sound and entry.kind in get_args(Kind) else None


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
