"""The original files of documents, and pages of PDF files as pictures.

A file may hold anything, so a browser must not run it on this origin: only formats without scripts are shown, all
others are downloaded, and the content policy of each response forbids scripts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import PurePath
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from veracity.engine import Veracity
from veracity.models import DocumentPage
from veracity.server.auth import Caller, Engine, from_state
from veracity.server.errors import error_responses
from veracity.server.limits import ConcurrencyLimit
from veracity.server.routes.documents import DocumentId, Offset

READ_BYTES = 1_000_000
BINARY = "application/octet-stream"
# What browsers show without running anything, by the end of the file's name.
SHOWN = {
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    **dict.fromkeys((".txt", ".md", ".markdown", ".csv", ".log"), "text/plain"),
}
SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'none'; sandbox"
# Chromium shows no PDF in a sandbox. The viewer is a plug-in of another origin.
PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
REVALIDATED = "private, no-cache"  # kept by the browser, but shown only after the server has allowed it again

router = APIRouter(prefix="/api/document", tags=["documents"])

Pages = Annotated[ConcurrencyLimit, from_state("pages")]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000, description="counted from 1")]
FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {BINARY: {}, **{kind: {} for kind in SHOWN.values()}}},
    304: {"description": "The client has the current file: see If-None-Match."},
}
PICTURE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The page.", "content": {"image/png": {}}},
    304: {"description": "The client has the current picture: see If-None-Match."},
}


@router.get("/original", response_class=Response, responses={**error_responses(404), **FILE})
async def read_original(
    request: Request,
    caller: Caller,
    engine: Engine,
    document_id: DocumentId,
    show: Annotated[bool, Query(description="show PDF, text and pictures in the browser, not download them")] = False,
) -> Response:
    """The file of a document, as it was ingested. 404 if the document was added as text, or if its file was moved,
    changed or deleted since."""
    return await run_sync(_open, request, engine, document_id, show)


@router.get("/page", responses=error_responses(404))
async def locate_on_page(
    pages: Pages,
    caller: Caller,
    engine: Engine,
    document_id: DocumentId,
    start: Offset = 0,
    end: Offset = 0,
    page: Annotated[PageNumber | None, Query(description="the page on which `start` is, if omitted")] = None,
) -> DocumentPage:
    """Where characters `start` to `end` of a PDF document are on its page."""
    return await pages(caller.name, lambda: engine.reader.locate_on_page(document_id, start, end, page))


@router.get("/page/image", response_class=Response, responses={**error_responses(404), **PICTURE})
async def read_page_image(
    request: Request, pages: Pages, caller: Caller, engine: Engine, document_id: DocumentId, page: PageNumber
) -> Response:
    """A page of a PDF document as a picture."""
    tag = f'"{await run_sync(engine.reader.digest, document_id)}-{page}"'
    headers = {"ETag": tag, "Cache-Control": REVALIDATED, "Content-Security-Policy": SANDBOX}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    content = await pages(caller.name, lambda: engine.reader.page_image(document_id, page))
    return Response(content, media_type="image/png", headers=headers)


def _open(request: Request, engine: Veracity, document_id: str, show: bool) -> Response:
    """The response closes the file when it ends."""
    with ExitStack() as stack:
        original = stack.enter_context(engine.original(document_id))
        kind = SHOWN.get(PurePath(original.name).suffix.lower()) if show else None
        disposition = "inline" if kind else "attachment"
        headers = {
            "ETag": f'"{original.digest}"',
            "Cache-Control": REVALIDATED,
            "Content-Security-Policy": PDF_POLICY if kind == "application/pdf" else SANDBOX,
            "Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(original.name, safe='')}",
        }
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        headers |= {"Content-Length": str(original.size), "Content-Type": kind or BINARY}
        if kind == "text/plain" and _is_utf8(original.file.read()):
            headers["Content-Type"] = "text/plain; charset=utf-8"
        original.file.seek(0)
        return StreamingResponse(_pieces(original.file, stack.pop_all()), headers=headers)
    raise AssertionError("unreachable")


def _pieces(file: BinaryIO, resources: ExitStack) -> Iterator[bytes]:
    with resources:
        while content := file.read(READ_BYTES):
            yield content


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
