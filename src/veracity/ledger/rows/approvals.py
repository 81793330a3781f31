"""The rows of approvals: drafts that wait for a person, and what was decided (SPEC D6).

A decision is a swap of a row that is pending and holds that very draft: of many who decide, one does. Knows nothing
about what follows from a decision.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, or_, select, update

from veracity.errors import DecidedError, DecisionError, InputError, NotFoundError, SupersededError
from veracity.ledger.tables import approvals, as_stored
from veracity.models import Answer, Approval, ApprovalState, Decision
from veracity.printable import encodable
from veracity.secrets import presentable

LAST = "last"
MOST_NAMED = 5  # approvals in one message
STATES: dict[str, ApprovalState] = {"approve": "approved", "reject": "rejected"}


def draft_hash(answer: Answer) -> str:
    """Of what would go out: another text, other evidence or another attempt is another draft."""
    outgoing = {"text": answer.text, "evidence": [item.id for item in answer.evidence], "attempt": answer.attempt}
    canonical = json.dumps(outgoing, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(encodable(canonical).encode()).hexdigest()


def add(connection: Connection, approval: Approval, user: str, conversation: str) -> Approval:
    """Adding it again changes nothing. What is there is returned."""
    there = _row(connection, approval.approval_id)
    if there is None:
        values = approval.model_dump(exclude={"user", "conversation", "draft", "state", "decision"})
        whose = {"user_name": user, "conversation": conversation}
        draft = approval.draft.model_dump(mode="json")
        fresh = {"draft": draft, "state": "pending", "reason": "", "decision_key": ""}
        connection.execute(insert(approvals), {**values, **whose, **fresh})
    return one(connection, approval.approval_id)


def decide(connection: Connection, found: Approval, decision: Decision, known_hash: str | None, key: str) -> Approval:
    approval_id = found.approval_id
    if found.state == "pending" and known_hash in (None, found.draft_hash):
        values = {
            "state": STATES[decision.verdict],
            "verdict": decision.verdict,
            "decided_by": decision.by,
            "decided_at": decision.at,
            "reason": decision.reason,
            "edit": decision.edit,
            "decision_key": key,
        }
        same = (approvals.c.approval_id == approval_id) & (approvals.c.state == "pending")
        same &= approvals.c.draft_hash == found.draft_hash
        if connection.execute(update(approvals).where(same).values(values)).rowcount == 1:
            return one(connection, approval_id)
        found = one(connection, approval_id)
    if known_hash in (None, found.draft_hash) and _is_same(connection, found, decision, key):
        return found
    raise _too_late(found, known_hash)


def of_run(connection: Connection, run_id: str) -> list[Approval]:
    """The oldest first."""
    theirs = select(approvals).where(approvals.c.run_id == run_id).order_by(approvals.c.number)
    return [_approval(row) for row in connection.execute(theirs)]


def listed(connection: Connection, limit: int, user: str | None, state: str | None, after: str = "") -> list[Approval]:
    """Those that wait: the longest waiting first. Else the newest first. With `after`, those that follow this one."""
    number, is_waiting = approvals.c.number, state == "pending"
    wanted = select(approvals).order_by(number.asc() if is_waiting else number.desc()).limit(limit)
    last = select(number).where(approvals.c.approval_id == after)
    if user is not None:
        wanted, last = wanted.where(approvals.c.user_name == user), last.where(approvals.c.user_name == user)
    if after:
        seen = last.scalar_subquery()
        wanted = wanted.where(number > seen if is_waiting else number < seen)
    if state is not None:
        wanted = wanted.where(approvals.c.state == state)
    return [_approval(row) for row in connection.execute(wanted)]


def one(connection: Connection, approval_id: str) -> Approval:
    row = _row(connection, approval_id)
    if row is None:
        raise _unknown(approval_id)
    return _approval(row)


def named(connection: Connection, name: str) -> Approval:
    """By its id, by the id of its run (then the newest of it), by the beginning of either, or the newest that waits."""
    if name == LAST:
        return _newest_pending(connection)
    if not name:
        raise InputError(f'An approval is named by its id, by that of its run, by the beginning of them, or "{LAST}".')
    for fits in (
        approvals.c.approval_id == name,
        approvals.c.run_id == name,
        or_(
            func.substr(approvals.c.approval_id, 1, len(name)) == name,
            func.substr(approvals.c.run_id, 1, len(name)) == name,
        ),
    ):
        found = connection.execute(select(approvals).where(fits).order_by(approvals.c.number.desc())).all()
        if found:
            return _approval(_of_one_run(name, found))
    raise _unknown(name)


def named_to_decide(connection: Connection, name: str) -> Approval:
    """The same, but of a run that has several only by the whole id: who looked at one must not decide on another."""
    found = named(connection, name)
    if found.approval_id != name and (count := len(of_run(connection, found.run_id))) > 1:
        raise InputError(
            f'The run "{presentable(found.run_id)}" has {count} drafts, and the one you saw may not be the newest: '
            f'to decide on that, name its whole id, "{presentable(found.approval_id)}".'
        )
    return found


def supersede(connection: Connection, run_id: str) -> None:
    """What waits of this run cannot be decided any more."""
    pending = (approvals.c.run_id == run_id) & (approvals.c.state == "pending")
    connection.execute(update(approvals).where(pending).values(state="superseded", decided_at=datetime.now(UTC)))


def cannot_search(connection: Connection, run_id: str) -> None:
    """Its progress is gone: where what waits is rejected, the run ends."""
    pending = (approvals.c.run_id == run_id) & (approvals.c.state == "pending") & (approvals.c.on_reject == "search")
    connection.execute(update(approvals).where(pending).values(on_reject="end"))


def replace_draft(connection: Connection, approval_id: str, draft: Answer, *, mute: bool) -> None:
    """`mute`: what the person said goes too, since it may quote."""
    values: dict[str, Any] = {"draft": draft.model_dump(mode="json")}
    if mute:
        values |= {"reason": "", "edit": None}
    connection.execute(update(approvals).where(approvals.c.approval_id == approval_id).values(values))


def remove_question(connection: Connection, run_id: str) -> None:
    nothing = {"question": "", "conversation": ""}
    connection.execute(update(approvals).where(approvals.c.run_id == run_id).values(nothing))


def _newest_pending(connection: Connection) -> Approval:
    pending = select(approvals).where(approvals.c.state == "pending").order_by(approvals.c.number.desc()).limit(1)
    row = connection.execute(pending).one_or_none()
    if row is None:
        raise InputError("Nothing waits for a decision.")
    return _approval(row)


def _of_one_run(name: str, found: Sequence[Row[Any]]) -> Row[Any]:
    runs = list(dict.fromkeys(row.run_id for row in found))
    if len(runs) > 1:
        waiting = list(dict.fromkeys(row.run_id for row in found if row.state == "pending"))
        told = ", ".join(map(presentable, waiting[:MOST_NAMED])) + (", …" if len(waiting) > MOST_NAMED else "")
        which = f"{len(waiting)} of them wait: {told}" if waiting else "none of them waits"
        raise InputError(f'Approvals of {len(runs)} runs begin with "{presentable(name)}" ({which}): write more of it.')
    return found[0]


def _is_same(connection: Connection, found: Approval, decision: Decision, key: str) -> bool:
    """That which counts, said again by the same person: under another verdict, reason or text a key is no excuse."""
    counted = select(approvals.c.decision_key).where(approvals.c.approval_id == found.approval_id)
    if found.decision is None or not key or connection.execute(counted).scalar() != as_stored(key):
        return False
    edit = None if decision.edit is None else as_stored(decision.edit)
    said = (decision.verdict, decision.by, as_stored(decision.reason), edit)
    return (found.decision.verdict, found.decision.by, found.decision.reason, found.decision.edit) == said


def _too_late(found: Approval, known_hash: str | None) -> DecisionError:
    shown = presentable(found.approval_id)
    if found.state == "superseded":
        return SupersededError(f'The draft of "{shown}" cannot be decided on any more: what it rests on was forgotten.')
    if known_hash not in (None, found.draft_hash):
        return SupersededError(f'The draft of "{shown}" is not the one that was decided on: look at it again.')
    decision = found.decision
    who, what = (presentable(decision.by), found.state) if decision else ("someone", found.state)
    when = f" at {decision.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if decision else ""
    return DecidedError(f'The draft of "{shown}" was {what} by "{who}"{when}: this decision does not count.')


def _row(connection: Connection, approval_id: str) -> Row[Any] | None:
    return connection.execute(select(approvals).where(approvals.c.approval_id == approval_id)).one_or_none()


def _unknown(name: str) -> InputError:
    return NotFoundError(f'There is no approval "{presentable(name)}".')


def _approval(row: Row[Any]) -> Approval:
    known = row._mapping
    plain = {name: known[name] for name in Approval.model_fields if name in known}
    return Approval.model_validate({**plain, "user": row.user_name, "decision": _decision(row)})


def _decision(row: Row[Any]) -> Decision | None:
    if row.verdict is None:
        return None
    return Decision(
        verdict=row.verdict,
        by=row.decided_by,
        at=row.decided_at or datetime.now(UTC),
        attempt=row.attempt,
        reason=row.reason,
        edit=row.edit,
    )
