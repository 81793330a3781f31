"""Rows of the evidence that runs found: one per passage and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from veracity.ledger.tables import evidence
from veracity.models import Evidence, EvidenceMetadata

MAX_PASSAGES_OF_RUN = 20
WEB_SOURCE = "web"  # its document ids are addresses
FORGOTTEN_ADDRESS = "forgotten"
HANDED_DOWN = "earlier:"  # ids of passages without text: documents of earlier turns that were removed


def put(connection: Connection, run_id: str, passages: Sequence[Evidence], given: bool, forgotten: set[str]) -> None:
    """Passages of `forgotten` documents are stored without their text. `given` (to the writer) is never reset."""
    columns = select(evidence.c.evidence_id, evidence.c.given).where(evidence.c.run_id == run_id)
    stored: dict[str, bool] = {row.evidence_id: row.given for row in connection.execute(columns)}
    inserts: dict[str, dict[str, Any]] = {}
    updates: dict[str, dict[str, Any]] = {}
    for passage in passages:
        is_forgotten = passage.document_id in forgotten
        values = {
            "given": given or stored.get(passage.id, False),
            "forgotten": is_forgotten,
            "body": (blank(passage) if is_forgotten else passage).model_dump(mode="json"),
        }
        if passage.id in stored:
            updates[passage.id] = {**values, "run": run_id, "which": passage.id}
        else:
            key = {"run_id": run_id, "evidence_id": passage.id, "document_id": passage.document_id}
            inserts[passage.id] = {**key, **values, "seq": len(stored) + len(inserts)}
    if inserts:
        connection.execute(insert(evidence), list(inserts.values()))
    _update_rows(connection, list(updates.values()))


def get_of_run(connection: Connection, run_id: str) -> dict[str, Evidence]:
    columns = select(evidence.c.evidence_id, evidence.c.body).where(evidence.c.run_id == run_id)
    rows = connection.execute(columns.order_by(evidence.c.seq))
    return {evidence_id: Evidence.model_validate(body) for evidence_id, body in rows}


def list_ids_by_run(connection: Connection, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The passages of each run that were not forgotten; those given to the writer first."""
    columns = select(evidence.c.run_id, evidence.c.evidence_id)
    query = columns.where(evidence.c.run_id.in_(run_ids) & ~evidence.c.forgotten)
    ids: dict[str, tuple[str, ...]] = {}
    for run_id, evidence_id in connection.execute(query.order_by(evidence.c.given.desc(), evidence.c.seq)):
        ids[run_id] = (*ids.get(run_id, ()), evidence_id)[:MAX_PASSAGES_OF_RUN]
    return ids


def list_blank_ids(connection: Connection, run_id: str) -> set[str]:
    query = select(evidence.c.evidence_id).where((evidence.c.run_id == run_id) & evidence.c.forgotten)
    return set(connection.execute(query).scalars())


def blank_documents(connection: Connection, document_ids: Sequence[str]) -> dict[str, bool]:
    """Erase the texts of these documents. Returns the affected runs, and whether their writer had such a passage."""
    columns = select(evidence.c.run_id, evidence.c.evidence_id, evidence.c.given, evidence.c.body)
    rows = connection.execute(columns.where(evidence.c.document_id.in_(document_ids) & ~evidence.c.forgotten)).all()
    affected: dict[str, bool] = {}
    updates = []
    for row in rows:
        affected[row.run_id] = affected.get(row.run_id, False) or row.given
        body = blank(Evidence.model_validate(row.body)).model_dump(mode="json")
        updates.append({"run": row.run_id, "which": row.evidence_id, "forgotten": True, "body": body})
    _update_rows(connection, updates)
    return affected


def blank_run(connection: Connection, run_id: str) -> None:
    """Erase the texts of a run's passages, and the addresses of its web pages."""
    updates = []
    for evidence_id, passage in get_of_run(connection, run_id).items():
        kept = hide_address(blank(passage))
        values = {"document_id": kept.document_id, "forgotten": True, "body": kept.model_dump(mode="json")}
        updates.append({"run": run_id, "which": evidence_id, **values})
    _update_rows(connection, updates)


def blank_texts(connection: Connection, run_id: str) -> None:
    """Erase the texts of a run's passages. Forgetting their documents still finds the run."""
    bodies = {name: blank(passage).model_dump(mode="json") for name, passage in get_of_run(connection, run_id).items()}
    _update_rows(connection, [{"run": run_id, "which": name, "body": body} for name, body in bodies.items()])


def blank(passage: Evidence) -> Evidence:
    """A copy without anything from the document."""
    scores = EvidenceMetadata(relevance_score=passage.metadata.relevance_score, found_by=passage.metadata.found_by)
    return passage.model_copy(update={"text": "", "title": "", "location": "", "headings": [], "metadata": scores})


def hide_address(passage: Evidence) -> Evidence:
    """The address of a web page can reveal the question."""
    return passage.model_copy(update={"document_id": FORGOTTEN_ADDRESS}) if passage.source == WEB_SOURCE else passage


def _update_rows(connection: Connection, updates: list[dict[str, Any]]) -> None:
    """Each update names its row by `run` and `which`."""
    if updates:
        same = (evidence.c.run_id == bindparam("run")) & (evidence.c.evidence_id == bindparam("which"))
        connection.execute(update(evidence).where(same), updates)
