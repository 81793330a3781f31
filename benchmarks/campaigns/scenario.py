"""The workspace of the campaigns, with scripted models and a fake web search.

A question contains a ticket number, which determines its outcome, so that the same plan gives the same runs.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from veracity.deadlines import Deadline
from veracity.embedding import Embedder
from veracity.engine import Veracity
from veracity.graph.context import WebFindings
from veracity.ledger.rows import deliveries
from veracity.models import Document, Evidence, EvidenceMetadata, WebPage
from veracity.runs import web_evidence
from veracity.settings import Settings
from veracity.testing import ScriptedCall, ScriptedLLM

ROOMS = 40
CLAIM_SECONDS = 0.5  # so that an announcement whose process was killed is sent again soon
QUESTIONS = (
    "How many staff does meeting room {room} seat? (ticket {ticket})",
    "会议室 {room} 能坐多少名员工？（ticket {ticket}）",
    "会議室 {room} には社員が何人座れますか？（ticket {ticket}）",
)
WEB = "The page on the building"
TICKET = re.compile(r"ticket (\d+)")
FIRST_TEXT = re.compile(r'"text": "([^"]+)"')
# Outcomes of questions; tickets cycle through CYCLE.
HIGH_SCORE, LOW_SCORE, HIGH_SCORE_WITH_WEB, WEB_EMPTY, FAILS_REVIEW, ABSTAINS = range(6)
CYCLE = (
    LOW_SCORE,
    HIGH_SCORE,
    LOW_SCORE,
    HIGH_SCORE_WITH_WEB,
    LOW_SCORE,
    WEB_EMPTY,
    LOW_SCORE,
    FAILS_REVIEW,
    ABSTAINS,
)
LAST_TICKET = 10_000_000 + CYCLE.index(HIGH_SCORE) - 10_000_000 % len(CYCLE)  # answered without approval
EVALUATOR = '[[metrics]]\nname = "Relevance"\nweight = 1.0\n'
REVIEW = {
    "reasonableness_detail": "It answers the question.",
    "reasonableness_passed": True,
    "evidence_detail": "It says what [1] says.",
    "evidence_passed": True,
    "suggestions": [],
    "confidence": 0.9,
}


def outcome_of(ticket: int) -> int:
    return CYCLE[ticket % len(CYCLE)]


def question(ticket: int) -> str:
    return QUESTIONS[ticket % len(QUESTIONS)].format(room=1 + ticket % ROOMS, ticket=ticket)


def ticket_of(text: str) -> int:
    """The last number: earlier questions may precede it."""
    return int(TICKET.findall(text)[-1])


def make_workspace(root: Path, embedder: str = "none") -> None:
    (root / "configs").mkdir(parents=True)
    (root / "configs" / "evaluator.toml").write_text(EVALUATOR, encoding="utf-8")
    texts = {
        number: f"Meeting room {number} seats {number + 3} staff. It is on floor {number % 5}. "
        f"会议室 {number} 能坐 {number + 3} 名员工。会議室 {number} には社員が {number + 3} 人座れます。"
        for number in range(1, ROOMS + 1)
    }
    with Veracity(root, settings=_settings(embedder)) as engine:
        report = engine.add(
            [Document(id=f"room{number}", title=f"Room {number}", text=text) for number, text in texts.items()]
        )
    if report.count("added") != ROOMS:
        raise AssertionError("not all rooms were added to the workspace")


def open_engine(root: Path, embedder: str = "none", **sections: Any) -> Veracity:
    """Replaces the web search in the whole process, and shortens claims. `sections` override settings."""
    vars(web_evidence)["make_web_evidence"] = _make_web
    vars(deliveries)["CLAIM_SECONDS"] = CLAIM_SECONDS
    llm = ScriptedLLM.by_role(writer=_write, reviewer=_review, judge=_judge)
    return Veracity(root, settings=_settings(embedder, **sections), llm=llm)


def _settings(embedder: str, **sections: Any) -> Settings:
    roles = {role: f"test:{role}" for role in ("writer", "reviewer", "judge")}
    return Settings.model_validate(
        {
            "models": {"embedder": embedder, **roles},
            "answering": {"gener_epoch": 1},
            "quality": {"max_rewrites": 0},
            "web": {"provider": "searxng", "searxng_url": "http://127.0.0.1:9"},  # never called
            "conversation": {"summarize_after": 500, "recent_turns": 2},  # so that summaries are frequent
            **sections,
        }
    )


def _write(call: ScriptedCall) -> str:
    texts = FIRST_TEXT.findall(call.prompt)
    if not texts or (outcome_of(ticket_of(call.prompt)) == ABSTAINS and WEB not in call.prompt):
        return "NO ANSWER: how many staff the meeting room seats"
    first = re.split(r"(?<=[.。])", texts[0])[0]
    return f"{first} [1]"


def _review(call: ScriptedCall) -> dict[str, Any]:
    if outcome_of(ticket_of(call.prompt)) == FAILS_REVIEW:
        return {**REVIEW, "evidence_passed": False, "suggestions": ["Say on which floor it is."]}
    return REVIEW


def _judge(call: ScriptedCall) -> dict[str, Any]:
    outcome = outcome_of(ticket_of(call.prompt))
    high = outcome == HIGH_SCORE or (outcome == HIGH_SCORE_WITH_WEB and WEB in call.prompt)
    return {"reason": "Scripted.", "score": 90 if high else 40}


class _FakeWeb:
    name = "fake"

    def look_up(self, query: str, question: str, deadline: Deadline) -> WebFindings:
        ticket = ticket_of(query)
        if outcome_of(ticket) == WEB_EMPTY:
            return WebFindings([], [], "Nothing was found.")
        url = f"https://rooms.example/{ticket}"
        text = f"{WEB} says that room {1 + ticket % ROOMS} seats {ticket % 50} staff for ticket {ticket}."
        return WebFindings([_evidence(url, text)], [WebPage(url=url, title="Rooms", retrieved=datetime.now(UTC))])

    def close(self) -> None:
        """No-op."""


def _make_web(settings: Settings, embedder: Embedder) -> _FakeWeb:
    return _FakeWeb()


def _evidence(url: str, text: str) -> Evidence:
    return Evidence(
        id=f"web-{sha256(text.encode()).hexdigest()[:16]}",
        text=text,
        source="web",
        document_id=url,
        title="Rooms",
        location=url,
        headings=[],
        page=None,
        start=0,
        end=len(text),
        language="en",
        metadata=EvidenceMetadata(relevance_score=0.9, found_by=["web"]),
    )
