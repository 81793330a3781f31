"""Receipts for tests: a full one and a bare one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from veracity.models import Receipt

STARTED = datetime(2026, 11, 13, 9, 30, tzinfo=UTC)
QUESTION = "And in Osaka?"
STANDALONE = "How many days of annual leave do staff in Osaka have?"
LEAVE = (
    "Full-time staff in Osaka have 20 days of paid annual leave a year. Up to 5 days may be carried over until March."
)
CARRY_OVER = "Up to 5 days may be carried over until March."


def at(seconds: float) -> str:
    return (STARTED + timedelta(seconds=seconds)).isoformat()


def evidence(text: str = LEAVE, **other: Any) -> dict[str, Any]:
    """Starts at character 100 of its document."""
    fields: dict[str, Any] = {
        "id": "e1",
        "text": text,
        "source": "knowledge",
        "document_id": "leave.md",
        "title": "Leave",
        "location": "/handbook/osaka/leave.md",
        "headings": ["Leave", "Annual leave"],
        "page": 3,
        "start": 100,
        "end": 100 + len(text),
        "language": "en",
        "metadata": {"relevance_score": 0.83, "found_by": ["knowledge", "graph"]},
    }
    return {**fields, **other}


def citation(quote: str, number: int = 1, text: str = LEAVE, **other: Any) -> dict[str, Any]:
    start = 100 + max(0, text.find(quote))
    fields = {"number": number, "evidence_id": f"e{number}", "document_id": "leave.md", "quote": quote}
    return {**fields, "start": start, "end": start + len(quote), **other}


def sentence(text: str, *citations: dict[str, Any], supported: bool = True) -> dict[str, Any]:
    return {"text": text, "states": True, "supported": supported, "support": 0.9, "citations": list(citations)}


def answer(**other: Any) -> dict[str, Any]:
    good, bad = "Staff in Osaka have 20 days of leave. [1]", "They also get a car. [1, 7]"
    fields: dict[str, Any] = {
        "run_id": "20261113-093000-abcdef",
        "status": "answered",
        "question": QUESTION,
        "text": f"{good} {bad}",
        "form": "written",
        "language": "en",
        "sentences": [
            sentence(good, citation("Full-time staff in Osaka have 20 days of paid annual leave a year.")),
            sentence(bad, citation(CARRY_OVER, start=0, end=0), supported=False),
        ],
        "evidence": [evidence()],
        "quality": {"grade": "medium", "score": 0.55},
        "notices": [{"code": "revised", "text": "The answer was revised (revisions: 1)."}],
    }
    return {**fields, **other}


def decision(verdict: str, seconds: float, **other: Any) -> dict[str, Any]:
    return {"verdict": verdict, "by": "mika", "at": at(seconds), **other}


def approval(number: int, seconds: float, **other: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "approval_id": f"a{number}",
        "run_id": "20261113-093000-abcdef",
        "attempt": number,
        "user": "local",
        "question": QUESTION,
        "why": "low_score",
        "on_reject": "search" if number == 1 else "end",
        "draft": answer(attempt=number),
        "draft_hash": "0",
        "created": at(seconds),
    }
    return {**fields, **other}


def review(*suggestions: str, **other: Any) -> dict[str, Any]:
    passed = not suggestions
    detail = {"passed": passed, "detail": "It says what [1] says." if passed else "The number is not in [1]."}
    fields: dict[str, Any] = {
        "passed": passed,
        "outcome": "passed" if passed else "failed",
        "suggestions": list(suggestions),
        "reasonableness": {"passed": True, "detail": "It answers the question."},
        "evidence": detail,
        "confidence": 0.9,
        "reviewer": "openai-chat:reviewer",
    }
    return {**fields, **other}


def steps() -> list[dict[str, Any]]:
    """Two sources searched in parallel, a weekend of waiting for approval, and a web search."""
    days = 2.5 * 86400
    written = {"abstains": False, "epoch": 0, "model": "openai-chat:writer", "form": "written", "attempt": 1}
    done = [
        ("process_input", 0.0, 0.01, {}),
        ("decide_route", 0.02, 0.7, {"route": "knowledge"}),
        ("retrieve", 0.8, 0.5, {"source": "knowledge", "found": 8}),
        ("retrieve", 0.8, 0.9, {"source": "graph", "found": 3}),
        ("grade_documents", 1.7, 0.02, {"quality": {"grade": "low", "score": 0.31, "issues": []}}),
        ("rewrite_query", 1.75, 0.6, {}),
        ("generate_answer", 2.4, 2.1, written),
        ("eval_answer", 4.5, 1.2, {"outcome": "passed", "confidence": 0.9}),
        ("evaluate", 5.7, 1.8, {}),
        ("human_approval", 7.5, 0.0, {}),
        ("web_search", days, 3.0, {"problem": "One page could not be opened."}),
        ("generate_answer", days + 3, 2.0, written),
        ("settle_answer", days + 5, 0.01, {}),
    ]
    return [{"name": name, "started": at(when), "seconds": took, "facts": facts} for name, when, took, facts in done]


USAGE = {"calls": 3, "input_tokens": 4321, "cached_tokens": 1024, "output_tokens": 678, "cost_usd": 0.0123}


def model_call(**other: Any) -> dict[str, Any]:
    texts = {
        "prompt": [
            {"role": "system", "text": "Write briefly."},
            {"role": "user", "text": "The evidence:", "cut": 98765},
        ],
        "reply": {"role": "assistant", "text": "Staff have 20 days."},
        "problem": "Its citation is missing.",
    }
    fields = {"role": "writer", "model": "openai-chat:writer", "started": at(5), "seconds": 1.5, "usage": USAGE}
    return {**fields, "texts": texts, **other}


def full(**other: Any) -> Receipt:
    """A follow-up question that was rewritten, redrafted, rejected, searched on the web and edited."""
    metric = {
        "metric_name": "Coverage",
        "score": 60,
        "evaluator_comment": "It leaves out the carry-over.",
        "weight": 0.5,
    }
    result = {
        "metrics": [
            {**metric, "model": "openai-chat:judge", "samples": [55, 65]},
            {**metric, "metric_name": "Relevance", "score": 82, "evaluator_comment": "To the point."},
        ],
        "overall_score": 71,
        "metric_set": "default-llm",
    }
    web = evidence(
        id="w1", source="web", title="Leave in Japan", location="https://example.org/leave?a=1&b=2", page=None
    )
    low = {"code": "relevance", "text": "The mean relevance is below 0.6."}
    quality = {"grade": "low", "score": 0.31, "issues": [low], "relevance": 0.4, "diversity": 0.33, "count": 0.1}
    better = {**quality, "grade": "medium", "score": 0.55, "issues": [], "coverage": 0.5}
    edit = "Staff in Osaka have 20 days of leave. [1] Five days may be carried over. [1]"
    page = {"url": "https://example.org/leave?a=1&b=2", "title": "Leave in Japan", "retrieved": at(216001)}
    fields: dict[str, Any] = {
        "run": {
            "run_id": "20261113-093000-abcdef",
            "question": QUESTION,
            "user": "local",
            "status": "answered",
            "started": at(0),
            "seconds": 12.6,
            "conversation": "leave",
        },
        "route": "knowledge",
        "route_reason": "It asks about something the documents may hold.",
        "standalone": STANDALONE,
        "only": ["handbook/osaka/", "*.pdf"],
        "models": {"writer": "openai-chat:writer", "reviewer": "openai-chat:reviewer"},
        "rounds": [
            {"query": STANDALONE, "sources": ["knowledge"], "evidence": [evidence()], "quality": quality},
            {
                "query": "annual leave Osaka days",
                "sources": ["knowledge", "graph"],
                "evidence": [evidence(), evidence(id="e2", title="Travel")],
                "quality": better,
                "rewritten": "Sharper words.",
            },
        ],
        "drafts": [
            {"epoch": 0, "text": "Staff in Osaka have 40 days of leave. [1]", "review": review("Say 20, as [1] does.")},
            {"epoch": 1, "text": "Staff in Osaka have 20 days of leave. [1]", "review": review()},
            {"attempt": 2, "epoch": 0, "text": "By law it is 10 days. [1]", "review": review(reviewer="local")},
        ],
        "scorings": [
            {
                "attempt": 1,
                "threshold": 0.75,
                "score": 0.71,
                "result": result,
                "grounding": [
                    {"metric_name": "Groundedness", "score": 49.96, "evaluator_comment": "Hardly supported."}
                ],
                "grounding_floor": 0.5,
            },
            {"attempt": 2, "threshold": 0.75, "problem": "The judge cannot be reached."},
        ],
        "approvals": [
            approval(1, 7.5, state="rejected", decision=decision("reject", 215990, reason="Too thin.")),
            approval(
                2,
                216005,
                why="not_scored",
                state="approved",
                draft=answer(attempt=2, evidence=[web]),
                decision=decision("approve", 216010, attempt=2, edit=edit),
            ),
        ],
        "web": [
            {
                "attempt": 2,
                "provider": "searxng",
                "query": "annual leave Osaka",
                "pages": [page, {**page, "url": "https://example.com/slow", "problem": "It did not answer in time."}],
                "evidence": [web],
            }
        ],
        "answer": answer(attempt=2, evidence=[web], form="edited"),
        "usage": {**USAGE, "calls": 9, "input_tokens": 12345},
        "usage_by_role": {"writer": USAGE, "referee": {**USAGE, "cost_usd": None}},
        "calls": [model_call(), model_call(role="judge", texts=None)],
        "steps": steps(),
    }
    return Receipt.model_validate({**fields, **other})


def bare(status: str, **other: Any) -> Receipt:
    """A run without content."""
    run = {"run_id": "r1", "question": QUESTION, "user": "local", "status": status, "started": at(0)}
    fields: dict[str, Any] = {"route": "", "models": {}, "rounds": [], "drafts": [], "answer": None, "usage": {}}
    given = {"run": {**run, **other.pop("run", {})}, **fields, "steps": [], **other}
    return Receipt.model_validate(given)
