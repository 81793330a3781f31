"""What the ledger forgets (SPEC X3): documents, conversations, and what was made of them, wherever it was used again.

An earlier answer that was evidence for a later one counts as a document ("run:" and its id), and a writer had the
turns of its conversation before it. That also holds for a run that was under way meanwhile and hands in later what it
had read before. Knows nothing about files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, false, func, insert, select, update

from veracity.ledger import approvals, conversations, feedback, leases, passages, runs, weakpoints
from veracity.ledger.schema import forgotten_documents
from veracity.ledger.schema import runs as run_rows
from veracity.ledger.stripping import ALL, FOUND, GIVEN, strip

AT_ONCE = 500
ENDED = "Its conversation was forgotten."


class _Reach:
    """How far forgetting has come, so that nothing is done twice."""

    def __init__(self) -> None:
        self.since: dict[tuple[str, str], int] = {}  # by user and conversation, the turn after which all were told
        self.emptied: set[tuple[str, str]] = set()  # conversations that have no summary any more
        self.told: set[str] = set()  # runs that lost what they may have from their conversation, in this batch


def forget(connection: Connection, document_ids: Sequence[str]) -> None:
    last_run = connection.execute(select(func.max(run_rows.c.number))).scalar() or 0
    known, reach = dict.fromkeys(document_ids), _Reach()
    left = list(known)
    while left:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        _remember(connection, some, last_run)
        touched = passages.empty(connection, some)
        reach.told.clear()
        for run, run_id in sorted((runs.held(connection, run_id), run_id) for run_id in touched):
            lost = _strip_with_later(connection, run_id, run, GIVEN if touched[run_id] else FOUND, reach)
            fresh = [document for one in lost if (document := as_document(one)) not in known]
            known.update(dict.fromkeys(fresh))
            left += fresh


def forget_conversation(connection: Connection, user: str, conversation: str) -> list[str]:
    """Its runs, which keep nothing but when they ran and what they used."""
    theirs = conversations.run_ids(connection, user, conversation)
    forget(connection, [as_document(run_id) for run_id in theirs])
    for run_id in theirs:
        passages.empty_run(connection, run_id)
        unfinished = runs.held(connection, run_id).status in ("running", "awaiting_approval")
        strip(connection, run_id, ALL)
        approvals.remove_question(connection, run_id)
        weakpoints.remove(connection, run_id)
        feedback.remove(connection, run_id)
        if unfinished:
            approvals.supersede(connection, run_id)
            runs.set_status(connection, run_id, "failed", ENDED)
            leases.revoke(connection, run_id)
    conversations.remove(connection, user, conversation, theirs)
    return theirs


def as_document(run_id: str) -> str:
    """An earlier answer as evidence has this id of a document."""
    return f"run:{run_id}"


def among(connection: Connection, document_ids: set[str], number: int) -> set[str]:
    """Those of the documents that were forgotten after the run of this number began."""
    gone = select(forgotten_documents.c.document_id).where(forgotten_documents.c.last_run >= number)
    return set(connection.execute(gone.where(forgotten_documents.c.document_id.in_(document_ids))).scalars())


def strip_late(connection: Connection, run_id: str, document_ids: set[str], was_given: bool) -> None:
    """For a run that hands in passages of documents which were forgotten meanwhile."""
    strip(connection, run_id, GIVEN if was_given else FOUND)
    mark_scrubbed(connection, sorted(document_ids), scrubbed=False)


def not_scrubbed(connection: Connection) -> list[str]:
    """The documents whose rows were emptied, while their bytes may still be in the files."""
    left = select(forgotten_documents.c.document_id).where(forgotten_documents.c.is_scrubbed == false())
    return list(connection.execute(left).scalars())


def mark_scrubbed(connection: Connection, document_ids: Sequence[str], *, scrubbed: bool = True) -> None:
    for some in _batches(document_ids):
        theirs = forgotten_documents.c.document_id.in_(some)
        connection.execute(update(forgotten_documents).where(theirs).values(is_scrubbed=scrubbed))


def _strip_with_later(connection: Connection, run_id: str, run: runs.HeldRun, touched: int, reach: _Reach) -> list[str]:
    """The run, and the later turns of its conversation, whose writers had it. Those that lost their texts."""
    here = (run.user, run.conversation)
    if run.conversation and here not in reach.emptied:
        conversations.empty_summary(connection, *here)
        reach.emptied.add(here)
    if run_id in reach.told or strip(connection, run_id, touched) < GIVEN:
        return []
    lost = [run_id]
    if run.conversation and run.turn < reach.since.get(here, run.turn + 1):
        later = conversations.run_ids(connection, *here, run.turn, reach.since.get(here))
        lost += [one for one in later if strip(connection, one, GIVEN, told=True) >= GIVEN]
        reach.told.update(later)
        reach.since[here] = run.turn
    return lost


def _remember(connection: Connection, document_ids: Sequence[str], last_run: int) -> None:
    known = set(
        connection.execute(
            select(forgotten_documents.c.document_id).where(forgotten_documents.c.document_id.in_(document_ids))
        ).scalars()
    )
    values = {"last_run": last_run, "is_scrubbed": False}
    connection.execute(
        update(forgotten_documents).where(forgotten_documents.c.document_id.in_(known)).values(values),
    )
    if fresh := [{"document_id": one, **values} for one in document_ids if one not in known]:
        connection.execute(insert(forgotten_documents), fresh)


def _batches(document_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (document_ids[start : start + AT_ONCE] for start in range(0, len(document_ids), AT_ONCE))
