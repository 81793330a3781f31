"""Rows of approvals: drafts that wait for a decision, and the decisions (SPEC D6).

A decision is a compare-and-swap on a row that is pending and holds the same draft: of concurrent decisions one wins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, func, insert, or_, select, update

from veracity.errors import DecidedError, DecisionError, InputError, NotFoundError, SupersededError
from veracity.ledger.rows.runs import LAST, list_ids
from veracity.ledger.tables import approval_changed, approvals, as_stored
from veracity.models import Answer, Approval, ApprovalStanding, ApprovalState, Decision
from veracity.printable import encodable
from veracity.secrets import presentable

DECIDED_STATES: dict[str, ApprovalState] = {
    "approve": "approved",
    "reject": "rejected",
    "send_back": "sent_back",
    "expire": "expired",
}
_STATES = TypeAdapter(list[ApprovalStanding])
_LATEST_STATES = select(  # in the order of the fields, because access by name takes three times as long
    *(approvals.c[name] for name in ("approval_id", "run_id", "user_name", "state", "question")),
    func.coalesce(approvals.c.decided_by, ""),
    approvals.c.assignee,
).order_by(approval_changed.desc(), approvals.c.number.desc())


def draft_hash(answer: Answer) -> str:
    """Identifies a draft by its text, evidence and attempt."""
    content = {"text": answer.text, "evidence": [passage.id for passage in answer.evidence], "attempt": answer.attempt}
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(encodable(canonical).encode()).hexdigest()


def add(connection: Connection, approval: Approval, user: str, conversation: str) -> Approval:
    """No-op if the id exists already. Returns the stored approval."""
    if _row(connection, approval.approval_id) is None:
        values = approval.model_dump(exclude={"user", "conversation", "draft", "state", "decision", "effective"})
        owner = {"user_name": user, "conversation": conversation}
        draft = approval.draft.model_dump(mode="json")
        pending = {"draft": draft, "state": "pending", "reason": "", "decision_key": ""}
        connection.execute(insert(approvals), {**values, **owner, **pending})
    return get(connection, approval.approval_id)


def decide(
    connection: Connection,
    approval: Approval,
    decision: Decision,
    expected_hash: str | None,
    key: str,
    effective: datetime | None = None,
) -> Approval:
    """Store the decision, which can be withdrawn until it is `effective`. Idempotent for the same decision under the
    same key, else raises `DecisionError`."""
    approval_id = approval.approval_id
    is_expired = approval.expires is not None and approval.expires <= decision.at and decision.verdict != "expire"
    if approval.state == "pending" and expected_hash in (None, approval.draft_hash) and not is_expired:
        if decision.verdict == "send_back":
            _require_send_back(approval)
        values = {
            **decision.model_dump(include={"verdict", "reason", "edit"}),
            "state": DECIDED_STATES[decision.verdict],
            "decided_by": decision.by,
            "decided_at": decision.at,
            "decision_key": key,
            "effective": effective,
        }
        unchanged = (approvals.c.approval_id == approval_id) & (approvals.c.state == "pending")
        unchanged &= approvals.c.draft_hash == approval.draft_hash
        if connection.execute(update(approvals).where(unchanged).values(values)).rowcount == 1:
            return get(connection, approval_id)
        approval = get(connection, approval_id)
    if expected_hash in (None, approval.draft_hash) and _is_repeated(connection, approval, decision, key):
        return approval
    raise _conflict(approval, expected_hash)


def withdraw(connection: Connection, approval: Approval, by: str, now: datetime) -> Approval:
    """Make it pending again. Raises `DecisionError` if its decision has taken effect, or is another person's."""
    decision, name = approval.decision, presentable(approval.approval_id)
    if decision is None or not approval.is_open(now):
        raise DecidedError(f'The decision on "{name}" can no longer be withdrawn: it has taken effect.')
    if decision.by != by:
        raise DecidedError(
            f'The decision on "{name}" was made by "{presentable(decision.by)}": only they can withdraw it.'
        )
    undecided: dict[str, Any] = dict.fromkeys(("verdict", "edit", "decided_by", "decided_at", "effective"))
    values = {**undecided, "state": "pending", "reason": "", "decision_key": ""}
    connection.execute(update(approvals).where(approvals.c.approval_id == approval.approval_id).values(values))
    return get(connection, approval.approval_id)


