"""Builders of runs, evidence, answers and approvals for ledger tests."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.postgres import bytes_of_ledger
from veracity.ledger import Ledger, RunRecords, draft_hash
from veracity.models import (
    Answer,
    AnswerForm,
    AnswerSentence,
    Approval,
    Citation,
    Dimension,
    Evidence,
    EvidenceMetadata,
    Notice,
    Quality,
    Review,
    RunParameters,
    RunStatus,
    Step,
    Usage,
    load_step,
)

USED = Usage(calls=2, input_tokens=300, output_tokens=40, cost_usd=0.01)


def make_evidence(
    name: str = "p1", document: str = "d1", text: str = "Staff receive 24 days.", **more: Any
) -> Evidence:
    return Evidence(
        id=name,
        text=text,
        source="knowledge",
        document_id=document,
        title=more.pop("title", "Leave"),
        location=more.pop("location", "leave.md"),
        headings=more.pop("headings", ["How many days"]),
        page=None,
        start=0,
        end=len(text),
        language="en",
        metadata=EvidenceMetadata(relevance_score=0.8, found_by=["knowledge"], **more),
    )


def make_answer(run_id: str, evidence: list[Evidence], text: str = "24 days [1].", language: str = "en") -> Answer:
    cited = [
        Citation(number=at, evidence_id=item.id, document_id=item.document_id, quote=item.text, start=0, end=item.end)
        for at, item in enumerate(evidence, start=1)
    ]
    return Answer(
        run_id=run_id,
        status="answered",
        question="How many days?",
        text=text,
        form="written",
        language=language,
        sentences=[AnswerSentence(text=text, states=True, supported=True, support=0.9, citations=cited)],
        evidence=evidence,
        missing=[text],
        review=Review(
            passed=False,
            outcome="doubtful",
            suggestions=[f"say that {text}"],
            evidence=Dimension(passed=False, detail=f"quoted: {text}"),
            reviewer="openai:gpt-5",
        ),
        quality=Quality(grade="high", score=0.8, relevance=0.7),
        notices=[Notice(code="revised", text="Revised twice.")],
        usage=USED,
        seconds=1.5,
    )


def make_step(name: str = "retrieve", facts: dict[str, Any] | None = None, **texts: Any) -> Step:
    facts = {"count": 3} if facts is None else facts
    return load_step({"name": name, "started": datetime.now(UTC), "seconds": 0.25, "facts": facts, "texts": texts})


def begin(
    ledger: Ledger,
    run_id: str,
    question: str = "How many days?",
    user: str = "ann",
    conversation: str = "",
    **more: Any,
) -> int:
    run = RunParameters(
        run_id=run_id, question=question, user=user, conversation=conversation, max_rewrites=0, deadline=120.0
    )
    return ledger.begin(run, "en", {"writer": "openai:gpt-5"}, **more)


def finish(ledger: Ledger, run_id: str, token: int = 1, **records: Any) -> None:
    """End a run with an answer without evidence."""
    ledger.finish(make_answer(run_id, []), RunRecords(**records), token=token)


def fail(ledger: Ledger, run_id: str, problem: str = "", token: int = 1) -> None:
    ledger.fail(run_id, problem, token=token, usage=USED, seconds=1.0)


def finish_run(
    ledger: Ledger, run_id: str, question: str = "How many days?", user: str = "ann", **records: Any
) -> None:
    """Begin a run and end it with an answer without evidence."""
    finish(ledger, run_id, begin(ledger, run_id, question, user), **records)


def make_draft(run_id: str, text: str = "24 days [1].", form: AnswerForm = "written", attempt: int = 1) -> Answer:
    answer = make_answer(run_id, [make_evidence()], text)
    return answer.model_copy(update={"form": form, "attempt": attempt})


def make_approval(draft: Answer, user: str = "ann") -> Approval:
    return Approval(
        approval_id=f"{draft.run_id}.{draft.attempt}",
        run_id=draft.run_id,
        attempt=draft.attempt,
        user=user,
        question=draft.question,
        why="low_score",
        on_reject="search",
        draft=draft,
        draft_hash=draft_hash(draft),
        created=datetime.now(UTC),
    )


def suspend_run(ledger: Ledger, run_id: str, text: str = "24 days [1].", **more: Any) -> Approval:
    """Begin a run and suspend it with a pending draft."""
    token = begin(ledger, run_id, **more)
    ledger.keep_evidence(run_id, [make_evidence()], given=True)
    return ledger.suspend(run_id, token, make_approval(make_draft(run_id, text)), USED, 1.0)


def answer_run(
    ledger: Ledger,
    run_id: str,
    question: str,
    text: str,
    conversation: str = "",
    user: str = "ann",
    *,
    evidence: Sequence[Evidence] = (),
    form: AnswerForm = "written",
    status: RunStatus = "answered",
    **records: Any,
) -> None:
    """Begin a run and end it with a recallable answer, or without one for the status "failed"."""
    token = begin(ledger, run_id, question, user, conversation)
    ledger.keep_evidence(run_id, evidence, given=True)
    if status == "failed":
        fail(ledger, run_id, token=token)
        return
    answer = make_answer(run_id, list(evidence), text).model_copy(update={"form": form, "status": status})
    ledger.finish(answer, RunRecords(**{"recallable": True, **records}), token=token)


def bytes_of(*places: Path) -> bytes:
    """The content of these files and of all files in these folders, and of the tables of a ledger in Postgres."""
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    tables = (bytes_of_ledger(folder) for place in places for folder in (place, place / "ledger"))
    return b"".join([*(path.read_bytes() for path in files if path.is_file()), *tables])
