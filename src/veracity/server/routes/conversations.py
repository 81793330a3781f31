"""The caller's own conversations."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from veracity.models import ConversationSummary, PastTurn
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, Live
from veracity.server.errors import error_responses

router = APIRouter(prefix="/api/conversations", tags=["conversations"], route_class=AuthenticatedRoute)


class ForgottenTurns(BaseModel):
    turns: int = Field(description="number of removed turns")


@router.get("", responses=error_responses(400))
def list_conversations(
    caller: Caller,
    engine: Engine,
    query: Annotated[str, Query(max_length=500, description="words in the questions or answers")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    after: Annotated[str, Query(max_length=500, description="the last known conversation")] = "",
) -> list[ConversationSummary]:
    """List conversations, newest first."""
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


@router.delete("/{name:path}", responses=error_responses(400, 404))
def forget_conversation(name: str, caller: Caller, engine: Engine, live: Live) -> ForgottenTurns:
    """Remove a conversation's questions and answers, also from receipts and observations."""
    turns = engine.forget_conversation(name, user=caller.name)
    live.forget_finished()
    return ForgottenTurns(turns=turns)
