"""Documents and uploads in an object store, on moto: the same behaviour as in a folder, and clear errors."""

import io
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest
from benchmarks.campaigns import object_store, object_store_worker
from benchmarks.campaigns.fork_server import ForkServer
from benchmarks.campaigns.s3_servers import (
    BUCKET,
    ENVIRONMENT,
    S3RVER,
    Moto,
    Proxy,
    S3rver,
    Strike,
)
from filelock import FileLock
from obstore.store import S3Store

from tests.knowledge.material import CHINESE, ENGLISH, JAPANESE, HashEmbedder, assert_consistent, no_progress, search
from tests.postgres import schema_url, shared_url
from veracity.engine import Veracity
from veracity.errors import BusyError, ConfigurationError, VeracityError
from veracity.knowledge import purge as purge_module
from veracity.knowledge import store as store_module
from veracity.knowledge.library import Library, purge_forgotten
from veracity.knowledge.location import SharedLock
from veracity.knowledge.object_store import TEST_OBJECT, S3Location
from veracity.knowledge.rows import Fingerprint
from veracity.knowledge.store import Store
from veracity.ledger.shared_lock import PostgresLock
from veracity.models import Document
from veracity.reading.sandbox.pool import SandboxPool
from veracity.settings import KnowledgeSettings, ReadingSettings, Settings

pytestmark = pytest.mark.usefixtures("keys")

RECIPE: dict[str, Any] = {}
SECRETS = (ENVIRONMENT["AWS_ACCESS_KEY_ID"], ENVIRONMENT["AWS_SECRET_ACCESS_KEY"])


@pytest.fixture
def url() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/知識"


@pytest.fixture
def locks(tmp_path: Path) -> SharedLock:
    (tmp_path / "locks").mkdir()
    return lambda name, timeout: FileLock(tmp_path / "locks" / name, timeout=timeout, thread_local=False)


@pytest.fixture
def library(moto: Moto, url: str, locks: SharedLock, workers: SandboxPool) -> Library:
    settings = KnowledgeSettings(passage_tokens=200, overlap_tokens=30)
    location = S3Location(url, moto.url)
    made = Library(location, HashEmbedder(), settings, ReadingSettings(workers=2), shared_lock=locks)
    made._ingestion._workers = workers
    return made


def reader_of(library: Library, moto: Moto) -> Store:
    """A store as another process opens it."""
    return Store(S3Location(str(library.store.location), moto.url), 16, library.store._recipe)


def objects(url: str, moto: Moto) -> dict[str, bytes]:
    bucket = S3Store(BUCKET, endpoint=moto.url, client_options={"allow_http": True})
    prefix = url.removeprefix(f"s3://{BUCKET}/")
    paths = [item["path"] for item in obstore.list(bucket, prefix).collect()]
    return {path.removeprefix(f"{prefix}/"): bytes(obstore.get(bucket, path).bytes()) for path in paths}


def test_documents_are_ingested_found_and_forgotten(
    library: Library, moto: Moto, url: str, write: Callable[..., Path], files: Path
) -> None:
    for name, text in (("leave.md", ENGLISH), ("差旅.md", CHINESE), ("休暇.md", JAPANESE)):
        write(name, text)
    assert library.ingest([files], False, no_progress).count("added") == 3
    reader = reader_of(library, moto)
    found = {query: reader.document(search(reader, query)[0]) for query in ("Dublin", "上海", "有給休暇")}
    assert [Path(known.location).name for known in found.values() if known] == ["leave.md", "差旅.md", "休暇.md"]
    assert library.ingest([files], False, no_progress).count("unchanged") == 3
    write("leave.md", "# Leave\n\nThirty days in Galway.\n")
    assert library.ingest([files], True, no_progress).count("updated") == 1
    assert (len(search(reader, "Galway")), search(reader, "Dublin")) == (1, [])
    library.forget(str(files / "休暇.md"))
    assert search(reader, "有給休暇") == []
    assert library.reindex(no_progress).count("updated") == 2
    assert len(search(reader, "上海")) == len(search(reader, "Galway")) == 1
    assert_consistent(reader_of(library, moto))
    assert {name.split("/")[0] for name in objects(url, moto)} == {"passages.lance", TEST_OBJECT, ".rewritten"}


