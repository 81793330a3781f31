"""`veracity show`, `veracity runs` and `veracity rate`."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from veracity.cli.ui.answers import format_review, format_source, label, list_scores, show_answer
from veracity.cli.ui.approval_prompt import login_name
from veracity.cli.ui.console import (
    console,
    error_console,
    format_usage,
    one_line,
    plain,
    print_json,
    print_limit,
    reader_language,
    score_text,
    table,
)
from veracity.cli.ui.progress import format_step
from veracity.engine import Veracity, require_existing_workspace, require_workspace
from veracity.errors import InputError, reason_of
from veracity.locales import section_texts, text
from veracity.models import Approval, Draft, Evidence, Feedback, Receipt, Round, Scoring, Thumb, Usage, WebLookup
from veracity.models.evaluation import points
from veracity.models.strength import Scale, Scales

MAX_PASSAGES = 5  # shown per search
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
        page = engine.receipt_html(receipt, language=reader_language()) if html else ""
        scales = engine.settings.scales
    if html:
        _write_page(page, html)
        screen = error_console if as_json else console
        screen.print(plain(f"The receipt of run {receipt.run.run_id} is in {html}."), soft_wrap=True)
    if as_json:
        print_json(receipt)
    elif not html:
        show_receipt(receipt, scales)


def show_receipt(receipt: Receipt, scales: Scales) -> None:
    """Labels are in the language of the question. `scales` say what is called weak, fair and strong."""
    language = _language(receipt)
    _show_summary(receipt, language)
    for number, search in enumerate(receipt.rounds, 1):
        _show_search(number, search, scales, language)
    for lookup in receipt.web:
        _show_lookup(lookup, scales.relevance, language)
    for number, draft in enumerate(receipt.drafts, 1):
        _show_draft(number, draft, scales.confidence, language)
    for scoring in receipt.scorings:
        _show_scoring(scoring, language)
    for approval in receipt.approvals:
        _show_approval(approval, language)
    for feedback in receipt.feedback:
        _show_feedback(feedback, language)
    _show_heading(language, "steps")
    for step in receipt.steps:
        console.print(format_step(step))
    if receipt.answer:
        _show_heading(language, "answer")
        threshold = receipt.scorings[-1].threshold if receipt.scorings else 0.0
        show_answer(receipt.answer, scales.with_threshold(threshold))


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


def _language(receipt: Receipt) -> str:
    drafts = [approval.draft for approval in receipt.approvals]
    return next((answer.language for answer in (receipt.answer, *drafts) if answer), "en")


def _show_heading(language: str, key: str, **values: object) -> None:
    console.print(plain(f"\n{label(language, key, **values)}", "bold"))


def _show_summary(receipt: Receipt, language: str) -> None:
    run = receipt.run
    seconds = "" if run.seconds is None else f", {run.seconds:.1f} s"
    console.print(plain(run.question, "bold"))
    if receipt.standalone and receipt.standalone != run.question:
        console.print(plain(label(language, "understood", question=receipt.standalone)))
    if receipt.only:
        console.print(plain(label(language, "only", patterns=", ".join(receipt.only))))
    started = f"{run.started:{TIME}}"
    console.print(plain(label(language, "run", run_id=run.run_id, status=run.status, seconds=seconds, started=started)))
    if run.problem:
        console.print(plain(label(language, "problem", problem=run.problem), "red"))
    models = ", ".join(f"{role} {model}" for role, model in receipt.models.items())
    route = receipt.route or label(language, "no_route")
    console.print(plain(label(language, "route", route=route, models=models, usage=format_usage(receipt.usage))))
    if receipt.route_reason:
        console.print(plain(f"  {receipt.route_reason}"))
    if receipt.usage_by_role:
        _show_usage(receipt.usage_by_role, language)
    if receipt.calls:
        console.print(plain(label(language, "prompts_kept", count=len(receipt.calls)), "dim"))


def _show_usage(by_role: dict[str, Usage], language: str) -> None:
    labels = section_texts(language, "receipt")
    numbers = [labels[name] for name in ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost")]
    rows = table(labels["role"], *numbers, right=tuple(numbers))
    for role, usage in by_role.items():
        counts = (usage.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
        cost = labels["unknown"] if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        rows.add_row(plain(labels.get(f"role.{role}", role)), *(f"{number:,}" for number in counts), cost)
    console.print()
    console.print(rows)


def _show_search(number: int, search: Round, scales: Scales, language: str) -> None:
    _show_heading(language, "search", number=number, query=search.query)
    if search.rewritten:
        console.print(plain(f"  {search.rewritten}"))
    grade = scales.evidence.describe(search.quality.score, language)
    console.print(plain(f"  {label(language, 'graded', grade=grade, sources=', '.join(search.sources))}"))
    for issue in search.quality.issues:
        console.print(plain(f"  • {issue.text}", "yellow"))
    _show_passages(search.evidence, scales.relevance, language)


def _show_passages(passages: list[Evidence], scale: Scale, language: str) -> None:
    for passage in passages[:MAX_PASSAGES]:
        score = scale.describe(passage.metadata.relevance_score, language)
        console.print(plain(f"  {score} {format_source(passage)} ({passage.source})", "dim"))
    if len(passages) > MAX_PASSAGES:
        console.print(plain(f"  {label(language, 'more', count=len(passages) - MAX_PASSAGES)}", "dim"))


def _show_lookup(lookup: WebLookup, scale: Scale, language: str) -> None:
    _show_heading(language, "web_search", query=lookup.query, provider=lookup.provider)
    if lookup.problem:
        console.print(plain(f"  {lookup.problem}", "yellow"))
    for page in lookup.pages:
        console.print(plain(f"  {page.url} ({page.retrieved:{TIME}})", "dim"))
        if page.problem:
            console.print(plain(f"    {page.problem}", "yellow"))
    _show_passages(lookup.evidence, scale, language)


def _show_draft(number: int, draft: Draft, scale: Scale, language: str) -> None:
    _show_heading(language, "draft", number=number, attempt=_of_attempt(draft.attempt, language))
    console.print(plain(draft.text))
    if draft.review:
        review = format_review(draft.review, language)
        confidence = scale.describe(draft.review.confidence, language)
        console.print(plain(label(language, "confidence", review=review, confidence=confidence)))
        for suggestion in draft.review.suggestions:
            console.print(plain(f"  • {suggestion}", "yellow"))


def _show_scoring(scoring: Scoring, language: str) -> None:
    attempt, score, threshold = _of_attempt(scoring.attempt, language), scoring.score, scoring.threshold
    if score is None:
        _show_heading(language, "not_scored", attempt=attempt, problem=scoring.problem)
    else:
        shown = Scale.of_score(threshold).describe(score, language)
        _show_heading(language, "scored", attempt=attempt, score=shown, threshold=points(threshold))
    if scoring.grounding_floor is not None:
        floor = label(language, "grounding_floor", floor=100 * scoring.grounding_floor)
        console.print(plain(f"  {floor}", "dim"))
    for metric in list_scores(scoring.result, scoring.grounding):
        line = plain(f"  {metric.metric_name}: ").append_text(score_text(metric.score))
        console.print(line.append_text(plain(f"  {metric.evaluator_comment}")))


def _show_approval(approval: Approval, language: str) -> None:
    decision, attempt = approval.decision, _of_attempt(approval.attempt, language)
    _show_heading(language, "approval", approval_id=approval.approval_id, attempt=attempt)
    why = text(language, "receipt", f"why.{approval.why}")
    console.print(plain(f"  {label(language, 'since', why=why, time=f'{approval.created:{TIME}}')}"))
    if decision is None:
        console.print(plain(f"  {approval.state}", "yellow"))
        return
    decided = label(language, f"decided.{decision.verdict}", by=decision.by, time=f"{decision.at:{TIME}}")
    console.print(plain(f"  {decided}{f': {decision.reason}' if decision.reason else ''}"))
    if decision.edit is not None:
        console.print(plain(f"  {label(language, 'edited', text=decision.edit)}"))


def _show_feedback(feedback: Feedback, language: str) -> None:
    _show_heading(language, f"thumb.{feedback.thumb}", by=feedback.by, time=f"{feedback.at:{TIME}}")
    if feedback.why:
        console.print(plain(f"  {feedback.why}"))


def _of_attempt(attempt: int, language: str) -> str:
    return label(language, "attempt", number=attempt) if attempt > 1 else ""
