"""Backups are complete, are made while others work, and bring nothing back that was forgotten."""

import io
import json
import shutil
import sqlite3
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.commands import Run
from tests.runs.scripts import DOCUMENTS
from tests.server.conftest import serving
from tests.transfer.conftest import TEA, Used, assert_works
from tests.waiting import until
from veracity.engine import Veracity
from veracity.errors import BusyError, ConfigurationError, InputError
from veracity.knowledge.library import writer_lock
from veracity.ledger.journal import Journal, find_matches
from veracity.ledger.owners import FileOwners
from veracity.models import Document
from veracity.transfer.archive import MANIFEST_NAME, open_archive
from veracity.transfer.backup import back_up
from veracity.transfer.restore import restore_workspace

Change = Callable[[dict[str, bytes]], None]


@pytest.fixture(scope="session")
def archive(used_once: Used, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("archive") / "backup.tar.zst"
    back_up(used_once.root, file)
    return file


def content_of(archive: Path) -> bytes:
    with archive.open("rb") as file, pa.CompressedInputStream(file, "zstd") as stream:
        return bytes(stream.read())


def test_a_backup_restores_everything(run: Run, used: Used, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in (used.root / "knowledge").rglob("*") if path.is_file()}
    file, root = tmp_path / "backup.tar.zst", tmp_path / "restored"
    made = run("backup", file, "-w", used.root)
    assert made.code == 0, made.err
    assert f"{len(DOCUMENTS) + 1} documents" in made.out and "2 runs (1 pending), 1 user" in made.out
    assert (file.stat().st_mode & 0o777, [path.name for path in tmp_path.glob(".*")]) == (0o600, [])
    assert not (used.root / "ledger" / ".backup").exists()
    assert all(path.read_bytes() == content for path, content in before.items())
    restored = run("restore", file, "-w", root)
    assert restored.code == 0, restored.err
    assert "Nothing that it brought back was forgotten later." in restored.out
    assert (root / "veracity.toml").read_text() == (used.root / "veracity.toml").read_text()
    assert ((root / "ledger").stat().st_mode & 0o777, (root / "metrics" / "_notes.py").exists()) == (0o700, True)
    assert_works(root, used)


def test_a_backup_is_made_while_others_ask_and_ingest(used: Used, tmp_path: Path) -> None:
    stopped = threading.Event()
    counts: list[int] = []

    def work() -> None:
        with Veracity(used.root) as engine:
            while not stopped.is_set():
                number = len(counts)
                engine.add(Document(id=f"added{number}", text=f"Room {number} is green. It has {number} chairs."))
                engine.ask(f"What colour is room {number}?")
                counts.append(number)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        until(lambda: len(counts) > 1)
        back_up(used.root, tmp_path / "first.tar.zst")
        backup = back_up(used.root, tmp_path / "second.tar.zst")
    finally:
        stopped.set()
        worker.join(60)
    restored = restore_workspace(backup.file, tmp_path / "restored")
    with Veracity(tmp_path / "restored") as engine:
        assert len(engine.recover()) <= 1  # the one that was being answered
        known = {document.id for document in engine.documents()}
        answers = [engine.receipt(each.run_id) for each in engine.runs(1000)]
        assert len(answers) == restored.manifest.counts.runs
        cited = {passage.document_id for each in answers if each.answer for passage in each.answer.evidence}
        assert cited and cited <= known


def test_a_place_that_cannot_take_a_backup_is_refused(run: Run, used: Used, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    refusals = {
        "there": "exists already",
        "workspace/uploads/x": "being backed up",
        "nowhere/x": "There is no folder",
        "workspace": "is a folder",
    }
    for file, reason in refusals.items():
        refused = run("backup", tmp_path / file, "-w", used.root)
        assert (refused.code, reason in refused.err, "Traceback" in refused.err) == (2, True, False)
    assert (tmp_path / "there").read_text() == "mine"
    assert run("backup", tmp_path / "there", "--force", "-w", used.root).code == 0
    assert (tmp_path / "there").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"


def test_a_ledger_in_postgres_is_left_to_pg_dump(
    run: Run, used: Used, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERACITY_STORE__LEDGER", "postgresql://db.invalid/veracity")
    refused = run("backup", tmp_path / "x.tar.zst", "-w", used.root)
    assert (refused.code, "pg_dump" in refused.err) == (2, True)


def test_a_disk_that_is_full_is_named(run: Run, used: Used, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "x.tar.zst"))

    monkeypatch.setattr("veracity.transfer.backup.write_archive", fill)
    refused = run("backup", tmp_path / "x.tar.zst", "-w", used.root)
    assert (refused.code, "free some disk space" in refused.err, list(tmp_path.glob("*x.tar*"))) == (1, True, [])


def test_what_was_forgotten_since_is_forgotten_again(run: Run, used: Used, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.zst"
    with Veracity(used.root) as engine:
        engine.users.add("bob", "asker")
        engine.forget("laptops")
        engine.add(DOCUMENTS[2])  # again: the backup has it
        back_up(used.root, file)
        engine.forget("uploads/tea.md")
        engine.forget("leave")
        engine.add(DOCUMENTS[0])  # again, after the backup: what the backup has was forgotten
        engine.forget_conversation("leave")
        engine.users.remove("bob")
        engine.users.renew("ann")
    journal = tmp_path / "journal.jsonl"
    shutil.copy(used.root / "ledger" / "forgotten.jsonl", journal)
    assert not any(word in journal.read_text() for word in ("leave", "tea", "ann", "bob", used.token))

    without = run("restore", file, "-w", used.root)
    assert (without.code, "--replace" in without.err) == (2, True)
    done = run("restore", file, "-w", used.root, "--replace")
    assert done.code == 0, done.err
    assert "Forgot again: 2 documents, 1 conversation, 1 user, 1 token." in done.out
    assert "veracity users renew ann" in done.out
    assert run("restore", file, "-w", tmp_path / "other", "--forgotten", journal).code == 0
    for root in (used.root, tmp_path / "other"):
        with Veracity(root) as engine:
            left = {document.id for document in engine.documents()}
            assert "laptops" in left and "leave" not in left and len(left) == len(DOCUMENTS) - 1
            assert not (root / "uploads" / "tea.md").exists()
            assert engine.turns("leave") == [] and engine.receipt(used.answered).run.question == ""
            assert [user.name for user in engine.users.list()] == ["ann"] and engine.users.who(used.token) is None
        for name in ("ledger", "knowledge", "uploads"):
            files = [path for path in (root / name).rglob("*") if path.is_file()]
            assert not any(b"25 days" in path.read_bytes() or TEA.encode() in path.read_bytes() for path in files)
    (aside,) = used.root.glob(".replaced-*")
    assert (aside / "ledger" / "ledger.sqlite").exists()
    assert restore_workspace(file, used.root, replace=True).forgotten.documents == 2  # the journal is still there


def test_a_backup_holds_no_byte_of_what_was_forgotten(used: Used, tmp_path: Path) -> None:
    with Veracity(used.root) as engine:
        engine.forget("uploads/tea.md")
    assert TEA.encode() in b"".join(
        path.read_bytes() for path in (used.root / "knowledge").rglob("*.lance") if path.is_file()
    )
    back_up(used.root, tmp_path / "x.tar.zst")
    content = content_of(tmp_path / "x.tar.zst")
    assert b"Hotels may cost" in content and TEA.encode() not in content


def test_a_killed_backup_leaves_nothing_that_outlives_forgetting(used: Used, tmp_path: Path) -> None:
    leftover = used.root / "ledger" / ".backup" / "ledger"
    leftover.mkdir(parents=True)
    (leftover / "copy").write_text(TEA)
    with Veracity(used.root) as engine:
        engine.forget("uploads/tea.md")
    assert not leftover.exists()


def test_a_workspace_that_is_in_use_is_not_replaced(used: Used, archive: Path) -> None:
    with Veracity(used.root) as engine, serving(engine), pytest.raises(BusyError, match="Another process uses"):
        restore_workspace(archive, used.root, replace=True)
    with writer_lock(used.root / "knowledge"), pytest.raises(BusyError, match="being changed"):
        restore_workspace(archive, used.root, replace=True)
    assert not FileOwners(used.root / "ledger").any_alive()
    restore_workspace(archive, used.root, replace=True)


def rewrite(archive: Path, target: Path, change: Change) -> Path:
    """A copy of the archive, after a change of its members."""
    with tarfile.open(fileobj=io.BytesIO(content_of(archive))) as tar:
        members = {each.name: tar.extractfile(each).read() for each in tar.getmembers()}  # type: ignore[union-attr]
    change(members)
    with (
        target.open("wb") as file,
        pa.CompressedOutputStream(file, "zstd") as stream,
        tarfile.open(fileobj=stream, mode="w|") as tar,
    ):
        for name, content in members.items():
            member = tarfile.TarInfo(name.removeprefix("link:"))
            member.size = len(content)
            if name.startswith("link:"):
                member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0
            tar.addfile(member, io.BytesIO(content))
    return target


def changed_manifest(**changes: object) -> Change:
    return lambda members: members.update(
        {MANIFEST_NAME: json.dumps({**json.loads(members[MANIFEST_NAME]), **changes}).encode()}
    )


def renamed(before: str, after: str) -> Change:
    def change(members: dict[str, bytes]) -> None:
        members[MANIFEST_NAME] = members[MANIFEST_NAME].replace(json.dumps(before).encode(), json.dumps(after).encode())
        members[after] = members.pop(before)

    return change


def linked(members: dict[str, bytes]) -> None:
    members["link:veracity.toml"] = members.pop("veracity.toml")


def flipped(members: dict[str, bytes]) -> None:
    content = members["ledger/ledger.sqlite"]
    members["ledger/ledger.sqlite"] = content[:5000] + bytes([content[5000] ^ 1]) + content[5001:]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (renamed("veracity.toml", "../veracity.toml"), "no file of a workspace"),
        (renamed("veracity.toml", "/etc/veracity.toml"), "no file of a workspace"),
        (renamed("veracity.toml", "metrics/../../x"), "no file of a workspace"),
        (renamed("veracity.toml", ".bashrc"), "no file of a workspace"),
        (linked, "differs"),
        (flipped, "hash"),
        (lambda members: members.update({"uploads/extra": b"x"}), "differs"),
        (lambda members: members.pop("uploads/tea.md"), "is missing"),
        (lambda members: members.update({"uploads/tea.md": b"longer" * 100}), "differs"),
        (lambda members: members.pop(MANIFEST_NAME), "begin"),
        (changed_manifest(kind="holiday"), "not valid"),
        (changed_manifest(files=[{"name": "veracity.toml", "size": -1}]), "not valid"),
    ],
)
def test_an_archive_that_was_changed_is_refused(tmp_path: Path, archive: Path, change: Change, reason: str) -> None:
    hostile, root = rewrite(archive, tmp_path / "hostile.tar.zst", change), tmp_path / "restored"
    with pytest.raises(InputError, match=reason):
        restore_workspace(hostile, root)
    assert not root.exists() and not (tmp_path / "veracity.toml").exists()


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 5_000_000
    with (tmp_path / "x").open("wb") as file, pa.CompressedOutputStream(file, "zstd") as stream:
        stream.write(header.tobuf(tarfile.USTAR_FORMAT) + b"0" * header.size)
    with pytest.raises(InputError, match="header is too large"):
        restore_workspace(tmp_path / "x", tmp_path / "restored")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x28\xb5\x2f\xfd" + b"x" * 100])
def test_a_file_that_is_no_backup_is_refused(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    refused = run("restore", tmp_path / "x", "-w", tmp_path / "restored")
    assert (refused.code, "Traceback" in refused.err) == (2, False)
    assert not (tmp_path / "restored").exists()
    assert run("restore", tmp_path / "missing", "-w", tmp_path / "restored").code == 2


def test_a_truncated_backup_is_refused(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(InputError, match="not a whole backup"):
        restore_workspace(tmp_path / "x", tmp_path / "restored")


@pytest.mark.parametrize("change", [{"format": 99}, {"ledger_schema": 99}, {"format": 99, "counts": "new"}])
def test_a_backup_of_a_newer_version_is_refused(archive: Path, tmp_path: Path, change: dict[str, object]) -> None:
    newer = rewrite(archive, tmp_path / "newer.tar.zst", changed_manifest(veracity="99.0", **change))
    with pytest.raises(ConfigurationError, match=r"newer Veracity \(99.0\)"):
        restore_workspace(newer, tmp_path / "restored")


def test_a_torn_line_of_the_journal_is_skipped(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with journal.forgetting() as record:
        record("document", ["a", "b"])
        record("document", ["b"])
    with journal.path.open("ab") as torn:
        torn.write(b'{"id": "12')
    with journal.forgetting() as record:
        record("user", ["a"])
    assert [entry.kind for entry in journal.entries()] == ["document", "document", "user"]
    found = find_matches(journal.entries(), {"document": ["a", "c"], "user": ["b"], "token": []})
    assert found == {"document": ["a"], "user": [], "token": []}


def test_the_ledger_in_a_backup_is_one_file_that_is_whole(archive: Path, tmp_path: Path) -> None:
    with open_archive(archive) as (manifest, members):
        content = {entry.name: stream.read() for entry, stream in members}
    assert not [name for name in content if name.endswith(("-wal", "-shm", ".lock"))]
    (tmp_path / "ledger.sqlite").write_bytes(content["ledger/ledger.sqlite"])
    connection = sqlite3.connect(tmp_path / "ledger.sqlite")
    assert connection.execute("SELECT count(*) FROM runs").fetchone() == (manifest.counts.runs,)
    connection.close()
