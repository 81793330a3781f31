"""The documents over HTTP: list, read, remove. Knows nothing about how they are read or stored."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from veracity.errors import BusyError, InputError
from veracity.models import KnownDocument
from veracity.server import uploading
from veracity.server.access import AdminCaller, Caller, Engine, Live
from veracity.server.changes import PATIENCE, changes_of
from veracity.server.places import shown
from veracity.server.problems import refusals

LONGEST_TEXT = 100_000  # characters at a time

router = APIRouter(prefix="/api", tags=["documents"])
router.include_router(uploading.router)

DocumentId = Annotated[str, Query(alias="id", max_length=1000, description="as the list of documents tells it")]
Place = Annotated[int, Query(ge=0, le=10**12)]


class DocumentText(BaseModel):
    """`text` is `start` to `end` of all the `characters`, counted in Unicode code points. `page_starts` are the places
    where the pages of the whole begin; none where the source has no pages."""

    id: str
    title: str
    text: str
    start: int
    end: int
    characters: int
    page_starts: list[int] = []


@router.get("/documents", responses=refusals())
def list_documents(
    caller: Caller,
    engine: Engine,
    limit: Annotated[int | None, Query(ge=1, le=10_000)] = None,
    after: Annotated[str, Query(max_length=1000)] = "",
) -> list[KnownDocument]:
    """In the order of their places; all of them without a `limit`. `after` is the id of the last one that is known."""
    known = engine.documents()
    first = next((place for place, one in enumerate(known, 1) if one.id == after), len(known)) if after else 0
    return shown(known[first:][:limit], caller)


@router.get("/document", responses=refusals(404))
def read_document(caller: Caller, engine: Engine, document_id: DocumentId) -> KnownDocument:
    return shown(engine.document(document_id), caller)


@router.get("/document/text", responses=refusals(400, 404))
def read_text(
    caller: Caller, engine: Engine, document_id: DocumentId, start: Place = 0, end: Place | None = None
) -> DocumentText:
    """At most 100,000 characters; `end` of the answer tells where the next ones start."""
    if end is not None and end < start:
        raise InputError(f"The text cannot end at {end}, before it starts at {start}.")
    document, text = engine.document(document_id), engine.text(document_id)
    first = min(start, len(text))
    last = min(start + LONGEST_TEXT if end is None else end, first + LONGEST_TEXT, len(text))
    return DocumentText(
        id=document.id,
        title=document.title,
        text=text[first:last],
        start=first,
        end=last,
        characters=len(text),
        page_starts=engine.page_starts(document_id),
    )


@router.delete("/document", responses=refusals(404, 409))
async def remove_document(
    request: Request, caller: AdminCaller, engine: Engine, live: Live, document_id: DocumentId
) -> list[KnownDocument]:
    """Its text goes from receipts and observations too, and the file, where it was uploaded. Who goes away before its
    turn has come has not removed it."""

    def work() -> list[KnownDocument]:
        engine.document(document_id)  # by its id alone: a path of the server is no name here
        removed = engine.forget(document_id)
        live.forget()
        return removed

    changes = changes_of(request)
    with changes.place("remove") as place:
        return await _unless_left(request, changes.turn(work, place, patience=PATIENCE))


async def _unless_left(request: Request, coming: Coroutine[Any, Any, list[KnownDocument]]) -> list[KnownDocument]:
    work, gone = asyncio.ensure_future(coming), asyncio.ensure_future(_gone(request))
    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        gone.cancel()
        return work.result()
    work.cancel()
    gone.result()  # raises where the request is too large
    raise BusyError("Nobody waits for this any longer.")


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
