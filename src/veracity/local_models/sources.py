"""Where models are pulled from: a hub or a mirror of it over HTTP, or a folder. A source lists and delivers files.

Only `veracity models pull` uses this; nothing else in Veracity downloads a model.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from veracity.errors import ConfigurationError, PullError, reason_of
from veracity.local_models.models_folder import MAX_NAME
from veracity.secrets import presentable, without_secrets

if TYPE_CHECKING:
    import httpx

DEFAULT_HUB = "https://huggingface.co"
HUB_VARIABLE = "HF_ENDPOINT"  # the variable that Hugging Face's own tools read for a mirror
CONNECT_SECONDS = 20.0
READ_SECONDS = 60.0
HEADERS = {"Accept-Encoding": "identity"}  # sizes and ranges are those of the files themselves

Progress = Callable[[int], None]  # called with the number of bytes that have arrived


@dataclass(frozen=True)
class RemoteFile:
    """`sha256` and `blob` (Git's hash of a small file) are empty if the source does not tell them."""

    name: str
    size: int
    sha256: str = ""
    blob: str = ""

    def require_match(self, path: Path) -> None:
        """Raise `PullError` if what arrived is not what the source listed."""
        size = path.stat().st_size
        if size != self.size or (self.blob and not self.sha256 and _git_blob(path) != self.blob):
            path.unlink()
            raise PullError(f"{self.name} did not arrive as its source lists it: pull the model again.")


@dataclass(frozen=True)
class Listing:
    """The files of a model at a revision. `revision` and `licence` are empty if the source does not tell them."""

    revision: str
    licence: str
    files: tuple[RemoteFile, ...]


class Source(Protocol):
    origin: str

    def list_files(self, name: str, revision: str) -> Listing: ...

    def fetch(self, name: str, revision: str, file: RemoteFile, target: Path, progress: Progress) -> None:
        """Write the file to `target`, continuing what is there already."""
        ...


def make_source(place: str | None) -> Source:
    """`place` is a folder or the address of a mirror; None for the hub that HF_ENDPOINT names, or the default one."""
    address = place or os.environ.get(HUB_VARIABLE, "").strip() or DEFAULT_HUB
    if address.startswith(("http://", "https://")):
        return Hub(address)
    folder = Path(address).expanduser()
    if not folder.is_dir():
        raise PullError(
            f'There is no folder "{presentable(address, MAX_NAME)}": name a folder that holds the files of the model, '
            "or a mirror such as https://mirror.example.com."
        )
    return FolderSource(folder)


class FolderSource:
    """A folder with the files of one model, or one that has them in a folder of the model's name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.origin = str(folder.absolute())

    def list_files(self, name: str, revision: str) -> Listing:
        root = self._root(name)
        found = sorted(path for path in root.rglob("*") if path.is_file())
        files = (RemoteFile(path.relative_to(root).as_posix(), path.stat().st_size) for path in found)
        return Listing("", "", tuple(files))

    def fetch(self, name: str, revision: str, file: RemoteFile, target: Path, progress: Progress) -> None:
        try:
            shutil.copyfile(self._root(name) / file.name, target)
        except OSError as problem:
            raise PullError(f"{file.name} cannot be copied ({reason_of(problem)}).") from None
        progress(file.size)

    def _root(self, name: str) -> Path:
        return next((place for place in (self._folder / name, self._folder) if place.is_dir()), self._folder)


class Hub:
    """Hugging Face's hub, or a mirror with the same paths. Sends no token, and follows redirects to storage."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if not parts.hostname or "@" in parts.netloc:
            raise ConfigurationError(
                "The address of the mirror must be like https://mirror.example.com, without a user name or password."
            )
        self.origin = address.rstrip("/")

    def list_files(self, name: str, revision: str) -> Listing:
        import httpx  # noqa: PLC0415 - slow to load

        url = f"{self.origin}/api/models/{name}/revision/{quote(revision, safe='')}"
        with self._explain_errors(name), httpx.Client(**_options()) as client:
            response = client.get(url, params={"blobs": "true"})
            _require_success(response, name, self.origin)
            document = response.json()
        try:
            return _read_listing(document)
        except (KeyError, TypeError, ValueError):
            pass
        raise PullError(f'"{self.origin}" did not list the files of "{name}": check the address of the mirror.')

    def fetch(self, name: str, revision: str, file: RemoteFile, target: Path, progress: Progress) -> None:
        import httpx  # noqa: PLC0415 - slow to load

        have = target.stat().st_size if target.exists() else 0
        if have >= file.size > 0:
            progress(file.size)
            return
        url = f"{self.origin}/{name}/resolve/{quote(revision, safe='')}/{quote(file.name)}"
        headers = {"Range": f"bytes={have}-"} if have else {}
        with (
            self._explain_errors(name),
            httpx.Client(**_options()) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            _require_success(response, name, self.origin)
            resumes = response.status_code == 206
            with target.open("ab" if resumes else "wb") as output:
                self._copy(response, output, file, have if resumes else 0, progress)

    def _copy(self, response: httpx.Response, output: Any, file: RemoteFile, have: int, progress: Progress) -> None:
        for chunk in response.iter_raw():
            have += len(chunk)
            if have > file.size:
                raise PullError(
                    f'{file.name} is larger than "{self.origin}" lists it: check the address of the mirror.'
                )
            output.write(chunk)
            progress(have)

    @contextlib.contextmanager
    def _explain_errors(self, name: str) -> Iterator[None]:
        import httpx  # noqa: PLC0415 - slow to load

        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as problem:
            reason = without_secrets(" ".join(str(problem).split()))[:MAX_NAME] or type(problem).__name__
        except OSError as problem:
            raise PullError(f"The files of the model cannot be written ({reason_of(problem)}).") from None
        else:
            return
        raise PullError(
            f'"{self.origin}" cannot be reached ({reason}): pull "{name}" again later, which goes on where it stopped, '
            "or use --from with a folder or a mirror."
        )


def _options() -> dict[str, Any]:
    import httpx  # noqa: PLC0415 - slow to load

    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    return {"timeout": timeout, "follow_redirects": True, "headers": HEADERS}


def _require_success(response: httpx.Response, name: str, origin: str) -> None:
    if response.is_success:
        return
    if response.status_code in (401, 403, 404):  # the hub answers 401 for a name that does not exist
        shown = presentable(name, MAX_NAME)
        raise PullError(
            f'"{origin}" has no model "{shown}" that anyone may fetch (HTTP {response.status_code}): '
            "check the name and the revision, or download the model yourself and use --from FOLDER."
        )
    raise PullError(f'"{origin}" answered HTTP {response.status_code}: pull the model again later.')


def _read_listing(document: Any) -> Listing:
    licence = (document.get("cardData") or {}).get("license") or ""
    tags = [tag.removeprefix("license:") for tag in document.get("tags") or () if tag.startswith("license:")]
    files = tuple(_read_file(entry) for entry in document["siblings"])
    return Listing(str(document["sha"]), licence if isinstance(licence, str) and licence else "".join(tags[:1]), files)


def _read_file(entry: dict[str, Any]) -> RemoteFile:
    name, large = str(entry["rfilename"]), entry.get("lfs") or {}
    if name.startswith(("/", "\\")) or ".." in Path(name).parts or ":" in name or "\\" in name:
        raise ValueError(name)
    return RemoteFile(
        name,
        int(large.get("size", entry["size"])),
        str(large.get("sha256", "")),
        "" if large else entry.get("blobId", ""),
    )


def _git_blob(path: Path) -> str:
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
