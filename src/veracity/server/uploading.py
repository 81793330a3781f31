"""Bringing documents in over HTTP, and indexing them anew, with their outcomes as they happen.

Knows nothing about how documents are read or stored.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.datastructures import UploadFile

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.knowledge.filenames import kept_name
from veracity.models import IngestReport, Outcome, User
from veracity.server.access import AdminCaller, Caller, Engine
from veracity.server.changes import PATIENCE, Changes, Place, Standing, changes_of, is_stopping
from veracity.server.forms import files_of, name_of
from veracity.server.problems import refusals
from veracity.server.streaming import follow_response, wants_events
from veracity.server.stretches import LiveEvent
from veracity.server.telling import Change, Telling, begin
from veracity.visible import visible

log = logging.getLogger("veracity.server")

SAME_NAME = "another file of this upload is kept under the same name: rename one of them"

router = APIRouter()


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


@router.post(
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


@router.get("/documents/changes", responses=refusals())
async def read_changes(request: Request, caller: Caller) -> Standing:
    """What is under way now. Events `documents` of the feed tell when to look again."""
    return changes_of(request).standing()


@router.delete("/documents/changes", responses=refusals(403, 404))
async def cancel_change(
    request: Request, caller: AdminCaller, number: Annotated[int | None, Query(description="of the change")] = None
) -> Standing:
    """The upload or reindexing that is under way, or the one with this `number`, ends after the document it is at. What
    was brought in until then stays; an index that is being made anew stays as it was."""
    return changes_of(request).cancel(caller.name, number)


@router.post("/documents/reindex", response_model=IngestReport, responses={**refusals(403, 409, 500, 503), **WATCHED})
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
        names = await changes.turn(engine.unfinished_uploads, Place(""))
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
    engine: Veracity, files: list[UploadFile], changes: Changes, place: Place, telling: Telling
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
