"""`veracity show`, `veracity runs` and `veracity rate`."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from veracity.cli.ui.answers import format_review, format_source, show_answer
from veracity.cli.ui.approval_prompt import login_name
from veracity.cli.ui.console import (
    console,
    error_console,
    format_usage,
    one_line,
    plain,
    print_json,
    print_limit,
    score_text,
    table,
)
from veracity.cli.ui.progress import format_step
from veracity.engine import Veracity, require_existing_workspace, require_workspace
from veracity.errors import InputError, reason_of
from veracity.models import Approval, Draft, Evidence, Feedback, Receipt, Round, Scoring, Thumb, WebLookup

MAX_PASSAGES = 5  # shown per search
REASONS = {
    "low_score": "score below the threshold",
    "not_scored": "could not be scored",
    "not_reviewed": "could not be reviewed",
    "abstained": "the evidence does not contain the answer",
    "policy": "every answer needs approval",
}
RATED = {"up": "Thanks.", "down": "The question is now a weak point, and the answer is not reused."}
TIME = "%Y-%m-%d %H:%M:%S UTC"


def rate(name: str, thumb: str, why: str, by: str | None, workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        feedback = engine.rate(name, cast(Thumb, thumb), why, by or login_name())  # which checks the thumb
    if as_json:
        print_json(feedback)
        return
    text = f"Thumb {feedback.thumb} for the answer of run {feedback.run_id}. {RATED[feedback.thumb]}"
    console.print(plain(text), soft_wrap=True)


def list_runs(limit: int, user: str | None, workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        runs = engine.runs(limit, user=user)
    if as_json:
        print_json(runs)
        return
    if not runs:
        console.print(plain("No questions yet: veracity ask QUESTION."))
        return
    users = ["User"] if len({run.user for run in runs}) > 1 else []
    rows = table("Run", "Status", "Seconds", *users, "Question", right=("Seconds",), whole=("Run", "Status"))
    for run in runs:
        seconds = "" if run.seconds is None else f"{run.seconds:.1f}"
        user_cell = [plain(run.user)] if users else []
        rows.add_row(plain(run.run_id), plain(run.status), seconds, *user_cell, plain(one_line(run.question)))
    console.print(rows)
    print_limit(len(runs), limit)


def show(name: str, workspace: Path | None, as_json: bool, html: Path | None = None) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        receipt = _find_receipt(engine, name)
        page = engine.receipt_html(receipt) if html else ""
    if html:
        _write_page(page, html)
        screen = error_console if as_json else console
        screen.print(plain(f"The receipt of run {receipt.run.run_id} is in {html}."), soft_wrap=True)
    if as_json:
        print_json(receipt)
    elif not html:
        show_receipt(receipt)


def show_receipt(receipt: Receipt) -> None:
    _show_summary(receipt)
    for number, search in enumerate(receipt.rounds, 1):
        _show_search(number, search)
    for lookup in receipt.web:
        _show_lookup(lookup)
    for draft in receipt.drafts:
        _show_draft(draft)
    for scoring in receipt.scorings:
        _show_scoring(scoring)
    for approval in receipt.approvals:
        _show_approval(approval)
    for feedback in receipt.feedback:
        _show_feedback(feedback)
    console.print(plain("\nSteps", "bold"))
    for step in receipt.steps:
        console.print(format_step(step))
    if receipt.answer:
        console.print(plain("\nAnswer", "bold"))
        show_answer(receipt.answer)


def _find_receipt(engine: Veracity, name: str) -> Receipt:
    """Finds a run by its id or the id of one of its approvals."""
    try:
        return engine.receipt(name)
    except InputError as error:
        try:
            return engine.receipt(engine.approval(name).run_id)
        except InputError:
            raise error from None


def _write_page(page: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a directory: name the file to write the page to.")
    try:
        path.write_bytes(page.encode())
    except (OSError, ValueError) as error:
        raise InputError(f"The page cannot be written to {path}: {reason_of(error)}.") from None


def _show_summary(receipt: Receipt) -> None:
    run = receipt.run
    seconds = "" if run.seconds is None else f", {run.seconds:.1f} s"
    console.print(plain(run.question, "bold"))
    if receipt.standalone and receipt.standalone != run.question:
        console.print(plain(f"Understood as: {receipt.standalone}"))
    console.print(plain(f"Run {run.run_id}: {run.status}{seconds}, started {run.started:{TIME}}"))
    if run.problem:
        console.print(plain(f"Problem: {run.problem}", "red"))
    models = ", ".join(f"{role} {model}" for role, model in receipt.models.items())
    console.print(plain(f"Route: {receipt.route or 'none yet'}. Models: {models}. {format_usage(receipt.usage)}."))
    if receipt.route_reason:
        console.print(plain(f"  {receipt.route_reason}"))


def _show_search(number: int, search: Round) -> None:
    console.print(plain(f"\nSearch {number}: “{search.query}”", "bold"))
    if search.rewritten:
        console.print(plain(f"  {search.rewritten}"))
    quality = search.quality
    console.print(plain(f"  {quality.grade} ({quality.score:.2f}), sources: {', '.join(search.sources)}"))
    for issue in quality.issues:
        console.print(plain(f"  • {issue.text}", "yellow"))
    _show_passages(search.evidence)


def _show_passages(passages: list[Evidence]) -> None:
    for passage in passages[:MAX_PASSAGES]:
        score = f"{passage.metadata.relevance_score:.2f}"
        console.print(plain(f"  {score} {format_source(passage)} ({passage.source})", "dim"))
    if len(passages) > MAX_PASSAGES:
        console.print(plain(f"  … and {len(passages) - MAX_PASSAGES} more", "dim"))


def _show_lookup(lookup: WebLookup) -> None:
    console.print(plain(f"\nWeb search: “{lookup.query}”, {lookup.provider}", "bold"))
    if lookup.problem:
        console.print(plain(f"  {lookup.problem}", "yellow"))
    for page in lookup.pages:
        console.print(plain(f"  {page.url} ({page.retrieved:{TIME}})", "dim"))
        if page.problem:
            console.print(plain(f"    {page.problem}", "yellow"))
    _show_passages(lookup.evidence)


def _show_draft(draft: Draft) -> None:
    console.print(plain(f"\nDraft {draft.epoch}{_of_attempt(draft.attempt)}", "bold"))
    console.print(plain(draft.text))
    if draft.review:
        console.print(plain(f"Review: {format_review(draft.review)}, confidence {draft.review.confidence:.2f}"))
        for suggestion in draft.review.suggestions:
            console.print(plain(f"  • {suggestion}", "yellow"))


def _show_scoring(scoring: Scoring) -> None:
    if scoring.score is None:
        console.print(plain(f"\nNot scored{_of_attempt(scoring.attempt)}: {scoring.problem}", "bold"))
        return
    score = f"Score{_of_attempt(scoring.attempt)}: {scoring.score:.2f}, threshold {scoring.threshold:.2f}"
    console.print(plain(f"\n{score}", "bold"))
    for metric in scoring.result.metrics if scoring.result else []:
        line = plain(f"  {metric.metric_name}: ").append_text(score_text(metric.score))
        console.print(line.append_text(plain(f"  {metric.evaluator_comment}")))


def _show_approval(approval: Approval) -> None:
    decision = approval.decision
    console.print(plain(f"\nApproval {approval.approval_id}{_of_attempt(approval.attempt)}", "bold"))
    console.print(plain(f"  {REASONS[approval.why]}; since {approval.created:{TIME}}"))
    if decision is None:
        console.print(plain(f"  {approval.state}", "yellow"))
        return
    verdict = "approved" if decision.verdict == "approve" else "rejected"
    reason = f": {decision.reason}" if decision.reason else ""
    console.print(plain(f"  {verdict} by {decision.by} at {decision.at:{TIME}}{reason}"))
    if decision.edit is not None:
        console.print(plain(f"  edited to: {decision.edit}"))


def _show_feedback(feedback: Feedback) -> None:
    console.print(plain(f"\nThumb {feedback.thumb} by {feedback.by} at {feedback.at:{TIME}}", "bold"))
    if feedback.why:
        console.print(plain(f"  {feedback.why}"))


def _of_attempt(attempt: int) -> str:
    return f" of attempt {attempt}" if attempt > 1 else ""
