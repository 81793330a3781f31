"""Serve the page's files, which are part of the package and need no token.

Files are read once. Their URL contains a hash of all files, so browsers cache them forever. The index page preloads all
modules of the first view, so that they load in parallel instead of import by import.
"""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from functools import cache, cached_property
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
NOT_SERVED = ".d.ts"  # types, which only the type checker reads
PRELOADED = ("app.js", "ask/ask.js")  # the shell and the view that most users see first
IMMUTABLE = "public, max-age=31536000, immutable"

_IMPORT = re.compile(r"""^(?:import|(?:import|export)\b[^"';]*\bfrom)\s*["'](\.[^"']+)["']""", re.MULTILINE)

router = APIRouter(include_in_schema=False)


class File:
    def __init__(self, path: Path) -> None:
        self.content = path.read_bytes()
        self.media_type = MEDIA_TYPES.get(path.suffix, "text/plain")

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, mtime=0)


class Files:
    """The files of a folder by relative path. `version` changes with any of them."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(NOT_SERVED))
        self.by_name = {path.relative_to(folder).as_posix(): File(path) for path in paths}
        digest = hashlib.sha256()
        for name, file in self.by_name.items():
            digest.update(f"{name}\0{len(file.content)}\0".encode() + file.content)
        self.version = digest.hexdigest()[:16]

    def index(self) -> str:
        modules = dict.fromkeys(module for name in PRELOADED for module in self._with_imports(name))
        links = "".join(f'<link rel="modulepreload" href="static/{name}">\n' for name in modules)
        page = self.by_name["index.html"].content.decode().replace("<script type=", f"{links}<script type=", 1)
        return page.replace('="static/', f'="static/{self.version}/')

    def _with_imports(self, name: str) -> list[str]:
        """A module and all modules it imports, directly or indirectly."""
        modules = [name]
        for module in modules:
            imports = _IMPORT.findall(self.by_name[module].content.decode())
            names = (posixpath.normpath(posixpath.join(posixpath.dirname(module), path)) for path in imports)
            modules += [name for name in dict.fromkeys(names) if name in self.by_name and name not in modules]
        return modules


@cache
def files() -> Files:
    return Files(STATIC)


@cache
def _index() -> str:
    return files().index()


@router.head("/")
@router.get("/")
async def index() -> Response:
    return Response(_index(), media_type="text/html")


@router.head("/static/{version}/{name:path}")
@router.get("/static/{version}/{name:path}")
async def static_file(request: Request, version: str, name: str) -> Response:
    """Serve the current file. A page of another version may request it too, but must not cache it."""
    file = files().by_name.get(name)
    if file is None:
        raise HTTPException(404, "There is no such file.")
    headers = {"Cache-Control": IMMUTABLE if version == files().version else "no-cache", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.content, media_type=file.media_type, headers=headers)
    return Response(file.compressed, media_type=file.media_type, headers=headers | {"Content-Encoding": "gzip"})
