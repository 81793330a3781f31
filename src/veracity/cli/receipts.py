"""`veracity show` and `veracity runs`: what the ledger kept."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.cli import asking
from veracity.cli.asking import reviewed
from veracity.cli.console import console, plain, table
from veracity.cli.evaluating import spent
from veracity.cli.ingesting import chosen
from veracity.cli.steps import told
from veracity.engine import Veracity
from veracity.models import Draft, Receipt, Round

SHOWN = 5  # passages of each round


def show(run: str, workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        receipt = engine.receipt(run)
    if as_json:
        print(receipt.model_dump_json(indent=2))
        return
    _head(receipt)
    for number, one in enumerate(receipt.rounds, 1):
        _round(number, one)
    for draft in receipt.drafts:
        _draft(draft)
    console.print(plain("\nSteps", "bold"))
    for step in receipt.steps:
        console.print(told(step))
    if receipt.answer:
        console.print(plain("\nAnswer", "bold"))
        asking.show(receipt.answer)


def list_runs(limit: int, workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        runs = engine.runs(limit)
    if as_json:
        print(json.dumps([run.model_dump(mode="json") for run in runs], ensure_ascii=False, indent=2))
        return
    if not runs:
        console.print(plain("Nothing was asked yet: veracity ask QUESTION."))
        return
    rows = table("Run", "Status", "Seconds", "Question", right=("Seconds",), whole=("Run", "Status"))
    for run in runs:
        seconds = "" if run.seconds is None else f"{run.seconds:.1f}"
        rows.add_row(plain(run.run_id), plain(run.status), seconds, plain(" ".join(run.question.split())))
    console.print(rows)


def _head(receipt: Receipt) -> None:
    run = receipt.run
    seconds = "" if run.seconds is None else f", {run.seconds:.1f} s"
    console.print(plain(run.question, "bold"))
    console.print(plain(f"Run {run.run_id}: {run.status}{seconds}, begun {run.started:%Y-%m-%d %H:%M:%S} UTC"))
    if run.problem:
        console.print(plain(f"Problem: {run.problem}", "red"))
    models = ", ".join(f"{role} {model}" for role, model in receipt.models.items())
    console.print(plain(f"Route: {receipt.route or 'none yet'}. Done by: {models}. {spent(receipt.usage)}."))


def _round(number: int, one: Round) -> None:
    console.print(plain(f"\nSearch {number}: “{one.query}”", "bold"))
    if one.rewritten:
        console.print(plain(f"  {one.rewritten}"))
    quality = one.quality
    console.print(plain(f"  {quality.grade} ({quality.score:.2f}), asked: {', '.join(one.sources)}"))
    for issue in quality.issues:
        console.print(plain(f"  • {issue.text}", "yellow"))
    for evidence in one.evidence[:SHOWN]:
        where = " › ".join(dict.fromkeys([evidence.title or evidence.document_id, *evidence.headings]))
        console.print(plain(f"  {evidence.metadata.relevance_score:.2f} {where} ({evidence.source})", "dim"))
    if len(one.evidence) > SHOWN:
        console.print(plain(f"  … and {len(one.evidence) - SHOWN} more", "dim"))


def _draft(draft: Draft) -> None:
    console.print(plain(f"\nDraft {draft.epoch}", "bold"))
    console.print(plain(draft.text))
    if draft.review:
        console.print(plain(f"Review: {reviewed(draft.review)}, confidence {draft.review.confidence:.2f}"))
        for suggestion in draft.review.suggestions:
            console.print(plain(f"  • {suggestion}", "yellow"))
