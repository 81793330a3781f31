"""The page: files that come with the package. They hold nothing of the workspace, so they need no token.

They are read once. Their address tells what is in them, so a browser keeps them until another version is served; and
the first answer names all that the first view is made of, so that it comes at once and not file by file.
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
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FIRST = ("app.js", "ask.js")  # the shell, and the view that most see first
KEPT = "public, max-age=31536000, immutable"

_IMPORTED = re.compile(r"""^(?:import|(?:import|export)\b[^"';]*\bfrom)\s*["'](\.[^"']+)["']""", re.MULTILINE)

router = APIRouter(include_in_schema=False)


class File:
    def __init__(self, path: Path) -> None:
        self.content = path.read_bytes()
        self.kind = KINDS.get(path.suffix, "text/plain")

    @cached_property
    def packed(self) -> bytes:
        return gzip.compress(self.content, mtime=0)


class Files:
    """Those of a folder, by their names in it. `version` changes with any of them."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        self.by_name = {path.relative_to(folder).as_posix(): File(path) for path in paths}
        known = hashlib.sha256()
        for name, file in self.by_name.items():
            known.update(f"{name}\0{len(file.content)}\0".encode() + file.content)
        self.version = known.hexdigest()[:16]

    def index(self) -> str:
        modules = dict.fromkeys(module for name in FIRST for module in self._modules(name))
        early = "".join(f'<link rel="modulepreload" href="static/{name}">\n' for name in modules)
        written = self.by_name["index.html"].content.decode().replace("<script type=", f"{early}<script type=", 1)
        return written.replace('="static/', f'="static/{self.version}/')

    def _modules(self, name: str) -> list[str]:
        """It, and all that it is made of, each once."""
        found = [name]
        for one in found:
            imported = _IMPORTED.findall(self.by_name[one].content.decode())
            names = (posixpath.normpath(posixpath.join(posixpath.dirname(one), other)) for other in imported)
            found += [other for other in dict.fromkeys(names) if other in self.by_name and other not in found]
        return found


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
    """Of another version, which an open page may have come from, the file as it is now."""
    file = files().by_name.get(name)
    if file is None:
        raise HTTPException(404, "There is no such file.")
    headers = {"Cache-Control": KEPT if version == files().version else "no-cache", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.content, media_type=file.kind, headers=headers)
    return Response(file.packed, media_type=file.kind, headers=headers | {"Content-Encoding": "gzip"})
