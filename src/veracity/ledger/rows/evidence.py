"""The evidence that runs found, one row for each passage of a run. Knows nothing about what a run made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from veracity.ledger.tables import evidence
from veracity.models import Evidence, EvidenceMetadata

MOST_REMEMBERED = 20  # passages of a run
WEB = "web"  # a source whose documents have addresses for ids
GONE = "forgotten"


def keep(
    connection: Connection,
    run_id: str,
    found: Sequence[Evidence],
    given: bool,
    forgotten: set[str],
    *,
    nameless: bool = False,
) -> None:
    """Those of forgotten documents are kept without what they say; `nameless`: without their addresses too. Once given
    to the writer stays given."""
    theirs = select(evidence.c.evidence_id, evidence.c.given).where(evidence.c.run_id == run_id)
    known: dict[str, bool] = {row.evidence_id: row.given for row in connection.execute(theirs)}
    fresh: dict[str, dict[str, Any]] = {}
    seen: dict[str, dict[str, Any]] = {}
    for whole in found:
        is_forgotten = whole.document_id in forgotten
        item = without_address(whole) if nameless else whole
        values = {
            "given": given or known.get(item.id, False),
            "forgotten": is_forgotten,
            "body": (blank(item) if is_forgotten else item).model_dump(mode="json"),
        }
        if item.id in known:
            seen[item.id] = {**values, "which": item.id}
        else:
            key = {"run_id": run_id, "evidence_id": item.id, "document_id": item.document_id}
            fresh[item.id] = {**key, **values, "seq": len(known) + len(fresh)}
    if fresh:
        connection.execute(insert(evidence), list(fresh.values()))
    if seen:
        same = (evidence.c.run_id == run_id) & (evidence.c.evidence_id == bindparam("which"))
        connection.execute(update(evidence).where(same), list(seen.values()))


def of_run(connection: Connection, run_id: str) -> dict[str, Evidence]:
    wanted = select(evidence.c.evidence_id, evidence.c.body).where(evidence.c.run_id == run_id)
    found = connection.execute(wanted.order_by(evidence.c.seq))
    return {evidence_id: Evidence.model_validate(body) for evidence_id, body in found}


def remembered_ids(connection: Connection, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By run, what it found and is not forgotten: first what its writer had, in the order in which it was found."""
    wanted = (
        select(evidence.c.run_id, evidence.c.evidence_id)
        .where(evidence.c.run_id.in_(run_ids) & ~evidence.c.forgotten)
        .order_by(evidence.c.run_id, evidence.c.given.desc(), evidence.c.seq)
    )
    found: dict[str, tuple[str, ...]] = {}
    for run_id, evidence_id in connection.execute(wanted):
        found[run_id] = (*found.get(run_id, ()), evidence_id)[:MOST_REMEMBERED]
    return found


def empty(connection: Connection, document_ids: Sequence[str]) -> dict[str, bool]:
    """Take from the rows of these documents what they say. By run: was one of them given to the writer?"""
    theirs = select(evidence.c.run_id, evidence.c.evidence_id, evidence.c.given, evidence.c.body)
    rows = connection.execute(theirs.where(evidence.c.document_id.in_(document_ids) & ~evidence.c.forgotten)).all()
    touched: dict[str, bool] = {}
    for run_id, _, given, _ in rows:
        touched[run_id] = touched.get(run_id, False) or given
    _blank_rows(connection, [(run_id, evidence_id, body) for run_id, evidence_id, _, body in rows])
    return touched


def empty_run(connection: Connection, run_id: str) -> None:
    """Take from all rows of a run what they say, and the addresses of pages that were looked up for it."""
    theirs = select(evidence.c.evidence_id, evidence.c.body).where(evidence.c.run_id == run_id)
    same = (evidence.c.run_id == run_id) & (evidence.c.evidence_id == bindparam("which"))
    emptied = []
    for evidence_id, body in connection.execute(theirs):
        item = without_address(blank(Evidence.model_validate(body)))
        values = {"document_id": item.document_id, "forgotten": True, "body": item.model_dump(mode="json")}
        emptied.append({"which": evidence_id, **values})
    if emptied:
        connection.execute(update(evidence).where(same), emptied)


def emptied_ids(connection: Connection, run_id: str) -> set[str]:
    theirs = select(evidence.c.evidence_id).where((evidence.c.run_id == run_id) & evidence.c.forgotten)
    return set(connection.execute(theirs).scalars())


def blank(item: Evidence) -> Evidence:
    """Without anything the document says."""
    known = EvidenceMetadata(relevance_score=item.metadata.relevance_score, found_by=item.metadata.found_by)
    return item.model_copy(update={"text": "", "title": "", "location": "", "headings": [], "metadata": known})


def without_address(item: Evidence) -> Evidence:
    """What somebody looked up on the web tells what they asked."""
    return item.model_copy(update={"document_id": GONE}) if item.source == WEB else item


def _blank_rows(connection: Connection, rows: Sequence[tuple[str, str, dict[str, Any]]]) -> None:
    if rows:
        same = (evidence.c.run_id == bindparam("whose")) & (evidence.c.evidence_id == bindparam("which"))
        emptied = [
            {"whose": run_id, "which": evidence_id, "forgotten": True, "body": _blank_body(body)}
            for run_id, evidence_id, body in rows
        ]
        connection.execute(update(evidence).where(same), emptied)


def _blank_body(body: dict[str, Any]) -> dict[str, Any]:
    return blank(Evidence.model_validate(body)).model_dump(mode="json")
