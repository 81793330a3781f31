"""Serve the page's files, which are part of the package and need no token.

Files are read once. Their URL contains a hash of all files, so browsers cache them forever. The index page names one
script and one style sheet, into which all modules and all style sheets are joined; the single files are served, too.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from functools import cache, cached_property
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

from veracity.server.bundle import bundle

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
NOT_SERVED = ".d.ts"  # types, which only the type checker reads
MAIN = "app.js"
SCRIPT, STYLE = "page.js", "page.css"  # joined from the others
IMMUTABLE = "public, max-age=31536000, immutable"

_STYLE_SHEET = re.compile(r"""<link rel="stylesheet" href="static/([^"]+)">\n""")

router = APIRouter(include_in_schema=False)


class File:
    def __init__(self, name: str, content: bytes) -> None:
        self.content = content
        self.media_type = MEDIA_TYPES.get(Path(name).suffix, "text/plain")

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, mtime=0)


class Files:
    """The files of a folder by relative path. `version` changes with any of them."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(NOT_SERVED))
        names = [path.relative_to(folder).as_posix() for path in paths]
        self.by_name = {name: File(name, path.read_bytes()) for name, path in zip(names, paths, strict=True)}
        page = self._join() if "index.html" in self.by_name else ""
        digest = hashlib.sha256()
        for name, file in self.by_name.items():
            digest.update(f"{name}\0{len(file.content)}\0".encode() + file.content)
        self.version = digest.hexdigest()[:16]
        self.page = page.replace('="static/', f'="static/{self.version}/')

    def _join(self) -> str:
        """Add the joined files to `by_name`, and return the index page that names them."""
        page = self._text("index.html")
        self._add(STYLE, "".join(self._text(name) for name in _STYLE_SHEET.findall(page)))
        self._add(SCRIPT, bundle(MAIN, self._text))
        return _STYLE_SHEET.sub("", page).replace(
            f'<script type="module" src="static/{MAIN}">',
            f'<link rel="stylesheet" href="static/{STYLE}">\n<script type="module" src="static/{SCRIPT}">',
        )

    def _text(self, name: str) -> str:
        return self.by_name[name].content.decode()

    def _add(self, name: str, text: str) -> None:
        self.by_name[name] = File(name, text.encode())


@cache
def files() -> Files:
    return Files(STATIC)


@router.head("/")
@router.get("/")
async def index() -> Response:
    return Response(files().page, media_type="text/html")


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
