"""Proposes cases for a suite from people's decisions and ratings. A person accepts, shortens or removes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from veracity.errors import InputError, reason_of
from veracity.experiments.suite import Case
from veracity.language.citations import without_marks
from veracity.models import Answer, Approval, Feedback, Receipt
from veracity.printable import visible


def cases_from_approvals(approvals: Iterable[Approval]) -> Iterator[Case]:
    """An approved answer is expected, an edit is the reference, a rejected answer must not come again. All others are
    left out. Of several decisions on one question, the newest counts: they come newest first."""
    seen = set[str]()
    for approval in approvals:
        decision, question = approval.decision, approval.question.strip()
        if approval.state not in ("approved", "rejected") or decision is None or not question or question in seen:
            continue
        seen.add(question)
        origin = f"{approval.state} by {decision.by}: {decision.reason}".rstrip(": ")
        if decision.verdict == "reject":
            yield from _unwanted(approval.run_id, question, approval.draft, origin)
        elif decision.edit is not None and not _plain(decision.edit):
            continue
        elif decision.edit is not None:
            yield _case(approval.run_id, question, origin=f"edited by {decision.by}", answers=[_plain(decision.edit)])
        else:
            yield from _wanted(approval.run_id, question, approval.draft, origin)


def cases_from_feedback(ratings: Iterable[tuple[Feedback, Receipt]]) -> Iterator[Case]:
    """A thumb up is like an approval, a thumb down like a rejection."""
    seen = set[str]()
    for rating, receipt in ratings:
        question, answer = receipt.run.question.strip(), receipt.answer
        if answer is None or not question or question in seen:
            continue
        seen.add(question)
        origin = f"thumb {rating.thumb} by {rating.by}: {rating.why}".rstrip(": ")
        make = _wanted if rating.thumb == "up" else _unwanted
        yield from make(receipt.run.run_id, question, answer, origin)


def write_cases(path: Path, cases: Iterable[Case], *, force: bool) -> int:
    """One case a line. Returns their number. Raises `InputError` if the file exists, unless `force`."""
    lines = [case.model_dump_json(exclude_defaults=True) for case in cases]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = os.O_TRUNC if force else os.O_EXCL
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | mode, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except FileExistsError:
        raise InputError(f"{path} exists: name another file with --output, or replace it with --force.") from None
    except OSError as problem:
        raise InputError(f"{path} cannot be written ({reason_of(problem)}).") from None
    return len(lines)


def _wanted(run_id: str, question: str, answer: Answer, origin: str) -> Iterator[Case]:
    if answer.status == "abstained":
        yield _case(run_id, question, origin=origin, expect="abstain")
    elif text := _plain(answer.text):
        cited = (citation.document_id for sentence in answer.sentences for citation in sentence.citations)
        yield _case(run_id, question, origin=origin, answers=[text], must_cite=list(dict.fromkeys(cited)))


def _unwanted(run_id: str, question: str, answer: Answer, origin: str) -> Iterator[Case]:
    """A rejected abstention only shows that an answer was expected."""
    if answer.status == "abstained":
        yield _case(run_id, question, origin=origin)
    elif text := _plain(answer.text):
        yield _case(run_id, question, origin=origin, forbid=[text])


def _plain(text: str) -> str:
    return " ".join(without_marks(visible(text)).split())


def _case(run_id: str, question: str, **fields: object) -> Case:
    return Case.model_validate({"id": run_id, "question": question, "tags": ["proposed"], **fields})
