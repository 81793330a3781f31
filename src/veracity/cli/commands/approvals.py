"""`veracity approvals`, `approve`, `reject`, `send-back`, `assign` and `recover`."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from veracity.cli.commands.evaluate import read_input
from veracity.cli.ui.answers import show_answer
from veracity.cli.ui.approval_prompt import decision_commands, exit_if_awaiting, login_name, show_draft
from veracity.cli.ui.console import console, is_narrow, one_line, plain, print_json, score_style, table
from veracity.cli.ui.progress import follow, report_interrupted, resume_interrupted
from veracity.engine import Veracity, require_existing_workspace, require_workspace
from veracity.errors import InputError
from veracity.models import Answer, Approval, Verdict
from veracity.models.evaluation import points
from veracity.models.strength import Scales
from veracity.secrets import presentable

LAST, PENDING = "last", "pending"
NONE_PENDING = "No approvals are pending."
MAX_PENDING = 100_000
MIN_HASH_LENGTH = 8  # characters that identify a draft


def recover(workspace: Path | None) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        if not engine.interrupted():
            console.print(plain("No run was interrupted."))
        resume_interrupted(engine)


def list_approvals(user: str | None, state: str, workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        report_interrupted(engine)
        approvals = engine.approvals(user=user, state=state)
    if as_json:
        print_json(approvals)
    elif not approvals:
        console.print(plain(NONE_PENDING if state == PENDING else "No approval has this state."))
    else:
        show_approvals(approvals)
        if any(approval.state == PENDING for approval in approvals):
            can_be_sent_back = any(approval.send_backs > 0 for approval in approvals)
            hint = decision_commands("ID", workspace, can_be_sent_back=can_be_sent_back)
            console.print(plain(f"\n{hint}", "dim"), soft_wrap=True)


def show_approvals(approvals: list[Approval]) -> None:
    """User and state are shown if they differ between rows, the time if there is room: the id begins with it."""
    users = ["User"] if len({approval.user for approval in approvals}) > 1 else []
    states = [] if all(approval.state == PENDING for approval in approvals) else ["State"]
    times = [] if is_narrow() else ["Since (UTC)"]
    people = ["For"] if any(approval.assignee for approval in approvals) else []
    columns = ("Approval", *states, *times, "Why", "Score", *users, *people, "Question")
    rows = table(*columns, right=("Score",), whole=("Approval", *states, *times))
    for approval in approvals:
        cells = {
            "Approval": plain(approval.approval_id),
            "State": plain(approval.state.replace("_", " ")),
            "Since (UTC)": plain(f"{approval.created:%Y-%m-%d %H:%M}"),
            "Why": plain(approval.why.replace("_", " ")),
            "Score": _score(approval.draft.score),
            "User": plain(approval.user),
            "For": plain(approval.assignee),
            "Question": plain(one_line(approval.question)),
        }
        rows.add_row(*(cells[column] for column in columns))
    console.print(rows)


def find_pending(engine: Veracity, user: str, name: str) -> Approval:
    """A pending approval of this user's questions, by its id or a prefix, its run's id, or the newest ("last")."""
    approvals = engine.approvals(user=user, limit=MAX_PENDING)
    if not approvals:
        raise InputError(NONE_PENDING)
    if name in ("", LAST):
        return approvals[-1]
    exact = [approval for approval in approvals if name in (approval.approval_id, approval.run_id)]
    matches = exact or [approval for approval in approvals if approval.approval_id.startswith(name)]
    if not matches:
        raise InputError(f'You have no pending approval "{presentable(name)}": see /approvals.')
    if len(matches) > 1:
        raise InputError(f'{len(matches)} pending approvals start with "{presentable(name)}": type more of the id.')
    return matches[0]


def approve(
    name: str,
    edit: str | None,
    by: str | None,
    draft: str | None,
    only_show: bool,
    workspace: Path | None,
    as_json: bool,
) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        approval = engine.approval(name)
        if only_show:
            _show(approval, engine.settings.scales, as_json)
            return
        text = None if edit is None else read_input(edit, "edited answer")
        draft_hash = approval.draft_hash if draft is None or _is_hash_of(draft, approval) else draft
        answer = _decide(engine, approval, name, "approve", by, edit=text, draft_hash=draft_hash)
        _finish(engine, answer, workspace, as_json)


def refuse(verdict: Verdict, name: str, reason: str, by: str | None, workspace: Path | None, as_json: bool) -> None:
    """Reject a draft, or send it back with `reason` as the note."""
    with Veracity(require_workspace(workspace)) as engine:
        approval = engine.approval(name)
        answer = _decide(engine, approval, name, verdict, by, reason=reason, draft_hash=approval.draft_hash)
        _finish(engine, answer, workspace, as_json)


def assign(name: str, person: str, workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        approval = engine.inbox.assign(engine.approval(name).approval_id, person)
    if as_json:
        print_json(approval)
    else:
        assigned = f"assigned to {approval.assignee}" if approval.assignee else "assigned to nobody"
        console.print(plain(f"{approval.approval_id}: {assigned}."))


def _show(approval: Approval, scales: Scales, as_json: bool) -> None:
    if as_json:
        print_json(approval)
        return
    show_draft(approval, scales)
    if approval.state != PENDING:
        console.print(plain(f"Already {approval.state.replace('_', ' ')}: no decision is possible.", "yellow"))
    console.print(plain(f"Approval {approval.approval_id}, draft {approval.draft_hash[:16]}", "dim"))


def _decide(
    engine: Veracity,
    approval: Approval,
    name: str,
    verdict: Verdict,
    by: str | None,
    *,
    reason: str = "",
    edit: str | None = None,
    draft_hash: str,
) -> Answer:
    """Without the full id only the run is named, which the engine refuses if the run has several drafts."""
    target = approval.approval_id if name == approval.approval_id else approval.run_id
    events = engine.stream_decision(
        target, verdict, reason=reason, edit=edit, by=by or login_name(), draft_hash=draft_hash
    )
    return follow(events, show_steps=False, is_decided=True)


def _finish(engine: Veracity, answer: Answer, workspace: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        show_answer(answer, engine.settings.scales)
    exit_if_awaiting(engine, answer, workspace, as_json)


def _is_hash_of(draft: str, approval: Approval) -> bool:
    return len(draft) >= MIN_HASH_LENGTH and approval.draft_hash.startswith(draft.lower())


def _score(score: float | None) -> Text:
    return plain("–") if score is None else plain(f"{points(score)}", score_style(100 * score))
