"""Documents: list, read, upload, remove, reindex."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from veracity.engine import Veracity
from veracity.errors import BusyError, FullDiskError, InputError, VeracityError, reason_of
from veracity.models import IngestReport, KnownDocument, Outcome, User
from veracity.server.auth import AdminCaller, Caller, Engine, Live, from_state
from veracity.server.errors import error_responses
from veracity.server.live.document_jobs import Change, DocumentJobs, Job, JobEvents, JobStatus, start_change
from veracity.server.live.events import LiveEvent
from veracity.server.live.upload_requests import ListedFiles, WorkerUpload, ingest_here, is_stopping
from veracity.server.permissions import redact_paths
from veracity.server.sse import STREAM_CONTENT, stream_events, unless_disconnected, wants_events

log = logging.getLogger("veracity.server")

FORM_FIELD = "files"
MAX_FILES = 1000  # in one upload
MAX_TEXT = 100_000  # characters in one response
MAX_WAIT_SECONDS = 5.0  # for a removal or reindexing to start
INTERRUPTED = "The upload was interrupted: send it again."

router = APIRouter(prefix="/api", tags=["documents"])

DocumentId = Annotated[str, Query(alias="id", max_length=1000, description="the document's id, from the list")]
Offset = Annotated[int, Query(ge=0, le=10**12, description="in Unicode code points")]


Jobs = Annotated[DocumentJobs, from_state("document_jobs")]


class DocumentText(BaseModel):
    """A part of a document's text. Offsets count Unicode code points."""

    id: str
    title: str
    text: str = Field(description="characters `start` to `end` of the document")
    start: int
    end: int = Field(description="where the next part starts")
    characters: int = Field(description="the length of the whole text")
    page_starts: list[int] = Field(default=[], description="offsets of all pages; empty if the source has no pages")
    markdown: bool = Field(default=False, description="headings, lists and tables have the syntax of Markdown")
    format: str = Field(default="", description="of the file, such as `pdf`")
    has_original: bool = Field(default=False, description="whether the file can be opened")


class UploadForm(BaseModel):
    """Only for the OpenAPI schema: the form is parsed after authentication."""

    files: list[Annotated[str, Field(json_schema_extra={"format": "binary"})]]


UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": UploadForm.model_json_schema()}}}
}
PROGRESS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The outcome of each document. With `Accept: text/event-stream`, events: `waiting` (`ahead`: "
        "number of changes ahead, 0 when it starts), `outcome` (with `done` and `to_come`), `cancelled` (`by` whom; "
        "the remaining files follow as failed), and finally `report`, or `failed` with the `problem`.",
        "content": STREAM_CONTENT,
    }
}


@router.get("/documents", responses=error_responses())
def list_documents(
    caller: Caller,
    engine: Engine,
    limit: Annotated[int | None, Query(ge=1, le=10_000, description="all documents if omitted")] = None,
    after: Annotated[str, Query(max_length=1000, description="the id of the last known document")] = "",
) -> list[KnownDocument]:
    """List documents, ordered by location."""
    documents = engine.documents()
    ids = [document.id for document in documents]
    first = 0 if not after else ids.index(after) + 1 if after in ids else len(ids)
    return redact_paths(documents[first:][:limit], caller)


@router.post(
    "/documents",
    response_model=IngestReport,
    responses={**error_responses(400, 403, 409, 413, 500, 503, 507), **PROGRESS},
    openapi_extra=UPLOAD_BODY,
)
async def upload_documents(
    request: Request,
    caller: AdminCaller,
    engine: Engine,
    jobs: Jobs,
    upload: Annotated[str, Query(max_length=100, description="the list in which the files were announced")] = "",
    number: Annotated[list[int], Query(max_length=MAX_FILES, description="of each file, its number in the list")] = [],  # noqa: B006
) -> Response:
    """Upload files. A file replaces an earlier upload of the same name. Names may be relative paths."""
    with ExitStack() as resources:
        job = resources.enter_context(jobs.add("upload", caller.name, upload))  # before the body is read
        files = await jobs.unless_stopping(_parse_files(request))
        resources.callback(_close, files)
        if upload and len(number) != len(files):
            raise InputError("The upload is in a list: send the number of each file.")
        listed = ListedFiles(engine, caller.name, upload, number if upload else ())
        if request.app.state.works:
            change: Change = partial(ingest_here, engine, files, listed, jobs, job)
        else:
            change = partial(WorkerUpload(engine, listed, jobs, job).run, files)
        return await _respond(request, caller, change, resources)


@router.get("/documents/changes", responses=error_responses())
async def job_status(caller: Caller, jobs: Jobs) -> JobStatus:
    """The change that is running now. The feed sends `documents` when it starts, progresses or ends."""
    return jobs.status()


@router.delete("/documents/changes", responses=error_responses(403, 404))
async def cancel_job(
    caller: AdminCaller,
    jobs: Jobs,
    number: Annotated[int | None, Query(description="the number of the change; the running one if omitted")] = None,
) -> JobStatus:
    """Cancel an upload or reindexing after its current document. Uploaded documents stay; an index that is being
    rebuilt is discarded."""
    return jobs.cancel(caller.name, number)