def test_changes_of_another_process_are_noticed(library: Library, moto: Moto, url: str) -> None:
    reader = reader_of(library, moto)
    assert (reader.version, reader.documents(), reader.languages()) == ((0, 0), [], frozenset())
    library.add([Document(id="a", text="大阪の社員です。")], no_progress)
    first = reader.version
    assert (reader.version, set(reader.languages()), search(reader, "大阪")) == (first, {"ja"}, ["a"])
    library.add([Document(id="a", text="上海办公室的员工。")], no_progress)
    assert reader.version != first
    assert (set(reader.languages()), search(reader, "上海")) == ({"zh"}, ["a"])


def test_a_table_that_was_deleted_and_created_again_is_noticed(library: Library, moto: Moto, url: str) -> None:
    library.add([Document(id="a", text="zebra")], no_progress)
    reader = reader_of(library, moto)
    before = reader.version
    assert search(reader, "zebra") == ["a"]
    bucket = S3Store(BUCKET, endpoint=moto.url, client_options={"allow_http": True})
    prefix = url.removeprefix(f"s3://{BUCKET}/")
    bucket.delete([f"{prefix}/{name}" for name in objects(url, moto)])
    other = Library(
        S3Location(url, moto.url),
        HashEmbedder(),
        KnowledgeSettings(passage_tokens=200, overlap_tokens=30),
        ReadingSettings(workers=1),
        shared_lock=library._shared_lock,
    )
    other._ingestion._workers = library._ingestion._workers
    other.add([Document(id="b", text="giraffe")], no_progress)
    assert search(reader, "giraffe") == ["b"]
    assert (search(reader, "zebra"), [document.id for document in reader.documents()]) == ([], ["b"])
    assert reader.version[0] != before[0]


