"""When the bytes of forgotten documents have to leave the disk or the object store.

LanceDB only marks deleted rows: their bytes stay until the table is rewritten and its earlier versions are deleted. A
note beside the table says that there are such rows, for whichever process comes next: a server, or a command that
changes the documents. In a folder, rewriting and deleting are one step. In a location that other machines share, a
search on another machine may still be reading the earlier versions: a second note says that they are to be deleted.
"""

from __future__ import annotations

import time

from veracity.knowledge.location import Location

# A search may still be reading the rows, and documents that are forgotten one after another share one rewrite.
PURGE_AFTER_SECONDS = 600.0
MAX_CHEAP_ROWS = 20_000  # a table with more is not rewritten by the way, but by a server or a reindex

FORGOTTEN, REWRITTEN = ".forgotten", ".rewritten"


def note_removal(location: Location) -> None:
    """Note that rows are being deleted. An existing note keeps its time."""
    location.mark(FORGOTTEN)


def note_rewrite(location: Location) -> None:
    """Note that the table was rewritten without them."""
    if location.is_shared:
        location.unmark(REWRITTEN)
        location.mark(REWRITTEN)
    location.unmark(FORGOTTEN)


def clear_rewrite_note(location: Location) -> None:
    location.unmark(REWRITTEN)


def is_purge_due(location: Location) -> bool:
    """Whether rows were deleted a while ago and their bytes are still there. Costs one or two looks at the location."""
    return _is_old(location.marked(FORGOTTEN)) or is_cleanup_due(location)


def is_cleanup_due(location: Location) -> bool:
    """Whether the table was rewritten so long ago that no search reads its earlier versions."""
    return location.is_shared and _is_old(location.marked(REWRITTEN))


def _is_old(noted: float | None) -> bool:
    return noted is not None and noted <= time.time() - PURGE_AFTER_SECONDS
