"""Help with asking: example questions, follow-ups of an answer, and what a question can be limited to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from veracity.models import ExampleQuestion, KnownDocument
from veracity.server.auth import AuthenticatedRoute, Caller, Engine
from veracity.server.errors import error_responses
from veracity.server.permissions import SHORTENED, redact_paths, require_full_id, require_visible
from veracity.server.routes.search import Searches

router = APIRouter(prefix="/api", tags=["suggestions"], route_class=AuthenticatedRoute)


class DocumentChoice(BaseModel):
    """A document or a folder. Send `only` with a question to limit it to that."""

    kind: Literal["folder", "document"]
    only: str = Field(description="a path, for `only` of a question or a search")
    title: str = Field(description="of the document; empty for a folder")
    documents: int = Field(description="number of documents in it")


@router.get("/examples", responses=error_responses())
def list_examples(caller: Caller, engine: Engine) -> list[ExampleQuestion]:
    """Questions that the documents are known to answer, each from another document and in its language. They are found
    in the background when documents change; the feed sends `examples` then."""
    return engine.suggestions.examples()


@router.get("/runs/{run_id}/follow-ups", responses=error_responses(404))
async def list_follow_ups(run_id: str, searches: Searches, caller: Caller, engine: Engine) -> list[str]:
    """Up to three questions that the documents next to those cited by the answer are known to answer."""

    def find() -> list[str]:
        require_visible(caller, engine.standing(require_full_id(run_id, "run")).user, "run", run_id)
        return engine.suggestions.follow_ups(run_id)

    return await searches(caller.name, find)


@router.get("/choices", responses=error_responses())
def list_choices(
    caller: Caller,
    engine: Engine,
    query: Annotated[str, Query(max_length=500, description="a part of the path or title")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 30,
) -> list[DocumentChoice]:
    """Folders and documents to limit a question to, folders first."""
    documents = redact_paths(engine.documents(), caller)
    words = query.casefold().split()
    choices = (*_folders(documents), *map(_document, documents))
    matching = (
        choice for choice in choices if all(word in f"{choice.only} {choice.title}".casefold() for word in words)
    )
    return [choice for choice, _ in zip(matching, range(limit), strict=False)]


def _document(document: KnownDocument) -> DocumentChoice:
    return DocumentChoice(kind="document", only=document.location or document.id, title=document.title, documents=1)


def _folders(documents: Iterable[KnownDocument]) -> Iterator[DocumentChoice]:
    """The folders that documents are in, without those that hold the same documents as a folder in them."""
    counts = Counter(folder for document in documents for folder in _parents(document.location))
    for folder in sorted(counts):
        is_whole = any(counts[inner] == counts[folder] for inner in counts if inner.startswith(f"{folder}/"))
        if not is_whole:
            yield DocumentChoice(kind="folder", only=folder, title="", documents=counts[folder])


def _parents(location: str) -> Iterator[str]:
    parts = location.replace("\\", "/").split("/")[:-1]
    for length in range(1, len(parts) + 1):
        folder = "/".join(parts[:length])
        if folder and folder != SHORTENED.rstrip("/"):
            yield folder
