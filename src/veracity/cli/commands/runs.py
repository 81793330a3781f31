"""`veracity show` and `veracity runs`: what the ledger kept."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from veracity.cli.commands.evaluate import spent
from veracity.cli.commands.ingest import chosen, existing
from veracity.cli.ui import answers
from veracity.cli.ui.answers import reviewed
from veracity.cli.ui.approval_prompt import login_name
from veracity.cli.ui.console import console, plain, score_text, table, tell_limit
from veracity.cli.ui.progress import told
from veracity.engine import Veracity
from veracity.errors import InputError, reason_of
from veracity.models import Approval, Draft, Evidence, Feedback, Receipt, Round, Scoring, Thumb, WebLookup
from veracity.pages import receipt_page

FOLLOWS = {
    "up": "Thanks.",
    "down": "The question is a weak point from now on, and the answer is not used again.",
}


def run(name: str, thumb: Thumb, why: str, by: str | None, workspace: Path | None, as_json: bool) -> None:
    with Veracity(existing(workspace)) as engine:
        given = engine.rate(name, thumb, why, by or login_name())
    if as_json:
        print(given.model_dump_json(indent=2))
        return
    console.print(
        plain(f"Thumb {given.thumb} for the answer of run {given.run_id}. {FOLLOWS[given.thumb]}"), soft_wrap=True
    )


SHOWN = 5  # passages of each round
WHY = {
    "low_score": "scored below the threshold",
    "not_scored": "could not be scored",
    "not_reviewed": "could not be reviewed",
    "abstained": "the evidence does not hold the answer",
    "policy": "a person decides on every answer",
}


def show(run: str, workspace: Path | None, as_json: bool, html: Path | None = None) -> None:
    with Veracity(chosen(workspace)) as engine:
        receipt = _found(engine, run)
    if html:
        _write(receipt_page(receipt), html)
        screen = Console(stderr=True, highlight=False) if as_json else console
        screen.print(plain(f"The receipt of run {receipt.run.run_id} is in {html}."), soft_wrap=True)
    if as_json:
        print(receipt.model_dump_json(indent=2))
    elif not html:
        tell(receipt)


def _found(engine: Veracity, name: str) -> Receipt:
    """By what names a run, or an approval of it."""
    try:
        return engine.receipt(name)
    except InputError as problem:
        try:
            return engine.receipt(engine.approval(name).run_id)
        except InputError:
            raise problem from None


def _write(page: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a directory: name the file that the page is to be written to.")
    try:
        path.write_bytes(page.encode())
    except (OSError, ValueError) as problem:
        raise InputError(f"The page cannot be written to {path}: {reason_of(problem)}.") from None


def tell(receipt: Receipt) -> None:
    _head(receipt)
    for number, one in enumerate(receipt.rounds, 1):
        _round(number, one)
    for lookup in receipt.web:
        _lookup(lookup)
    for draft in receipt.drafts:
        _draft(draft)
    for scoring in receipt.scorings:
        _scoring(scoring)
    for approval in receipt.approvals:
        _approval(approval)
    for given in receipt.feedback:
        _feedback(given)
    console.print(plain("\nSteps", "bold"))
    for step in receipt.steps:
        console.print(told(step))
    if receipt.answer:
        console.print(plain("\nAnswer", "bold"))
        answers.show(receipt.answer)


def list_runs(limit: int, user: str | None, workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        runs = engine.runs(limit, user=user)
    if as_json:
        print(json.dumps([run.model_dump(mode="json") for run in runs], ensure_ascii=False, indent=2))
        return
    if not runs:
        console.print(plain("Nothing was asked yet: veracity ask QUESTION."))
        return
    people = ["User"] if len({run.user for run in runs}) > 1 else []
    rows = table("Run", "Status", "Seconds", *people, "Question", right=("Seconds",), whole=("Run", "Status"))
    for run in runs:
        seconds = "" if run.seconds is None else f"{run.seconds:.1f}"
        who = [plain(run.user)] if people else []
        rows.add_row(plain(run.run_id), plain(run.status), seconds, *who, plain(" ".join(run.question.split())))
    console.print(rows)
    tell_limit(len(runs), limit)


def _head(receipt: Receipt) -> None:
    run = receipt.run
    seconds = "" if run.seconds is None else f", {run.seconds:.1f} s"
    console.print(plain(run.question, "bold"))
    if receipt.standalone and receipt.standalone != run.question:
        console.print(plain(f"Understood as: {receipt.standalone}"))
    console.print(plain(f"Run {run.run_id}: {run.status}{seconds}, begun {run.started:%Y-%m-%d %H:%M:%S} UTC"))
    if run.problem:
        console.print(plain(f"Problem: {run.problem}", "red"))
    models = ", ".join(f"{role} {model}" for role, model in receipt.models.items())
    console.print(plain(f"Route: {receipt.route or 'none yet'}. Done by: {models}. {spent(receipt.usage)}."))
    if receipt.route_reason:
        console.print(plain(f"  {receipt.route_reason}"))


def _round(number: int, one: Round) -> None:
    console.print(plain(f"\nSearch {number}: “{one.query}”", "bold"))
    if one.rewritten:
        console.print(plain(f"  {one.rewritten}"))
    quality = one.quality
    console.print(plain(f"  {quality.grade} ({quality.score:.2f}), asked: {', '.join(one.sources)}"))
    for issue in quality.issues:
        console.print(plain(f"  • {issue.text}", "yellow"))
    _passages(one.evidence)


def _passages(found: list[Evidence]) -> None:
    for evidence in found[:SHOWN]:
        where = " › ".join(dict.fromkeys([evidence.title or evidence.document_id, *evidence.headings]))
        console.print(plain(f"  {evidence.metadata.relevance_score:.2f} {where} ({evidence.source})", "dim"))
    if len(found) > SHOWN:
        console.print(plain(f"  … and {len(found) - SHOWN} more", "dim"))


def _lookup(lookup: WebLookup) -> None:
    console.print(plain(f"\nWeb look-up: “{lookup.query}”, {lookup.provider}", "bold"))
    if lookup.problem:
        console.print(plain(f"  {lookup.problem}", "yellow"))
    for page in lookup.pages:
        console.print(plain(f"  {page.url} ({page.retrieved:%Y-%m-%d %H:%M:%S} UTC)", "dim"))
        if page.problem:
            console.print(plain(f"    {page.problem}", "yellow"))
    _passages(lookup.evidence)


def _draft(draft: Draft) -> None:
    console.print(plain(f"\nDraft {draft.epoch}{_of(draft.attempt)}", "bold"))
    console.print(plain(draft.text))
    if draft.review:
        console.print(plain(f"Review: {reviewed(draft.review)}, confidence {draft.review.confidence:.2f}"))
        for suggestion in draft.review.suggestions:
            console.print(plain(f"  • {suggestion}", "yellow"))


def _scoring(scoring: Scoring) -> None:
    if scoring.score is None:
        console.print(plain(f"\nNot scored{_of(scoring.attempt)}: {scoring.problem}", "bold"))
        return
    scored = f"\nScore{_of(scoring.attempt)}: {scoring.score:.2f}, the threshold is {scoring.threshold:.2f}"
    console.print(plain(scored, "bold"))
    for metric in scoring.result.metrics if scoring.result else []:
        line = plain(f"  {metric.metric_name}: ").append_text(score_text(metric.score))
        console.print(line.append_text(plain(f"  {metric.evaluator_comment}")))


def _approval(approval: Approval) -> None:
    decision = approval.decision
    console.print(plain(f"\nApproval {approval.approval_id}{_of(approval.attempt)}", "bold"))
    console.print(plain(f"  {WHY[approval.why]}; since {approval.created:%Y-%m-%d %H:%M:%S} UTC"))
    if decision is None:
        console.print(plain(f"  {approval.state}", "yellow"))
        return
    verdict = "approved" if decision.verdict == "approve" else "rejected"
    reason = f": {decision.reason}" if decision.reason else ""
    console.print(plain(f"  {verdict} by {decision.by} at {decision.at:%Y-%m-%d %H:%M:%S} UTC{reason}"))
    if decision.edit is not None:
        console.print(plain(f"  edited to: {decision.edit}"))


def _feedback(given: Feedback) -> None:
    console.print(plain(f"\nThumb {given.thumb} by {given.by} at {given.at:%Y-%m-%d %H:%M:%S} UTC", "bold"))
    if given.why:
        console.print(plain(f"  {given.why}"))


def _of(attempt: int) -> str:
    return f" of attempt {attempt}" if attempt > 1 else ""
