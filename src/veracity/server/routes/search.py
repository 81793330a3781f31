"""Searching the documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from veracity.engine import MAX_PATTERN_LENGTH, MAX_PATTERNS
from veracity.inputs import MAX_QUERY_LENGTH, MAX_RESULTS
from veracity.models import Evidence
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, from_state
from veracity.server.errors import error_responses
from veracity.server.limits import ConcurrencyLimit
from veracity.server.permissions import limit_patterns, redact_paths

MAX_SOURCES = 10

OnlyDocuments = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_PATTERN_LENGTH)]],
    Field(max_length=MAX_PATTERNS, description="paths and patterns: use only documents that match one of them"),
]
Searches = Annotated[ConcurrencyLimit, from_state("searches")]

router = APIRouter(prefix="/api", tags=["search"], route_class=AuthenticatedRoute)


class SearchRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(max_length=MAX_QUERY_LENGTH)
    top_k: int = Field(default=10, ge=1, le=MAX_RESULTS)
    sources: Annotated[list[str], Field(min_length=1, max_length=MAX_SOURCES)] | None = Field(
        default=None, description="retrieval sources; those of the settings if omitted"
    )
    only: OnlyDocuments = []


@router.post("/search", responses=error_responses(400, 409, 502))
async def search(searches: Searches, caller: Caller, engine: Engine, body: SearchRequest) -> list[Evidence]:
    """Find the passages most relevant to the query, best first."""
    options = {**body.model_dump(), "only": limit_patterns(body.only, caller)}
    return redact_paths(await searches(caller.name, lambda: engine.search(**options)), caller)