@router.post(
    "/documents/reindex", response_model=IngestReport, responses={**error_responses(403, 409, 500, 503), **PROGRESS}
)
async def reindex_documents(request: Request, caller: AdminCaller, engine: Engine, jobs: Jobs) -> Response:
    """Chunk and embed all documents again with the current settings. The old index stays in use until it is done."""

    async def reindex(events: JobEvents) -> IngestReport:
        def progress(outcome: Outcome, to_come: int | None) -> None:
            job.require_not_cancelled()
            events.publish_outcome(outcome, to_come)

        work = partial(engine.reindex, progress=progress)
        return await jobs.run(work, job, on_wait=events.publish_wait, max_wait=MAX_WAIT_SECONDS)

    with ExitStack() as resources:
        job = resources.enter_context(jobs.add("reindex", caller.name))
        return await _respond(request, caller, reindex, resources)


@router.get("/document", responses=error_responses(404))
def read_document(caller: Caller, engine: Engine, document_id: DocumentId) -> KnownDocument:
    """A document's metadata."""
    return redact_paths(engine.document(document_id), caller)


@router.get("/document/text", responses=error_responses(400, 404))
def read_text(
    caller: Caller, engine: Engine, document_id: DocumentId, start: Offset = 0, end: Offset | None = None
) -> DocumentText:
    """A document's text, at most 100,000 characters at a time."""
    if end is not None and end < start:
        raise InputError(f"The end, {end}, is before the start, {start}.")
    document, text = engine.document(document_id), engine.text(document_id)
    first = min(start, len(text))
    last = min(start + MAX_TEXT if end is None else end, first + MAX_TEXT, len(text))
    return DocumentText(
        id=document.id,
        title=document.title,
        text=text[first:last],
        start=first,
        end=last,
        characters=len(text),
        page_starts=engine.reader.page_starts(document_id),
        markdown=engine.reader.is_markdown(document_id),
        format=document.format,
        has_original=engine.reader.has_original(document_id),
    )


@router.delete("/document", responses=error_responses(404, 409))
async def remove_document(
    request: Request, caller: AdminCaller, engine: Engine, live: Live, jobs: Jobs, document_id: DocumentId
) -> list[KnownDocument]:
    """Remove a document, its text from receipts and observations, and its file if it was uploaded. A client that
    disconnects while the removal is queued cancels it."""

    def remove() -> list[KnownDocument]:
        engine.document(document_id)  # `forget` would also accept a path
        removed = engine.forget(document_id)
        live.forget_finished()
        return removed

    with jobs.add("remove", caller.name) as job:
        removed = await unless_disconnected(request, jobs.run(remove, job, max_wait=MAX_WAIT_SECONDS))
        if removed is None:
            raise BusyError("The client disconnected before the removal started.")
        return removed


async def finish_uploads(engine: Veracity, jobs: DocumentJobs) -> None:
    """Finishes uploads that a crashed process left. Errors are only logged."""
    try:
        names = await jobs.run(engine.uploads.unfinished, Job(""))
        if names:
            with jobs.add("upload") as job:
                for name in names:
                    job.require_not_cancelled()
                    outcome = await jobs.run(partial(engine.uploads.finish, name), job, name)
                    log.info("Finished an interrupted upload: %s", outcome)
    except VeracityError as error:
        if not is_stopping(error):
            log.warning("Interrupted uploads could not be finished: %s", error)
    except Exception:
        log.exception("Finishing interrupted uploads failed")


async def _respond(request: Request, user: User, change: Change, resources: ExitStack) -> Response:
    """Starts the change, which takes over the resources because it may outlast the request."""
    if not wants_events(request.headers.get("accept", "")):
        _, task = start_change(change, resources.pop_all())
        report = await asyncio.shield(task)
        return JSONResponse(report.model_dump(mode="json"))

    def start() -> AsyncGenerator[LiveEvent]:
        return start_change(change, resources.pop_all())[0].stream()

    return stream_events(request, user, start)


class _FormParser(MultiPartParser):
    """Starlette's parser accepts a truncated form and drops its last file; this one raises."""

    def __init__(self, headers: Headers, stream: AsyncGenerator[bytes, None]) -> None:
        super().__init__(headers, self._require_end(stream), max_files=MAX_FILES, max_fields=MAX_FILES)
        self._is_complete = False

    def on_end(self) -> None:
        self._is_complete = True

    async def _require_end(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async for chunk in stream:
            yield chunk
        if not self._is_complete:
            raise InputError(INTERRUPTED)


async def _parse_files(request: Request) -> list[UploadFile]:
    """Parsed here because FastAPI would read the whole upload before authentication."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise InputError(f'Upload files as multipart/form-data, in the field "{FORM_FIELD}".')
    try:
        async with aclosing(request.stream()) as stream:
            form = await _FormParser(request.headers, stream).parse()
    except ClientDisconnect:
        raise InputError(INTERRUPTED) from None
    except MultiPartException as error:
        raise InputError(f"The form is invalid: {error.message}") from None
    except ValueError:
        raise InputError("The form is invalid: encode it in UTF-8.") from None
    except OSError as error:  # the form is kept in a temporary file while it is received
        raise FullDiskError(
            f"The upload cannot be stored ({reason_of(error)}): free some space in the folder for temporary files."
        ) from None
    files = [value for name, value in form.multi_items() if isinstance(value, UploadFile) and name == FORM_FIELD]
    if not files:
        await form.close()
        raise InputError(f'The upload contains no file: send at least one in the field "{FORM_FIELD}".')
    return files


def _close(files: list[UploadFile]) -> None:
    for file in files:
        file.file.close()
