"""The caller's own conversations."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from veracity.models import ConversationSummary, PastTurn, Transcript
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, Live
from veracity.server.errors import error_responses
from veracity.server.permissions import redact_paths

router = APIRouter(prefix="/api/conversations", tags=["conversations"], route_class=AuthenticatedRoute)


UNSAFE_IN_FILE_NAMES = re.compile(r'[\s\\/:*?"<>|\x00-\x1f\x7f]+')
MAX_FILE_NAME = 60


class ForgottenTurns(BaseModel):
    turns: int = Field(description="number of removed turns")


class ConversationChanges(BaseModel):
    """What is omitted stays."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(max_length=500, description="empty: the first question")] | None = None
    pinned: bool | None = None


TRANSCRIPT_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"text/markdown": {}, "application/json": {}}, "model": Transcript}
}


@router.get("", responses=error_responses(400))
def list_conversations(
    caller: Caller,
    engine: Engine,
    query: Annotated[str, Query(max_length=500, description="words in the questions or answers")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    after: Annotated[str, Query(max_length=500, description="the last known conversation")] = "",
) -> list[ConversationSummary]:
    """List conversations: pinned ones first, then the newest first."""
    return engine.conversations(user=caller.name, limit=limit, query=query, after=after)


@router.get("/{name:path}/turns", responses=error_responses(400, 404))
def list_turns(
    name: str,
    caller: Caller,
    engine: Engine,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    before: Annotated[int | None, Query(ge=1, le=10**9, description="only turns before this number")] = None,
) -> list[PastTurn]:
    """List a conversation's turns, newest last; empty if it does not exist."""
    return engine.turns(name, user=caller.name, limit=limit, before=before)


@router.get("/{name:path}/export", response_class=Response, responses={**error_responses(400, 404), **TRANSCRIPT_FILE})
def export_conversation(
    name: str,
    caller: Caller,
    engine: Engine,
    file_format: Annotated[Literal["md", "json"], Query(alias="format")] = "md",
) -> Response:
    """Download a conversation: its questions, released answers, their verdicts and sources, as Markdown or JSON."""
    transcript = redact_paths(engine.transcript(name, user=caller.name), caller)
    if file_format == "md":
        content, media_type = engine.transcript_markdown(transcript), "text/markdown"
    else:
        content, media_type = transcript.model_dump_json(indent=2), "application/json"
    file_name = quote(
        f"{UNSAFE_IN_FILE_NAMES.sub(' ', transcript.title)[:MAX_FILE_NAME].strip() or 'conversation'}.{file_format}"
    )
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{file_name}", "Cache-Control": "no-store"}
    return Response(content, media_type=media_type, headers=headers)


@router.patch("/{name:path}", responses=error_responses(400, 404))
def change_conversation(name: str, body: ConversationChanges, caller: Caller, engine: Engine) -> ConversationSummary:
    """Rename a conversation, or pin it: pinned ones are listed first."""
    return engine.describe_conversation(name, user=caller.name, title=body.title, pinned=body.pinned)


@router.delete("/{name:path}", responses=error_responses(400, 404))
def forget_conversation(name: str, caller: Caller, engine: Engine, live: Live) -> ForgottenTurns:
    """Remove a conversation's questions and answers, also from receipts and observations."""
    turns = engine.forget_conversation(name, user=caller.name)
    live.forget_finished()
    return ForgottenTurns(turns=turns)
