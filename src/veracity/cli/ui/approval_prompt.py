"""Shows a pending draft and, at a terminal, asks the user to approve, reject, send back or edit it."""

from __future__ import annotations

import getpass
import os
import shlex
import subprocess
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from veracity.cli.ui.answers import AWAITING, label, list_scores, show_answer
from veracity.cli.ui.console import (
    console,
    error_console,
    is_interactive,
    one_line,
    plain,
    print_error,
    score_text,
    table,
)
from veracity.cli.ui.progress import follow
from veracity.engine import Veracity
from veracity.errors import InputError, reason_of
from veracity.locales import text
from veracity.models import LOCAL, Answer, Approval, Verdict
from veracity.models.strength import Scales

EXIT_AWAITING = 3
CHOICES = ("approve", "reject", "send back", "edit", "later")


@dataclass(frozen=True, slots=True)
class Choice:
    verdict: Verdict
    reason: str = ""
    edit: str | None = None


def show_or_decide(engine: Veracity, answer: Answer, show_steps: bool, *, brief: bool = False) -> Answer:
    """Prints the answer. If it awaits approval and the terminal is interactive, asks for a decision first."""
    scales = engine.settings.scales
    while answer.status == AWAITING and is_interactive():
        approval = engine.approval(answer.approval_id)
        show_draft(approval, scales)
        choice = _ask_for_choice(approval)
        if choice is None:
            return answer
        try:
            answer = _decide(engine, approval, choice, show_steps)
        except InputError as error:  # for example an edit that is too long: the draft is still pending
            print_error(error)
            continue
        if choice.verdict == "approve" and choice.edit is None:
            console.print(plain(label(answer.language, "approved"), "green"))
            return answer
    show_answer(answer, scales, brief=brief)
    return answer


def show_draft(approval: Approval, scales: Scales) -> None:
    """Prints the draft, its scores, why it needs approval, and the effect of a rejection."""
    language = approval.draft.language
    console.print(plain(label(language, "draft_for", question=one_line(approval.question)), "bold cyan"))
    show_answer(approval.draft, scales)
    scores = list_scores(approval.draft.evaluation, approval.draft.grounding)
    if scores:
        columns = [label(language, f"column.{name}") for name in ("metric", "score", "comment")]
        rows = table(*columns, right=(columns[1],))
        for metric in scores:
            rows.add_row(plain(metric.metric_name), score_text(metric.score), plain(metric.evaluator_comment))
        console.print()
        console.print(rows)
    why = text(language, "notices", f"waiting_{approval.why}")
    console.print(plain(f"\n{label(language, 'approval_needed', why=why)}", "bold"))
    console.print(plain(label(language, f"on_reject.{approval.on_reject}")))


def decision_commands(
    approval_id: str, workspace: Path | None, language: str = "en", *, can_be_sent_back: bool = False
) -> str:
    commands = {verdict: command_line(verdict, approval_id, workspace) for verdict in ("approve", "reject")}
    hint = label(language, "to_decide", **commands)
    if not can_be_sent_back:
        return hint
    return hint + label(
        language, "to_send_back", send_back=command_line("send-back", f'{approval_id} --note "…"', workspace)
    )


def pending_commands(engine: Veracity, answer: Answer, workspace: Path | None) -> str:
    """The commands to decide on this pending answer."""
    can_be_sent_back = engine.approval(answer.approval_id).send_backs > 0
    return decision_commands(answer.approval_id, workspace, answer.language, can_be_sent_back=can_be_sent_back)


def command_line(command: str, arguments: str, workspace: Path | None) -> str:
    """The command with the workspace option, to show to the user."""
    option = "" if workspace is None else f" -w {shlex.quote(str(workspace))}"
    return f"veracity {command} {arguments}{option}"


def exit_if_awaiting(engine: Veracity, answer: Answer, workspace: Path | None, as_json: bool) -> None:
    """For a pending answer, prints the commands to decide and exits with 3."""
    if answer.status == AWAITING:
        screen = error_console if as_json else console
        screen.print(plain(pending_commands(engine, answer, workspace)), soft_wrap=True)
        raise typer.Exit(EXIT_AWAITING)


def login_name() -> str:
    try:
        return getpass.getuser() or LOCAL
    except (OSError, KeyError, ImportError):
        return LOCAL


def _decide(engine: Veracity, approval: Approval, choice: Choice, show_steps: bool) -> Answer:
    events = engine.stream_decision(
        approval.approval_id,
        choice.verdict,
        reason=choice.reason,
        edit=choice.edit,
        by=login_name(),
        draft_hash=approval.draft_hash,
    )
    return follow(events, show_steps, is_decided=True)


def _ask_for_choice(approval: Approval) -> Choice | None:
    """The user's choice; None for "later", Ctrl-C and Ctrl-D."""
    from veracity.cli.ui.input import discard_typed_input, read_line  # noqa: PLC0415 - loads prompt_toolkit

    discard_typed_input()  # typed before the draft was visible
    language = approval.draft.language
    while (typed := read_line(label(language, "choose"))) is not None:
        match _match_choice(typed):
            case "approve":
                return Choice("approve")
            case "reject":
                reason = read_line(label(language, "why"))
                if reason is not None:
                    return Choice("reject", reason.strip())
            case "send back":
                if note := _ask_for_note(approval, read_line):
                    return Choice("send_back", note)
            case "edit":
                if edit := _edit(approval.draft.text):
                    return Choice("approve", edit=edit)
            case "later":
                return None
            case _:
                console.print(plain(label(language, "type_a_letter")))
    return None


def _ask_for_note(approval: Approval, read_line: Callable[[str], str | None]) -> str:
    """Empty if the draft cannot be sent back, or nothing was typed."""
    language = approval.draft.language
    if approval.send_backs < 1:
        console.print(plain(label(language, "no_send_back")))
        return ""
    return (read_line(label(language, "note")) or "").strip()


def _match_choice(typed: str) -> str:
    """The choice that starts with the typed letters, which may be full-width."""
    word = unicodedata.normalize("NFKC", typed).strip().casefold()
    return next((choice for choice in CHOICES if word and choice.startswith(word)), "")


def _edit(text: str) -> str:
    """Opens the text in the user's editor. Returns the edited text, empty if the editor failed or nothing changed."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    if not editor:
        print_error("No editor is set: name one in the environment variable EDITOR.")
        return ""
    with tempfile.TemporaryDirectory(prefix="veracity-") as folder:  # readable by this user only
        path = Path(folder) / "answer.md"
        path.write_text(f"{text}\n", encoding="utf-8")
        try:
            subprocess.run([*editor, str(path)], check=True)
            edited = path.read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError, subprocess.CalledProcessError) as error:
            print_error(f"The editor failed ({_editor_failure(error)}): nothing was changed.")
            return ""
    if edited in ("", text.strip()):
        console.print(plain("Nothing was changed."))
        return ""
    return edited


def _editor_failure(error: OSError | UnicodeDecodeError | subprocess.CalledProcessError) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return f"exit code {error.returncode}"
    return reason_of(error) if isinstance(error, OSError) else "the file is not UTF-8 text"