def assign(connection: Connection, approval: Approval, assignee: str) -> Approval:
    """Name the person who should decide, or nobody. Raises `DecisionError` if it was decided."""
    unchanged = (approvals.c.approval_id == approval.approval_id) & (approvals.c.state == "pending")
    if connection.execute(update(approvals).where(unchanged).values(assignee=assignee)).rowcount != 1:
        raise _conflict(get(connection, approval.approval_id), None)
    return get(connection, approval.approval_id)


def list_overdue(connection: Connection, now: datetime) -> list[str]:
    """The pending approvals that have expired."""
    overdue = (approvals.c.state == "pending") & (approvals.c.expires <= now)
    return list(connection.execute(select(approvals.c.approval_id).where(overdue)).scalars())


def get(connection: Connection, approval_id: str) -> Approval:
    row = _row(connection, approval_id)
    if row is None:
        raise _not_found(approval_id)
    return _approval(row)


def list_of_run(connection: Connection, run_id: str) -> list[Approval]:
    query = select(approvals).where(approvals.c.run_id == run_id).order_by(approvals.c.number)
    return [_approval(row) for row in connection.execute(query)]


def list_approvals(
    connection: Connection, limit: int, user: str | None, state: str | None, after: str = ""
) -> list[Approval]:
    number, is_ascending = approvals.c.number, state == "pending"
    query = select(approvals).order_by(number.asc() if is_ascending else number.desc()).limit(limit)
    last = select(number).where(approvals.c.approval_id == after)
    if user is not None:
        query, last = query.where(approvals.c.user_name == user), last.where(approvals.c.user_name == user)
    if after:
        seen = last.scalar_subquery()
        query = query.where(number > seen if is_ascending else number < seen)
    if state is not None:
        query = query.where(approvals.c.state == state)
    return [_approval(row) for row in connection.execute(query)]


def list_latest_states(connection: Connection, limit: int) -> list[ApprovalStanding]:
    names = tuple(ApprovalStanding.model_fields)
    rows = connection.execute(_LATEST_STATES.limit(limit))
    return _STATES.validate_python([dict(zip(names, row, strict=True)) for row in rows])


def count_pending(connection: Connection, user: str | None) -> int:
    query = select(func.count()).select_from(approvals).where(approvals.c.state == "pending")
    if user is not None:  # what the user waits for; nobody waits for an audit
        query = query.where(approvals.c.user_name == user, approvals.c.why != "audit")
    return connection.execute(query).scalar_one()


def find(connection: Connection, name: str) -> Approval:
    if not name:
        raise InputError(f'Name an approval by its id, the id of its run, a prefix of either, or "{LAST}".')
    newest_first = select(approvals).order_by(approvals.c.number.desc())
    if name == LAST:
        row = connection.execute(newest_first.where(approvals.c.state == "pending").limit(1)).one_or_none()
        if row is None:
            raise InputError("No approval is pending.")
        return _approval(row)
    prefixes = (func.substr(column, 1, len(name)) == name for column in (approvals.c.approval_id, approvals.c.run_id))
    for condition in (approvals.c.approval_id == name, approvals.c.run_id == name, or_(*prefixes)):
        if rows := connection.execute(newest_first.where(condition)).all():
            _require_single_run(name, rows)
            return _approval(rows[0])
    raise _not_found(name)


def find_to_decide(connection: Connection, name: str) -> Approval:
    """Like `find`, but refuses to guess among several drafts of a run: the person may have seen another one."""
    approval = find(connection, name)
    if approval.approval_id != name and (count := len(list_of_run(connection, approval.run_id))) > 1:
        raise InputError(
            f'The run "{presentable(approval.run_id)}" has {count} drafts, and the one you saw may not be the newest: '
            f'to decide on the newest, write its full id, "{presentable(approval.approval_id)}".'
        )
    return approval


def supersede(connection: Connection, run_id: str) -> None:
    """The run's pending drafts can no longer be decided."""
    pending = (approvals.c.run_id == run_id) & (approvals.c.state == "pending")
    connection.execute(update(approvals).where(pending).values(state="superseded", decided_at=datetime.now(UTC)))


