"""Conversations: those of the caller, and only those."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from veracity.models import ConversationSummary, PastTurn
from veracity.server.auth import Caller, Engine, KnownFirst, Live
from veracity.server.errors import refusals

router = APIRouter(prefix="/api/conversations", tags=["conversations"], route_class=KnownFirst)


class Forgotten(BaseModel):
    turns: int


@router.get("", responses=refusals(400))
def conversations(
    caller: Caller,
    engine: Engine,
    query: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    after: Annotated[str, Query(max_length=500)] = "",
) -> list[ConversationSummary]:
    """The latest first; with a query, those whose questions or answers hold its words. `after` is the last conversation
    that is known."""
    return engine.conversations(user=caller.name, limit=limit, query=query, after=after)


@router.get("/{name:path}/turns", responses=refusals(400, 404))
def turns(
    name: str,
    caller: Caller,
    engine: Engine,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    before: Annotated[int | None, Query(ge=1, le=10**9)] = None,
) -> list[PastTurn]:
    """The latest last; with `before`, those that come before the turn of this number. Of a conversation that is not
    there: none."""
    return engine.turns(name, user=caller.name, limit=limit, before=before)


@router.delete("/{name:path}", responses=refusals(400, 404))
def forget(name: str, caller: Caller, engine: Engine, live: Live) -> Forgotten:
    """Removes its questions and answers, also from receipts and observations."""
    turns = engine.forget_conversation(name, user=caller.name)
    live.forget()
    return Forgotten(turns=turns)
