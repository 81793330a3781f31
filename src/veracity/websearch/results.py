"""What every search provider can do, and what it finds. Knows no provider."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.providers.texts import encodable
from veracity.reading.cleaning import as_title, clean
from veracity.websearch.addresses import place_of

LONGEST_QUERY = 400  # characters; Tavily takes no more
LONGEST_SNIPPET = 2000


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page as the provider tells of it. `url` has the form of a page's; where it leads to is not known yet."""

    url: str
    title: str
    snippet: str


class SearchProvider(Protocol):
    @property
    def name(self) -> str: ...

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        """The best first, each page once, none where none was found. Raises WebSearchError for all that goes wrong."""
        ...


def fit_query(query: str) -> str:
    """On one line, not longer than any provider takes."""
    return encodable(" ".join(clean(query).split())[:LONGEST_QUERY]).strip()


def results_of(rows: Iterable[Any], snippet: str, limit: int, url: str = "url") -> list[SearchResult]:
    """What can be used of a provider's rows; `url` and `snippet` are what it calls these. The texts are anybody's."""
    found: dict[str, SearchResult] = {}
    for row in rows:
        one = _result(row, url, snippet) if isinstance(row, dict) else None
        if one and len(found) < limit:
            found.setdefault(one.url, one)
    return list(found.values())


def _result(row: dict[str, Any], url: str, snippet: str) -> SearchResult | None:
    """None for what is no address of a page."""
    try:
        address = place_of(str(row.get(url, "")).strip()).url
    except WebSearchError:
        return None
    told = row.get(snippet)
    text = " ".join(clean(told[: 2 * LONGEST_SNIPPET]).split())[:LONGEST_SNIPPET] if isinstance(told, str) else ""
    return SearchResult(address, as_title(row.get("title")), text)