def end_on_reject(connection: Connection, run_id: str) -> None:
    """The run's pending draft can no longer lead to a web search or another draft: its checkpoints are deleted."""
    pending = (approvals.c.run_id == run_id) & (approvals.c.state == "pending")
    connection.execute(update(approvals).where(pending).values(send_backs=0))
    connection.execute(update(approvals).where(pending & (approvals.c.on_reject == "search")).values(on_reject="end"))


def replace_draft(connection: Connection, approval_id: str, draft: Answer, *, erase_decision: bool) -> None:
    """With `erase_decision`, the decision's texts are erased too, because they may quote the draft."""
    values: dict[str, Any] = {"draft": draft.model_dump(mode="json")}
    if erase_decision:
        values |= {"reason": "", "edit": None}
    connection.execute(update(approvals).where(approvals.c.approval_id == approval_id).values(values))


def erase_question(connection: Connection, run_id: str) -> None:
    connection.execute(update(approvals).where(approvals.c.run_id == run_id).values(question="", conversation=""))


def _require_single_run(name: str, rows: Sequence[Row[Any]]) -> None:
    runs = {row.run_id for row in rows}
    if len(runs) > 1:
        pending = list(dict.fromkeys(row.run_id for row in rows if row.state == "pending"))
        which = f"{len(pending)} pending: {list_ids(pending)}" if pending else "none is pending"
        raise InputError(
            f'Approvals of {len(runs)} runs start with "{presentable(name)}" ({which}): write more of the id.'
        )


def _is_repeated(connection: Connection, approval: Approval, decision: Decision, key: str) -> bool:
    """Whether the stored decision was made with the same key, by the same person, with the same content."""
    stored_key = select(approvals.c.decision_key).where(approvals.c.approval_id == approval.approval_id)
    stored = approval.decision
    if stored is None or not key or connection.execute(stored_key).scalar() != as_stored(key):
        return False
    edit = None if decision.edit is None else as_stored(decision.edit)
    content = (decision.verdict, decision.by, as_stored(decision.reason), edit)
    return (stored.verdict, stored.by, stored.reason, stored.edit) == content


def _require_send_back(approval: Approval) -> None:
    name = presentable(approval.approval_id)
    if approval.why == "audit":
        raise InputError(f'"{name}" is an audit of an answer that was released: approve or reject it.', "no_send_back")
    if approval.draft.status == "abstained":
        raise InputError(f'"{name}" has no draft to send back: approve or reject it.', "no_send_back")
    if approval.send_backs < 1:
        raise InputError(f'"{name}" cannot be sent back again: approve, edit or reject it.', "no_send_back")


def _conflict(approval: Approval, expected_hash: str | None) -> DecisionError:
    name, decision = presentable(approval.approval_id), approval.decision
    if approval.state == "superseded":
        return SupersededError(f'The draft "{name}" can no longer be decided: a document it depends on was forgotten.')
    if expected_hash not in (None, approval.draft_hash):
        return SupersededError(f'The draft "{name}" has changed since you read it: review it again.')
    if approval.state in ("pending", "expired"):
        return DecidedError(f'The draft "{name}" has expired: nobody decided in time.')
    by = f'by "{presentable(decision.by)}" at {decision.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC' if decision else ""
    done = approval.state.replace("_", " ")
    return DecidedError(f'The draft "{name}" was already {done} {by}'.rstrip() + ": your decision is ignored.")


def _row(connection: Connection, approval_id: str) -> Row[Any] | None:
    return connection.execute(select(approvals).where(approvals.c.approval_id == approval_id)).one_or_none()


def _not_found(name: str) -> InputError:
    return NotFoundError(f'There is no approval "{presentable(name)}".')


def _approval(row: Row[Any]) -> Approval:
    return Approval.model_validate({**row._mapping, "user": row.user_name, "decision": _decision(row)})


def _decision(row: Row[Any]) -> Decision | None:
    if row.verdict is None:
        return None
    at = row.decided_at or datetime.now(UTC)
    return Decision.model_validate({**row._mapping, "by": row.decided_by, "at": at})
