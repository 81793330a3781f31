"""Searching over HTTP. Knows nothing about how passages are found."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from veracity.engine import LONGEST_QUERY, MOST_RESULTS
from veracity.models import Evidence
from veracity.server.auth import Caller, Engine, KnownFirst
from veracity.server.errors import refusals
from veracity.server.limits import Computing
from veracity.server.permissions import shown

MOST_SOURCES = 10

router = APIRouter(prefix="/api", tags=["search"], route_class=KnownFirst)


class Search(BaseModel):
    """Without `sources`, in those of the settings."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(max_length=LONGEST_QUERY)
    top_k: int = Field(default=10, ge=1, le=MOST_RESULTS)
    sources: Annotated[list[str], Field(min_length=1, max_length=MOST_SOURCES)] | None = None


@router.post("/search", responses=refusals(400, 409, 502))
async def search(request: Request, caller: Caller, engine: Engine, wanted: Search) -> list[Evidence]:
    """The passages that bear on the query, the best first."""
    searches: Computing = request.app.state.searches

    def found() -> list[Evidence]:
        return shown(engine.search(wanted.query, wanted.top_k, sources=wanted.sources), caller)

    return await searches(caller.name, found)
