"""The caller's last upload: which files were announced, and what became of each. The server keeps it until the caller
dismisses it, so that it outlives the page."""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from veracity.models import UploadList
from veracity.server.auth import AdminCaller, AuthenticatedRoute, Engine
from veracity.server.errors import error_responses
from veracity.server.middleware import UPLOAD_LIST_PATH
from veracity.server.routes.documents import Jobs

MAX_SIZE = 2**53  # bytes: what JavaScript counts exactly

router = APIRouter(prefix=UPLOAD_LIST_PATH, tags=["documents"], route_class=AuthenticatedRoute)

ListId = Annotated[str, Query(alias="id", max_length=100, description="the id of the list")]


class NewFile(BaseModel):
    name: str = Field(max_length=1000, description="its name, which may be a relative path")
    size: int = Field(ge=0, le=MAX_SIZE, description="in bytes")


class Announcement(BaseModel):
    files: list[NewFile] = Field(min_length=1)
    to: str = Field(default="", max_length=100, description="the list to add them to; otherwise a new one begins")


@router.get("", responses=error_responses(403))
def read_list(caller: AdminCaller, engine: Engine) -> UploadList | None:
    """The caller's last upload. Null if there is none, or it was dismissed."""
    return engine.uploads.lists.read(caller.name)


@router.post("", responses=error_responses(400, 403, 413))
def announce_files(announcement: Announcement, caller: AdminCaller, engine: Engine) -> UploadList:
    """Announce files before they are uploaded. A new list replaces the caller's last one. The new files are the last
    ones of the list; those that are too large have failed already."""
    files = [(file.name, file.size) for file in announcement.files]
    return engine.uploads.announce(files, caller.name, announcement.to)


@router.post("/stop", responses=error_responses(403), status_code=204)
async def stop_upload(caller: AdminCaller, engine: Engine, jobs: Jobs, list_id: ListId) -> None:
    """Stop an upload after its current file. The remaining files of the list are cancelled."""
    await run_sync(engine.uploads.lists.cancel, caller.name, list_id)
    jobs.cancel_upload(caller.name, list_id)


@router.delete("", responses=error_responses(403), status_code=204)
def dismiss_list(caller: AdminCaller, engine: Engine, list_id: ListId) -> None:
    """Remove a list. The documents stay."""
    engine.uploads.lists.dismiss(caller.name, list_id)
