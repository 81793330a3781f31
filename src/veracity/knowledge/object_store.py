"""A prefix in an object store that speaks S3, for documents and uploads that several machines share.

The keys come from the environment (AWS_ACCESS_KEY_ID and its like) and never pass through this module: obstore and
LanceDB read them themselves. LanceDB's commits rely on conditional puts (`If-None-Match: *`). A server that ignores the
condition loses documents silently, so `open` tests it.
"""

import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

from veracity.errors import ConfigurationError, KnowledgeError
from veracity.knowledge.location import StoredFile
from veracity.secrets import without_secrets

if TYPE_CHECKING:
    from obstore.store import S3Store

DEFAULT_REGION = "us-east-1"
CONCURRENT_TESTS = 8
TEST_OBJECT = ".veracity-test"
CONNECT_SECONDS, REQUEST_SECONDS = 5, 60
MAX_RETRIES, RETRY_SECONDS = 4, 20
READ_BYTES = 1_000_000
MAX_REASON_LENGTH = 200

# What the server or the client library says, and the sentence's end. The first match counts.
_REASONS = [
    (r"NoSuchBucket|bucket .{0,80}not (?:exist|found)", 'there is no bucket "{bucket}": create it, or correct [store]'),
    (
        r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|Moved Permanently",
        "the bucket is in another region: set AWS_REGION",
    ),
    (
        r"RequestTimeTooSkewed",
        "its clock differs from the clock of this machine: synchronize them",
    ),
    (
        r"InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|AccessDenied|Unauthenticated|"
        r"Unauthorized|Forbidden|PermissionDenied",
        "the server refused the keys: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions",
    ),
    (
        r"no (?:AWS )?credentials|CredentialsNotLoaded|169\.254\.|instance metadata",
        "there are no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        r"error sending request|connection (?:refused|reset|closed)|dns error|timed? ?out|unreachable|"
        r"connect error|tcp connect|Internal Server Error|Bad Gateway|Service Unavailable|SlowDown",
        "{server} does not answer: check store.s3_endpoint and the network",
    ),
]
_PATTERNS = [(re.compile(pattern, re.I | re.S), ending) for pattern, ending in _REASONS]


