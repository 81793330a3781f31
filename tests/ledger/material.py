"""Runs, evidence and answers to fill a ledger with."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from veracity.ledger import Ledger, draft_hash
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
    Step,
    Usage,
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


def make_step(name: str = "retrieve", **texts: Any) -> Step:
    return Step(name=name, started=datetime.now(UTC), seconds=0.25, facts={"count": 3}, texts=texts)


def begin(ledger: Ledger, run_id: str, question: str = "How many days?", user: str = "ann", **more: Any) -> int:
    return ledger.begin(run_id, question, user, "en", {"writer": "openai:gpt-5"}, **more)


def ran(ledger: Ledger, run_id: str, question: str = "How many days?", user: str = "ann", **end: Any) -> None:
    """A whole run."""
    token = begin(ledger, run_id, question, user)
    ledger.finish(run_id, "answered", token=token, answer=None, usage=USED, seconds=1.0, **end)


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


def waits(ledger: Ledger, run_id: str, text: str = "24 days [1].", **more: Any) -> Approval:
    """A run whose draft waits for a person."""
    token = begin(ledger, run_id, **more)
    ledger.keep_evidence(run_id, [make_evidence()], given=True)
    return ledger.suspend(run_id, token, make_approval(make_draft(run_id, text)), USED, 1.0)


def answered(
    ledger: Ledger, run_id: str, question: str, text: str, conversation: str = "", user: str = "ann", **end: Any
) -> None:
    """A run with an answer that may be found again."""
    evidence = end.pop("evidence", [])
    token = begin(ledger, run_id, question, user, conversation=conversation)
    ledger.keep_evidence(run_id, evidence, given=True)
    answer = make_answer(run_id, evidence, text).model_copy(update={"form": end.pop("form", "written")})
    status, end = end.pop("status", "answered"), {"recallable": True, **end}
    ledger.finish(run_id, status, token=token, answer=answer, usage=USED, seconds=1.0, **end)


def bytes_of(*places: Path) -> bytes:
    """All that is in the files of these folders, and in these files."""
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return b"".join(path.read_bytes() for path in files if path.is_file())
