"""Removes what has expired (settings `retention`), in transactions of some hundred runs: writers wait only briefly, and
after a kill the next prune continues.

Forgetting still finds what depends on a removed run: later turns of its conversation take over its documents, and an
answer that a kept run uses is kept with it. Records of removed runs leave the observations, too: without its run, a
record could no longer be found when one of its documents is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from pathlib import Path

from sqlalchemy import Connection, delete, func, select, true

from veracity.deadlines import NEVER, Stop
from veracity.errors import BusyLedgerError
from veracity.ledger import expiry, forget, observations
from veracity.ledger.database import Database
from veracity.ledger.expiry import Cutoffs, ExpiredRun
from veracity.ledger.forget import Exposure, document_id_of
from veracity.ledger.observations import Observations
from veracity.ledger.rows import approvals, conversations, evidence, runs
from veracity.ledger.tables import conversations as conversation_table
from veracity.ledger.tables import evidence as evidence_table
from veracity.ledger.tables import forgotten_documents, metadata, model_calls, outbox, steps, weak_points, weak_terms
from veracity.ledger.tables import runs as run_table
from veracity.models import Answer, Evidence, Pruned

BATCH_SIZE = 200
UNSCRUBBED = document_id_of("")  # marks that bytes of removed rows may still be in the files
_OF_RUNS = [  # the columns that refer to runs
    (table, column, key.column)
    for table in metadata.sorted_tables
    for column in table.columns
    for key in column.foreign_keys
    if key.column.table is run_table
]


def preview(connection: Connection, cutoffs: Cutoffs) -> Pruned:
    """What prune() would remove."""
    expired = expiry.find_runs(connection, cutoffs)
    removed = {run.run_id for run in expired}
    receipts = [at for run_id, at in expiry.find_receipts(connection, cutoffs.receipts) if run_id not in removed]
    turns = conversation_table.join(
        run_table,
        (run_table.c.user_name == conversation_table.c.user_name)
        & (run_table.c.conversation == conversation_table.c.conversation),
    )
    columns = conversation_table.c.user_name, conversation_table.c.conversation
    sizes = select(*columns, func.count()).select_from(turns).group_by(*columns)
    left = {(user, name): size for user, name, size in connection.execute(sizes)} if expired else {}
    for run in expired:
        if run.conversation:
            left[run.user, run.conversation] -= 1
    return _report([run.started for run in expired], receipts, sum(not size for size in left.values()), dry_run=True)


def prune(database: Database, folder: Path, cutoffs: Cutoffs, file: Observations, stop: Stop = NEVER) -> Pruned:
    """Remove what has expired. Raises `Stopped` between two transactions after `stop` was set."""
    with database.reading() as connection:
        planned = [run.run_id for run in expiry.find_runs(connection, cutoffs)]
    _withdraw_observations(database, file, planned, stop)
    removed: list[datetime] = []
    conversation_count = 0
    for start in range(0, len(planned), BATCH_SIZE):
        stop.check()
        with database.writing(exclusive=True) as connection:
            batch = expiry.find_runs(connection, cutoffs, _settled(connection, planned[start : start + BATCH_SIZE]))
            conversation_count += remove_runs(connection, batch, folder)
            removed += [run.started for run in batch]
            if removed and start + BATCH_SIZE >= len(planned):
                _finish(connection)
    receipts = _strip_all(database, cutoffs.receipts, stop)
    if removed or receipts:
        _scrub(database)
    return _report(removed, receipts, conversation_count, dry_run=False)


def remove_runs(connection: Connection, expired: Sequence[ExpiredRun], folder: Path) -> int:
    """Remove the runs and all that refers to them. Returns the number of conversations that have no turn left."""
    if not expired:
        return 0
    run_ids = [run.run_id for run in expired]
    is_removed = run_table.c.run_id.in_(run_ids)
    forget.erase_chat_history(folder, connection.execute(select(run_table.c.question).where(is_removed)).scalars())
    _hand_down_documents(connection, expired)
    _refuse_late_evidence(connection, expired)
    of_weak_points = select(weak_points.c.number).where(weak_points.c.run_id.in_(run_ids))
    connection.execute(delete(weak_terms).where(weak_terms.c.weak_point.in_(of_weak_points)))
    for table, column, target in _OF_RUNS:
        connection.execute(delete(table).where(column.in_(select(target).where(is_removed))))
    connection.execute(delete(run_table).where(is_removed))
    return sum(_tidy_conversation(connection, *of_one) for of_one in _first_turns(expired))


def strip_receipt(connection: Connection, run_id: str) -> None:
    """Remove how the answer came about. Question, answer, cited passages, scores and verdicts stay."""
    for table in (steps, model_calls):
        connection.execute(delete(table).where(table.c.run_id == run_id))
    evidence.blank_texts(connection, run_id)
    if (answer := runs.get_answer(connection, run_id)) is not None:
        runs.set_answer(connection, run_id, strip_answer(answer))
    for approval in approvals.list_of_run(connection, run_id):
        draft = _without_texts(approval.draft).model_copy(update={"notices": []})
        approvals.replace_draft(connection, approval.approval_id, draft, erase_decision=True)


def strip_answer(answer: Answer) -> Answer:
    """A copy without explanations, and without passages that it does not cite. The others keep their positions."""
    cited = {citation.evidence_id for sentence in answer.sentences for citation in sentence.citations}
    passages = [passage if passage.id in cited else evidence.blank(passage) for passage in answer.evidence]
    kept = {name: getattr(answer, name) for name in ("text", "standalone", "sentences", "missing")}
    notices = [notice for notice in answer.notices if notice.code != "reduced"]
    added = {"evidence": passages, "notices": [*notices, forget.make_notice("reduced", answer.language)]}
    return _without_texts(answer).model_copy(update={**kept, **added})


def _without_texts(answer: Answer) -> Answer:
    return forget.erase_answer(answer, Exposure.WRITTEN, set(), with_history=False)


def _withdraw_observations(database: Database, file: Observations, run_ids: Sequence[str], stop: Stop) -> None:
    for start in range(0, len(run_ids), BATCH_SIZE):
        stop.check()
        with database.writing() as connection:
            for run_id in run_ids[start : start + BATCH_SIZE]:
                observations.withdraw(connection, run_id)
    observations.deliver(database, file)


def _settled(connection: Connection, run_ids: Sequence[str]) -> list[str]:
    """The runs without a record in the observations. One may have been added again by a rating."""
    has_record = outbox.c.run_id.in_(run_ids) & (outbox.c.state != observations.REMOVED)
    recorded = set(connection.execute(select(outbox.c.run_id).where(has_record)).scalars())
    return [run_id for run_id in run_ids if run_id not in recorded]


def _hand_down_documents(connection: Connection, expired: Sequence[ExpiredRun]) -> None:
    """Later turns were written with the answers of these, so they depend on the same documents."""
    removed = {run.run_id for run in expired}
    for user, conversation, _ in _first_turns(expired):
        turns = conversations.list_run_ids(connection, user, conversation)
        last_kept = max((at for at, run_id in enumerate(turns) if run_id not in removed), default=-1)
        documents, sources = set(map(document_id_of, turns)), dict[str, Evidence]()
        for run_id in turns[: last_kept + 1]:
            if run_id in removed:
                sources |= _find_sources(connection, run_id, documents)
            elif sources:
                evidence.put(connection, run_id, list(sources.values()), given=True, forgotten=set())


def _find_sources(connection: Connection, run_id: str, turns: set[str]) -> dict[str, Evidence]:
    """What the answer of the run may come from, by document, without texts. Leaves out turns of its conversation."""
    answer = runs.get_answer(connection, run_id)
    rows = select(evidence_table).where((evidence_table.c.run_id == run_id) & ~evidence_table.c.forgotten)
    sources: dict[str, Evidence] = {}
    for row in connection.execute(rows):
        exposure = Exposure.WRITTEN if row.given else Exposure.RETRIEVED
        exposure_of_answer = forget.measure_exposure(answer, exposure, {row.evidence_id})
        if exposure_of_answer >= Exposure.WRITTEN and row.document_id not in turns:
            passage = evidence.blank(Evidence.model_validate(row.body))
            sources[row.document_id] = passage.model_copy(update={"id": evidence.HANDED_DOWN + row.document_id})
    return sources


def _refuse_late_evidence(connection: Connection, expired: Sequence[ExpiredRun]) -> None:
    """A run under way may have read one of these answers and store it as evidence later: it is erased on arrival."""
    newest = connection.execute(select(func.max(run_table.c.number))).scalar() or 0
    active = select(run_table.c.user_name).where(run_table.c.status == "running").distinct()
    users = set(connection.execute(active).scalars())
    documents = [document_id_of(run.run_id) for run in expired if run.user in users]
    if documents:
        forget.add_forgotten(connection, documents, newest, is_scrubbed=True)


def _first_turns(expired: Sequence[ExpiredRun]) -> list[tuple[str, str, int]]:
    """User, conversation and first turn of each conversation of these runs."""
    turns = sorted((run.user, run.conversation, run.turn) for run in expired if run.conversation)
    return [next(group) for _, group in groupby(turns, key=lambda turn: turn[:2])]


def _tidy_conversation(connection: Connection, user: str, conversation: str, first_removed: int) -> bool:
    """Remove the conversation and return True if it has no turn left, else empty a summary with removed turns."""
    if conversations.list_run_ids(connection, user, conversation):
        conversations.refresh_summary(connection, user, conversation, first_removed)
        return False
    conversations.remove(connection, user, conversation, ())
    return True


def _strip_all(database: Database, before: datetime | None, stop: Stop) -> list[datetime]:
    stripped: list[datetime] = []
    while before is not None:
        stop.check()
        with database.writing(exclusive=True) as connection:
            found = expiry.find_receipts(connection, before, BATCH_SIZE + 1)
            for run_id, started in found[:BATCH_SIZE]:
                strip_receipt(connection, run_id)
                stripped.append(started)
            if len(found) <= BATCH_SIZE:
                if stripped:
                    _finish(connection)
                break
    return stripped


def _finish(connection: Connection) -> None:
    """Mark that the files have to be scrubbed: after a kill, the next Ledger.deliver() does it. And drop what is known
    about removed answers, unless a run under way is as old."""
    forget.add_forgotten(connection, [UNSCRUBBED], 0)
    oldest = connection.execute(select(func.min(run_table.c.number)).where(run_table.c.status == "running")).scalar()
    name, prefix = forgotten_documents.c.document_id, document_id_of("")
    is_answer = (func.substr(name, 1, len(prefix)) == prefix) & (name != UNSCRUBBED)
    is_removed = func.substr(name, len(prefix) + 1).not_in(select(run_table.c.run_id))
    is_settled = forgotten_documents.c.last_run < oldest if oldest is not None else true()
    gone = is_answer & is_removed & is_settled & forgotten_documents.c.is_scrubbed
    connection.execute(delete(forgotten_documents).where(gone))


def _scrub(database: Database) -> None:
    with suppress(BusyLedgerError):  # the next Ledger.deliver() tries again
        database.scrub()
        with database.writing() as connection:
            forget.mark_scrubbed(connection, [UNSCRUBBED])


def _report(removed: list[datetime], receipts: list[datetime], conversation_count: int, *, dry_run: bool) -> Pruned:
    times = [*removed, *receipts]
    return Pruned(
        dry_run=dry_run,
        runs=len(removed),
        conversations=conversation_count,
        receipts=len(receipts),
        oldest=min(times, default=None),
        newest=max(times, default=None),
    )