def test_forgotten_bytes_leave_in_two_steps(
    library: Library, moto: Moto, url: str, locks: SharedLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored() -> bool:
        return any(b"secretword" in content for content in objects(url, moto).values())

    def purge() -> bool:
        return purge_forgotten(reader_of(library, moto), locks)

    library.add([Document(id="a", text="zebra secretword"), Document(id="b", text="tiger 大阪")], no_progress)
    library.forget("a")
    assert (purge(), stored()) == (False, True)  # a search may be reading the document
    monkeypatch.setattr(purge_module, "PURGE_AFTER_SECONDS", -10.0)
    assert (purge(), stored()) == (True, True)  # a search may be reading the version before
    monkeypatch.setattr(store_module, "KEEP_VERSIONS_SECONDS", -10.0)
    monkeypatch.setattr(store_module, "CLOCK_TOLERANCE_SECONDS", -10.0)
    assert (purge(), stored(), purge()) == (True, False, False)
    assert (search(reader_of(library, moto), "tiger"), search(library.store, "大阪")) == (["b"], ["b"])


def test_files_of_a_writer_on_another_machine_are_kept(library: Library, moto: Moto, url: str) -> None:
    """In a folder they would be deleted as leftovers of a crash."""
    library.add([Document(id="a", text="zebra")], no_progress)
    S3Location(url, moto.url).put("passages.lance/data/under-way.lance", b"not committed yet")
    library.reindex(no_progress)
    assert objects(url, moto)["passages.lance/data/under-way.lance"] == b"not committed yet"


def test_only_the_holder_of_the_shared_lock_writes(library: Library, moto: Moto, url: str, locks: SharedLock) -> None:
    documents = [Document(id="a", text="zebra")]
    with locks("knowledge", 0), pytest.raises(BusyError) as refused:
        library.add(documents, no_progress)
    assert str(refused.value) == (
        f'The documents in "{url}" are being changed by another process: try again when that has finished.'
    )
    library._shared_lock = None
    with pytest.raises(ConfigurationError, match="only be changed under a lock that all machines share: set store.led"):
        library.add(documents, no_progress)
    assert library.store.documents() == []


def test_a_writer_that_lost_its_lock_stops(library: Library, moto: Moto, url: str, tmp_path: Path) -> None:
    """It was suspended, say, and another process took the lock."""
    (tmp_path / "other").mkdir()
    other = object_store_worker.make_library(url, moto.url, tmp_path / "other")
    other.store._recipe = library.store._recipe
    library.add([Document(id="a", text="zebra")], no_progress)

    def documents() -> Iterator[Document]:
        yield Document(id="b", text="giraffe 大阪")
        other.forget("a")

    with pytest.raises(BusyError, match="are being changed by another process"):
        library.add(documents(), no_progress)
    assert [document.id for document in library.store.documents()] == []
    assert library.add([Document(id="b", text="giraffe 大阪")], no_progress).count("added") == 1


def test_a_store_that_ignores_conditional_writes_is_refused(moto: Moto, url: str) -> None:
    with Proxy(moto.url, ignore_conditions=True) as ignorant:
        for _ in range(2):  # it is not accepted the second time
            with pytest.raises(ConfigurationError) as refused:
                Store(S3Location(url, ignorant.url), 16, RECIPE).documents()
            assert_one_sentence(refused.value, url, f"{ignorant.url} ignores conditional writes")
    assert objects(url, moto) == {}


@pytest.mark.skipif(not S3RVER.exists(), reason="s3rver is not installed: run make s3rver")
def test_s3rver_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in S3rver.environment.items():
        monkeypatch.setenv(name, value)
    with S3rver(tmp_path) as server, pytest.raises(ConfigurationError, match="ignores conditional writes"):
        Store(S3Location(url, server.url), 16, RECIPE).documents()


def assert_one_sentence(error: VeracityError, *parts: str) -> None:
    message = str(error)
    assert all(part in message for part in parts), message
    assert message.endswith(".") and "\n" not in message and message.count(". ") == 0, message
    assert not any(secret in message for secret in SECRETS), message


@pytest.mark.parametrize("use", ["documents", "uploads"])
def test_an_unusable_store_is_explained(
    moto: Moto, url: str, use: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("veracity.knowledge.object_store.MAX_RETRIES", 1)

    def open_store(url: str, endpoint: str) -> VeracityError:
        location = S3Location(url, endpoint)
        with pytest.raises(VeracityError) as failed:
            Store(location, 16, RECIPE).documents() if use == "documents" else location.put("a", b"1")
        return failed.value

    assert_one_sentence(open_store("s3://missing/x", moto.url), 'there is no bucket "missing": create it')
    assert_one_sentence(open_store(url, "http://127.0.0.1:1"), "http://127.0.0.1:1 does not answer: check store.s3_en")
    with moto.checking_keys():
        assert_one_sentence(open_store(url, moto.url), "the server refused the keys: check AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert_one_sentence(open_store(url, moto.url), "needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")


@pytest.fixture
def engine(
    moto: Moto, url: str, workers: SandboxPool, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Veracity]:
    """An engine whose workspace holds nothing but settings: its ledger and its locks are in Postgres."""
    ledger = schema_url(shared_url(tmp_path_factory), tmp_path)
    store = {"ledger": ledger, "knowledge": url, "uploads": f"{url}-uploads", "s3_endpoint": moto.url}
    reading = {"max_megabytes": 1, "workers": 1}
    settings = Settings.model_validate({"models": {"embedder": "none"}, "reading": reading, "store": store})
    (tmp_path / "work").mkdir()
    with Veracity(tmp_path / "work", settings=settings) as engine:
        ingestion = engine._parts.library._ingestion
        own, ingestion._workers = ingestion._workers, workers
        yield engine
        ingestion._workers = own  # closed with the engine


def upload(engine: Veracity, name: str, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    [outcome] = engine.upload(name, io.BytesIO(data)).outcomes
    return outcome.status


def test_uploads_are_stored_replaced_and_forgotten(engine: Veracity, moto: Moto, url: str, tmp_path: Path) -> None:
    uploads = f"{url}-uploads"
    for name, text in (("leave #1 (50%).md", ENGLISH), ("资料/差旅.md", CHINESE), ("休暇.md", JAPANESE)):
        assert upload(engine, name, text) == "added"
    assert objects(uploads, moto).keys() == {"leave #1 (50%).md", "资料 - 差旅.md", "休暇.md"}
    assert sorted(known.location for known in engine.documents()) == [
        "uploads/leave #1 (50%).md",
        "uploads/休暇.md",
        "uploads/资料 - 差旅.md",
    ]
    assert [found.location for found in engine.search("有給休暇", 1)] == ["uploads/休暇.md"]
    document_id = engine.search("有給休暇", 1)[0].document_id
    assert engine.reader.has_original(document_id)
    with engine.original(document_id) as original:
        assert (original.name, original.file.read()) == ("休暇.md", JAPANESE.encode())
    assert upload(engine, "休暇.md", bytes(range(256)) * 20) in ("skipped", "failed")
    assert objects(uploads, moto)["休暇.md"] == JAPANESE.encode()  # the previous file is kept
    assert upload(engine, "休暇.md", JAPANESE) == "unchanged"
    assert upload(engine, "休暇.md", "東京の社員は年に三十日の有給休暇をもらえます。") == "updated"
    assert engine.ingest(tmp_path / "work", prune=True).count("removed") == 0  # uploads are not files of this machine
    answer = engine.ask("東京の社員は何日の有給休暇をもらえますか。")
    assert "三十日" in engine.receipt(answer.run_id).model_dump_json()
    with PostgresLock(engine.settings.store.ledger)("knowledge", 0), pytest.raises(BusyError):  # on another machine
        engine.forget("uploads/休暇.md")
    engine.forget("uploads/休暇.md")
    assert "三十日" not in engine.receipt(answer.run_id).model_dump_json()
    assert (engine.search("東京"), len(engine.documents())) == ([], 2)
    assert objects(uploads, moto).keys() == {"leave #1 (50%).md", "资料 - 差旅.md"}
    assert [path for path in (tmp_path / "work" / "uploads").rglob("*") if path.is_file()] == []
    assert not (tmp_path / "work" / "knowledge").exists()


def test_queued_uploads_are_objects_until_they_are_committed(
    engine: Veracity, moto: Moto, url: str, tmp_path: Path
) -> None:
    """So that workers on other machines see them."""
    queue, uploads = engine.ingestion_queue, f"{url}-uploads"
    for name, text in (("leave #1.md", ENGLISH), ("休暇.md", JAPANESE)):
        [slice_id] = queue.add(name, "ann", [(name, io.BytesIO(text.encode()))])
        assert objects(uploads, moto)[f".queued/upload/{slice_id}/{name}"] == text.encode()
        queue.prepare(str(slice_id))
    assert engine.uploads.unfinished() == []
    queue.commit()
    assert objects(uploads, moto).keys() == {"leave #1.md", "休暇.md"}
    assert [found.location for found in engine.search("有給休暇", 1)] == ["uploads/休暇.md"]
    queue.add("again", "ann", [("休暇.md", io.BytesIO(CHINESE.encode()))])
    engine.forget("uploads/休暇.md")
    queue.clean_up()
    assert objects(uploads, moto).keys() == {"leave #1.md"}
    assert [path for path in (tmp_path / "work" / "uploads").rglob("*") if path.is_file()] == []


def test_an_interrupted_upload_is_finished(engine: Veracity, moto: Moto, url: str) -> None:
    """The process died after it stored a new file, and another before it did."""
    location = S3Location(f"{url}-uploads", moto.url)
    location.put(".aside/before-新.txt", b"")
    location.put("新.txt", "大阪の社員です。".encode())
    location.put(".aside/before-none.txt", b"")
    assert engine.uploads.unfinished() == ["新.txt"]
    outcome = engine.uploads.finish("新.txt")
    assert outcome and (outcome.name, outcome.status) == ("新.txt", "added")
    assert (engine.uploads.unfinished(), list(objects(f"{url}-uploads", moto))) == ([], ["新.txt"])
    assert len(engine.search("大阪")) == 1


@pytest.fixture(scope="module")
def processes() -> Iterator[ForkServer]:
    with ForkServer(*object_store.MODULES) as server:
        yield server


def test_killed_writers_lose_nothing_and_store_nothing_twice(moto: Moto, processes: ForkServer, tmp_path: Path) -> None:
    """More of it: `make campaign-object-store`."""
    result = object_store.Campaign(processes, moto.url, tmp_path, seed=638).run(kills=2)
    assert result.violations == []
    assert (sum(result.kills.values()), result.reported >= 24) == (2, True)


def test_a_late_commit_of_a_killed_writer_is_refused(
    moto: Moto, processes: ForkServer, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It arrives when the next writer has just looked for the documents, and has not found that one."""
    locks = tmp_path / "locks"
    locks.mkdir()
    library = object_store_worker.make_library(url, moto.url, locks)
    library.add([Document(id="first", text="zebra")], no_progress)
    options = {"url": url, "locks": str(locks), "log": str(tmp_path / "log"), "writer": 1, "documents": ["a"]}
    with Proxy(moto.url) as proxy:
        started = threading.Event()

        def kill() -> None:
            started.wait(60)
            writer.kill()

        strike = Strike(2, "late", kill, "_versions/")  # the first commit is empty
        proxy.arm(strike)
        writer = processes.start(object_store_worker.write, {**options, "endpoint": proxy.url})
        started.set()
        assert writer.wait() == -signal.SIGKILL
        look = library.store.fingerprints

        def look_then_deliver() -> list[Fingerprint]:
            found = look()
            strike.release.set()
            assert strike.delivered.wait(60)
            return found

        monkeypatch.setattr(library.store, "fingerprints", look_then_deliver)
        library.add([Document(id="a", text=object_store_worker.text_of("a", 0), markdown=True)], no_progress)
    assert_consistent(library.store)
    assert [(document.id, document.passages > 0) for document in library.store.documents()] == [
        ("a", True),
        ("first", True),
    ]
