"""The documents over HTTP: list, read, remove. Knows nothing about how they are read or stored."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import ExitStack, aclosing
from functools import partial
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from veracity.engine import Veracity
from veracity.errors import BusyError, InputError, VeracityError
from veracity.knowledge.file_names import kept_name
from veracity.models import IngestReport, KnownDocument, Outcome, User
from veracity.printable import visible
from veracity.server.auth import AdminCaller, Caller, Engine, Live
from veracity.server.errors import refusals
from veracity.server.live.document_jobs import (
    PATIENCE,
    Change,
    Changes,
    Standing,
    Telling,
    begin,
    changes_of,
    is_stopping,
)
from veracity.server.live.document_jobs import Place as PlaceUploading
from veracity.server.live.events import LiveEvent
from veracity.server.permissions import shown
from veracity.server.sse import follow_response, wants_events

MOST_FILES = 1000  # in one upload
FIELD = "files"
BROKE_OFF = "The upload broke off: send it again."
EXTENDED_NAME = re.compile(r"(?i);\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)")


class _Form(MultiPartParser):
    """Starlette's takes a form that broke off for a whole one, without its last file."""

    def __init__(self, headers: Headers, stream: AsyncGenerator[bytes, None]) -> None:
        super().__init__(headers, self._until_its_end(stream), max_files=MOST_FILES, max_fields=MOST_FILES)
        self._is_whole = False

    def on_end(self) -> None:
        self._is_whole = True

    async def _until_its_end(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async for some in stream:
            yield some
        if not self._is_whole:
            raise InputError(BROKE_OFF)


async def files_of(request: Request) -> list[UploadFile]:
    """Read here and not by the framework, which would take in a whole upload before it asks whose it is."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise InputError(f'Files are uploaded as multipart/form-data, in the field "{FIELD}".')
    try:
        async with aclosing(request.stream()) as stream:
            form = await _Form(request.headers, stream).parse()
    except ClientDisconnect:
        raise InputError(BROKE_OFF) from None
    except MultiPartException as problem:
        raise InputError(f"The form cannot be read: {problem.message}") from None
    except ValueError:
        raise InputError("The form cannot be read: write it in UTF-8.") from None
    files = [value for name, value in form.multi_items() if isinstance(value, UploadFile) and name == FIELD]
    if not files:
        await form.close()
        raise InputError(f'The upload holds no file: send at least one in the field "{FIELD}".')
    return files


def name_of(file: UploadFile) -> str:
    """.NET sends names twice, once in a form that mail knows and we do not, and once percent-encoded."""
    extended = EXTENDED_NAME.search(file.headers.get("content-disposition", ""))
    return unquote(extended[1], errors="replace") if extended else file.filename or ""


log = logging.getLogger("veracity.server")

SAME_NAME = "another file of this upload is kept under the same name: rename one of them"

router_uploading = APIRouter()


class Uploaded(BaseModel):
    """For the description alone: the form is read once it is known who sends it."""

    files: list[Annotated[str, Field(json_schema_extra={"format": "binary"})]]


FORM: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": Uploaded.model_json_schema()}}}
}
WATCHED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What became of each document. With `Accept: text/event-stream` as it happens: events `waiting` "
        "(changes that come before are `ahead`; 0: it is its turn), `outcome` (with `done` and `to_come`), `cancelled` "
        "(`by` whom; what follows are the files that were not read), and as the last one `report`, or `failed` with "
        "the `problem`.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router_uploading.post(
    "/documents",
    response_model=IngestReport,
    responses={**refusals(400, 403, 409, 413, 500, 503), **WATCHED},
    openapi_extra=FORM,
)
async def upload_documents(request: Request, caller: AdminCaller, engine: Engine) -> Response:
    """A file with the name of one that was uploaded before takes its place. A relative path is a name, too."""
    changes = changes_of(request)
    with ExitStack() as held:
        place = held.enter_context(changes.place("upload"))  # first: what is refused is not read
        files = await changes.unless_stopping(files_of(request))
        held.callback(_close, files)
        return await _answered(request, caller, partial(_bring_in, engine, files, changes, place), held)


@router_uploading.get("/documents/changes", responses=refusals())
async def read_changes(request: Request, caller: Caller) -> Standing:
    """What is under way now. Events `documents` of the feed tell when to look again."""
    return changes_of(request).standing()


@router_uploading.delete("/documents/changes", responses=refusals(403, 404))
async def cancel_change(
    request: Request, caller: AdminCaller, number: Annotated[int | None, Query(description="of the change")] = None
) -> Standing:
    """The upload or reindexing that is under way, or the one with this `number`, ends after the document it is at. What
    was brought in until then stays; an index that is being made anew stays as it was."""
    return changes_of(request).cancel(caller.name, number)


@router_uploading.post(
    "/documents/reindex", response_model=IngestReport, responses={**refusals(403, 409, 500, 503), **WATCHED}
)
async def reindex_documents(request: Request, caller: AdminCaller, engine: Engine) -> Response:
    """Cut and embed all documents anew, as the settings are now. Until all is done the old index stays in use."""
    changes = changes_of(request)

    async def reindex(telling: Telling) -> IngestReport:
        def progress(outcome: Outcome, to_come: int | None) -> None:
            place.require_wanted()
            telling.outcome(outcome, to_come)

        work = partial(engine.reindex, progress=progress)
        return await changes.turn(work, place, waiting=telling.waiting, patience=PATIENCE)

    with ExitStack() as held:
        place = held.enter_context(changes.place("reindex"))
        return await _answered(request, caller, reindex, held)


async def finish_uploads(engine: Veracity, changes: Changes) -> None:
    """Those that a process left which died in the midst of them."""
    try:
        names = await changes.turn(engine.unfinished_uploads, PlaceUploading(""))
        if names:
            with changes.place("upload") as place:
                for name in names:
                    place.require_wanted()
                    outcome = await changes.turn(partial(engine.finish_upload, name), place, name)
                    log.info("An upload that was interrupted: %s", outcome)
    except VeracityError as problem:
        if not is_stopping(problem):
            log.warning("Uploads that were interrupted could not be finished: %s", problem)
    except Exception:
        log.exception("Finishing uploads failed")


async def _answered(request: Request, caller: User, change: Change, held: ExitStack) -> Response:
    """What is `held` goes over to the change, which may outlast the request."""
    if not wants_events(request.headers.get("accept", "")):
        _, task = begin(change, held.pop_all())
        report = await asyncio.shield(task)
        return JSONResponse(report.model_dump(mode="json"))

    def begun() -> AsyncIterator[LiveEvent]:
        return begin(change, held.pop_all())[0].events()

    return follow_response(request, caller, begun)


async def _bring_in(
    engine: Veracity, files: list[UploadFile], changes: Changes, place: PlaceUploading, telling: Telling
) -> IngestReport:
    """Each file has a turn of its own, so that others come in between. What is refused before anything was brought in
    is refused as a whole."""
    started = time.monotonic()
    outcomes: list[Outcome] = []
    kept: set[str] = set()
    problem: VeracityError | None = None
    for file in files:
        name = name_of(file)
        try:
            if kept_name(name) in kept:
                outcome = _failed(name, SAME_NAME)
            elif problem:
                outcome = _failed(name, str(problem))
            else:
                place.require_wanted()
                work = partial(engine.upload, name, file.file)
                report = await changes.turn(work, place, _shown(name), waiting=telling.waiting)
                [outcome] = report.outcomes
        except VeracityError as met:
            if not outcomes or is_stopping(met):
                raise
            problem, outcome = met, _failed(name, str(met))
            if place.cancelled_by:
                telling.cancelled(place.cancelled_by)
        kept.add(kept_name(name))
        outcomes.append(outcome)
        telling.outcome(outcome, len(files) - len(outcomes))
    return IngestReport(outcomes=outcomes, seconds=time.monotonic() - started)


def _close(files: list[UploadFile]) -> None:
    for file in files:
        file.file.close()


def _failed(name: str, reason: str) -> Outcome:
    return Outcome(name=_shown(name), status="failed", reason=reason)


def _shown(name: str) -> str:
    return visible(name)[:200]


LONGEST_TEXT = 100_000  # characters at a time

router = APIRouter(prefix="/api", tags=["documents"])
router.include_router(router_uploading)

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