class S3Location:
    """`endpoint` is the URL of an S3-compatible server; empty for AWS."""

    def __init__(self, url: str, endpoint: str = "") -> None:
        parts = urlsplit(url)
        self._url = url
        self._bucket = parts.netloc
        self._prefix = parts.path.strip("/")
        self._endpoint = endpoint
        self._server = endpoint or "AWS"
        self._is_tested = False
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return self._url

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def uri(self) -> str:
        return self._url

    @property
    def storage_options(self) -> dict[str, str]:
        options = {
            "connect_timeout": f"{CONNECT_SECONDS}s",
            "timeout": f"{REQUEST_SECONDS}s",
            "client_max_retries": str(MAX_RETRIES),
            "client_retry_timeout": str(RETRY_SECONDS),
        }
        if self._endpoint:
            options |= {"aws_endpoint": self._endpoint, "aws_region": _region() or DEFAULT_REGION}
            options["allow_http"] = str(self._endpoint.startswith("http:")).lower()
        elif region := _region():
            options["aws_region"] = region
        return options

    def open(self) -> None:
        """Test, once, that the server can be used and refuses to overwrite an object that must not exist."""
        with self._lock:
            if not self._is_tested:
                self._test_conditional_put()
                self._is_tested = True

    def lacks(self, folder: str) -> bool:
        return False

    def files(self, folder: str = "") -> Iterator[StoredFile]:
        with self.explained():
            for batch in self._store.list(folder or None, chunk_size=1000):
                for item in batch:
                    yield StoredFile(item["path"], item["last_modified"].timestamp())

    def mark(self, name: str) -> None:
        if self.marked(name) is None:
            self.put(name, b"")

    def marked(self, name: str) -> float | None:
        with self.explained():
            try:
                return self._store.head(name)["last_modified"].timestamp()
            except FileNotFoundError:
                return None

    def unmark(self, name: str) -> None:
        self.delete(name)

    def content(self, name: str) -> bytes | None:
        with self.explained():
            try:
                return bytes(self._store.get(name).bytes())
            except FileNotFoundError:
                return None

    def size(self, name: str) -> int | None:
        """The size of the object in bytes, or None if there is none."""
        with self.explained():
            try:
                return self._store.head(name)["size"]
            except FileNotFoundError:
                return None

    def put(self, name: str, content: BinaryIO | bytes) -> None:
        with self.explained():
            self._store.put(name, content)

    def read(self, name: str) -> Iterator[bytes]:
        """The content of the object, in pieces."""
        with self.explained():
            yield from self._store.get(name).stream(READ_BYTES)

    def copy(self, name: str, to: str) -> None:
        with self.explained():
            self._store.copy(name, to)

    def delete(self, name: str) -> None:
        """Does nothing if there is no such object."""
        with self.explained():
            self._store.delete(name)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of the client library into KnowledgeError."""
        try:
            yield
        except (KnowledgeError, ConfigurationError):
            raise
        except Exception as problem:  # noqa: BLE001 - obstore raises its own, OSError and ValueError
            raise KnowledgeError(self.explain(problem)) from None

    def explain(self, problem: BaseException) -> str:
        text = f"{type(problem).__name__} {problem}"
        for pattern, ending in _PATTERNS:
            if pattern.search(text):
                return f'"{self._url}" cannot be used: {ending.format(bucket=self._bucket, server=self._server)}.'
        reason = " ".join(without_secrets(str(problem)).split())[:MAX_REASON_LENGTH].strip(" ,.:")
        return (
            f'"{self._url}" cannot be used ({reason or type(problem).__name__}): if it persists, restore its objects '
            "from a backup, or delete them and ingest again."
        )

    @cached_property
    def _store(self) -> "S3Store":
        try:
            from obstore.store import S3Store  # noqa: PLC0415 - an optional dependency
        except ImportError:
            raise ConfigurationError(
                f'"{self._url}" needs a package that is not installed: pip install "veracity[cluster]".'
            ) from None
        self._require_keys()
        region = _region() or DEFAULT_REGION
        return S3Store(
            self._bucket,
            prefix=self._prefix or None,
            config={"region": region, **({"endpoint": self._endpoint} if self._endpoint else {})},
            client_options={
                "allow_http": self._endpoint.startswith("http:"),
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                "timeout": timedelta(seconds=REQUEST_SECONDS),
            },
            retry_config={"max_retries": MAX_RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
        )

    def _require_keys(self) -> None:
        """AWS can give keys to its own machines; any other server needs them in the environment."""
        if self._endpoint and not (os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY")):
            raise ConfigurationError(
                f'"{self._url}" needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment.'
            )

    def _test_conditional_put(self) -> None:
        """Puts an object that must not exist several times at once: the server has to refuse all but one of them. Some
        servers check the condition and then write, so that only concurrent requests show it.

        The object stays, so that the next process needs one request.
        """
        store = self._store
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415 - an optional dependency

        def is_created(_: int) -> bool:
            try:
                store.put(TEST_OBJECT, b"", mode="create")
            except AlreadyExistsError:
                return False
            return True

        with self.explained():
            if not is_created(0):
                return
            store.delete(TEST_OBJECT)
            with ThreadPoolExecutor(CONCURRENT_TESTS) as threads:
                created = sum(threads.map(is_created, range(CONCURRENT_TESTS)))
            if created == 1:
                return
            store.delete(TEST_OBJECT)
        raise ConfigurationError(
            f'"{self._url}" cannot be used: {self._server} ignores conditional writes (If-None-Match: *), so documents '
            "would be lost without an error; use a store that supports them, such as AWS S3."
        )


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
