"""Shows an answer and, where it waits for a person who sits there, lets them approve, reject or edit it.

Knows nothing about what follows from a decision.
"""

from __future__ import annotations

import getpass
import os
import shlex
import subprocess
import tempfile
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from veracity.cli.ui.answers import WAITING, show
from veracity.cli.ui.console import console, plain, score_text, table
from veracity.cli.ui.progress import complain, errors, is_interactive, watched
from veracity.engine import Veracity
from veracity.errors import InputError, reason_of
from veracity.models import LOCAL, Answer, Approval, ApprovalReason, OnReject, Verdict

CHOICES = ("approve", "reject", "edit", "later")
WHY: dict[ApprovalReason, str] = {
    "low_score": "it scored below the threshold",
    "not_scored": "it could not be scored",
    "not_reviewed": "it could not be reviewed",
    "abstained": "the documents do not say, and the web could be searched",
    "policy": "every answer is approved here",
}
ON_REJECT: dict[OnReject, str] = {
    "search": "the web is searched, once, and its answer is examined in the same way",
    "searched": "that is the end: the web was searched already, and is not searched again",
    "end": "that is the end: the web is not searched (no web.provider is set, or a document it found was forgotten)",
}
WAITS = 3  # the exit code where an answer waits for a person
NO_EDITOR = "No editor is set: name one in the environment variable EDITOR."


@dataclass(frozen=True, slots=True)
class Choice:
    verdict: Verdict
    reason: str = ""
    edit: str | None = None


def present(engine: Veracity, answer: Answer, show_steps: bool, *, brief: bool = False) -> Answer:
    """Shows what came of a question, and what comes of the decisions on it. What is left for later still waits."""
    while answer.status == WAITING and is_interactive():
        approval = engine.approval(answer.approval_id)
        show_draft(approval)
        choice = _chosen(approval)
        if choice is None:
            return answer
        try:
            answer = _decided(engine, approval, choice, show_steps)
        except InputError as problem:  # an edit that is too long: the draft still waits
            complain(problem)
            continue
        if choice.verdict == "approve" and choice.edit is None:
            console.print(plain("Approved: the answer stands as it is shown above.", "green"))
            return answer
    show(answer, brief=brief)
    return answer


def show_draft(approval: Approval) -> None:
    """What whoever decides must know: the draft, its scores, why it waits, and what a rejection does."""
    console.print(plain(f"Draft for: {' '.join(approval.question.split())}", "bold cyan"))
    show(approval.draft)
    if approval.draft.evaluation:
        rows = table("Metric", "Score", "Comment", right=("Score",))
        for metric in approval.draft.evaluation.metrics:
            rows.add_row(plain(metric.metric_name), score_text(metric.score), plain(metric.evaluator_comment))
        console.print()
        console.print(rows)
    console.print(plain(f"\nIt waits for a person: {WHY[approval.why]}.", "bold"))
    console.print(plain(_consequence(approval)))


def how_to_decide(approval_id: str, workspace: Path | None) -> str:
    return (
        f"To decide: {to_type('approve', approval_id, workspace)}   (--show: see the draft first)\n"
        f"       or: {to_type('reject', approval_id, workspace)}"
    )


def to_type(command: str, approval_id: str, workspace: Path | None) -> str:
    """As it is to be typed where this was: in the same workspace."""
    where = "" if workspace is None else f" -w {shlex.quote(str(workspace))}"
    return f"veracity {command} {approval_id}{where}"


def left(answer: Answer, workspace: Path | None, as_json: bool) -> int:
    """The exit code, and for what still waits how to decide on it."""
    if answer.status != WAITING:
        return 0
    (errors if as_json else console).print(plain(how_to_decide(answer.approval_id, workspace)), soft_wrap=True)
    return WAITS


def login_name() -> str:
    try:
        return getpass.getuser() or LOCAL
    except (OSError, KeyError, ImportError):
        return LOCAL


def _consequence(approval: Approval) -> str:
    return f"If you reject it, {ON_REJECT[approval.on_reject]}."


def _decided(engine: Veracity, approval: Approval, choice: Choice, show_steps: bool) -> Answer:
    """On the draft that was shown, and on no other."""
    events = engine.stream_decision(
        approval.approval_id,
        choice.verdict,
        reason=choice.reason,
        edit=choice.edit,
        by=login_name(),
        draft_hash=approval.draft_hash,
    )
    return watched(events, show_steps, decided=True)


def _chosen(approval: Approval) -> Choice | None:
    """None for later. Who goes away without a word has not decided."""
    from veracity.cli.ui.input import drop_typed, line  # noqa: PLC0415 - loads prompt_toolkit

    drop_typed()  # whoever typed it had not seen the draft
    while (said := line("Approve, reject, edit or later? [a/r/e/l] ")) is not None:
        match _meant(said):
            case "approve":
                return Choice("approve")
            case "reject":
                reason = line("Why? (may be empty) ")
                if reason is not None:
                    return Choice("reject", reason.strip())
            case "edit":
                if edit := _edited(approval.draft.text):
                    return Choice("approve", edit=edit)
            case "later":
                return None
            case _:
                console.print(plain("Type a, r, e or l."))
    return None


def _meant(said: str) -> str:
    """The beginning of a choice, typed with full-width letters or not."""
    word = unicodedata.normalize("NFKC", said).strip().casefold()
    return next((choice for choice in CHOICES if word and choice.startswith(word)), "")


def _edited(text: str) -> str:
    """What the person makes of it in their editor. Empty where they thought better of it, or could not."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    if not editor:
        complain(NO_EDITOR)
        return ""
    with tempfile.TemporaryDirectory(prefix="veracity-") as folder:  # nobody else may look into it
        path = Path(folder) / "answer.md"
        path.write_text(f"{text}\n", encoding="utf-8")
        try:
            subprocess.run([*editor, str(path)], check=True)
            changed = path.read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError, subprocess.CalledProcessError) as problem:
            complain(f"The editor did not do it ({_failed(problem)}): nothing is changed.")
            return ""
    if changed in ("", text.strip()):
        console.print(plain("Nothing was changed."))
        return ""
    return changed


def _failed(problem: OSError | UnicodeDecodeError | subprocess.CalledProcessError) -> str:
    if isinstance(problem, subprocess.CalledProcessError):
        return f"it ended with the code {problem.returncode}"
    if isinstance(problem, OSError):
        return reason_of(problem)
    return "what it left is not UTF-8 text"
