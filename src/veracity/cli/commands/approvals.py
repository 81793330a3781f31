"""`veracity approvals`, `veracity approve` and `veracity reject`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.text import Text

from veracity.cli.commands.evaluate import read_text
from veracity.cli.commands.ingest import chosen, existing
from veracity.cli.ui.answers import show
from veracity.cli.ui.approval_prompt import how_to_decide, left, login_name, show_draft
from veracity.cli.ui.console import console, is_narrow, plain, score_style, table
from veracity.cli.ui.progress import take_up, tell_interrupted, watched
from veracity.engine import Veracity
from veracity.errors import InputError
from veracity.models import Answer, Approval, Verdict
from veracity.secrets import presentable

LAST, PENDING = "last", "pending"
MOST_WAITING = 100_000
SHORTEST_HASH = 8  # characters that tell a draft from another


def recover(workspace: Path | None) -> None:
    with Veracity(existing(workspace)) as engine:
        if not engine.interrupted():
            console.print(plain("No run was interrupted."))
        take_up(engine)


def run(user: str | None, state: str, workspace: Path | None, as_json: bool) -> None:
    with Veracity(existing(workspace)) as engine:
        tell_interrupted(engine)
        found = engine.approvals(user=user, state=state)
    if as_json:
        print(json.dumps([one.model_dump(mode="json") for one in found], ensure_ascii=False, indent=2))
        return
    if not found:
        console.print(plain("Nothing waits for a person." if state == PENDING else "There is no such approval."))
        return
    show_approvals(found)
    if any(one.state == PENDING for one in found):
        console.print(plain(f"\n{how_to_decide('ID', workspace)}", "dim"), soft_wrap=True)


def show_approvals(found: list[Approval]) -> None:
    """Who asked is told where it was more than one person, how they stand where not all wait, since when where there is
    room: an approval is named after that time."""
    people = ["User"] if len({one.user for one in found}) > 1 else []
    states = [] if all(one.state == PENDING for one in found) else ["State"]
    since = [] if is_narrow() else ["Since (UTC)"]
    columns = ("Approval", *states, *since, "Why", "Score", *people, "Question")
    rows = table(*columns, right=("Score",), whole=("Approval", *states, *since))
    for one in found:
        state, who = [plain(one.state)] if states else [], [plain(one.user)] if people else []
        when = [plain(f"{one.created:%Y-%m-%d %H:%M}")] if since else []
        cells = (plain(one.why.replace("_", " ")), _score(one.draft.score))
        rows.add_row(plain(one.approval_id), *state, *when, *cells, *who, plain(" ".join(one.question.split())))
    console.print(rows)


def waiting_of(engine: Veracity, user: str, name: str) -> Approval:
    """Of what this user asked, and of nothing else: by its id, that of its run, the beginning of it, or the newest."""
    waiting = engine.approvals(user=user, limit=MOST_WAITING)
    if not waiting:
        raise InputError("Nothing waits for a person.")
    if name in ("", LAST):
        return waiting[-1]
    whole = [one for one in waiting if name in (one.approval_id, one.run_id)]
    named = whole or [one for one in waiting if one.approval_id.startswith(name)]
    if not named:
        raise InputError(f'Nothing of yours waits as "{presentable(name)}": see /approvals.')
    if len(named) > 1:
        raise InputError(f'{len(named)} answers wait that begin with "{presentable(name)}": write more of the id.')
    return named[0]


def _score(score: float | None) -> Text:
    return plain("–") if score is None else plain(f"{score:.2f}", score_style(100 * score))


def approve(
    name: str,
    edit: str | None,
    by: str | None,
    draft: str | None,
    only_show: bool,
    workspace: Path | None,
    as_json: bool,
) -> int:
    with Veracity(chosen(workspace)) as engine:
        approval = engine.approval(name)
        if only_show:
            _show(approval, as_json)
            return 0
        text = None if edit is None else _read(edit)
        known = approval.draft_hash if draft is None or _begins(approval, draft) else draft
        answer = _decided(engine, approval, name, "approve", by=by, edit=text, draft_hash=known)
    return _tell(answer, workspace, as_json)


def reject(name: str, reason: str, by: str | None, workspace: Path | None, as_json: bool) -> int:
    with Veracity(chosen(workspace)) as engine:
        approval = engine.approval(name)
        answer = _decided(engine, approval, name, "reject", by=by, reason=reason, draft_hash=approval.draft_hash)
    return _tell(answer, workspace, as_json)


def _show(approval: Approval, as_json: bool) -> None:
    if as_json:
        print(approval.model_dump_json(indent=2))
        return
    show_draft(approval)
    if approval.state != "pending":
        console.print(plain(f"It is {approval.state} already: nothing can be decided any more.", "yellow"))
    console.print(plain(f"Approval {approval.approval_id}, draft {approval.draft_hash[:16]}", "dim"))


def _decided(
    engine: Veracity,
    approval: Approval,
    name: str,
    verdict: Verdict,
    *,
    by: str | None,
    reason: str = "",
    edit: str | None = None,
    draft_hash: str,
) -> Answer:
    """Who named less than the whole id has named the run: that is refused where it has several drafts."""
    meant = approval.approval_id if name == approval.approval_id else approval.run_id
    events = engine.stream_decision(
        meant, verdict, reason=reason, edit=edit, by=by or login_name(), draft_hash=draft_hash
    )
    return watched(events, show_steps=False, decided=True)


def _tell(answer: Answer, workspace: Path | None, as_json: bool) -> int:
    if as_json:
        print(answer.model_dump_json(indent=2))
    else:
        show(answer)
    return left(answer, workspace, as_json)


def _begins(approval: Approval, draft: str) -> bool:
    return len(draft) >= SHORTEST_HASH and approval.draft_hash.startswith(draft.lower())


def _read(edit: str) -> str:
    if edit != "-":
        return read_text(Path(edit))
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("What came in on standard input is not UTF-8 text.") from None
    except AttributeError:  # there is none
        raise InputError("Standard input is closed: name the file of the edited answer instead.") from None
