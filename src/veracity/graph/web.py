"""Web search: requested by the question, or after a person rejected an answer from the documents (SPEC D7–D9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime

from veracity.errors import VeracityError
from veracity.graph.context import RunContext
from veracity.graph.report import report
from veracity.graph.state import Plain, RunState, fresh_attempt, standalone_question
from veracity.models import NoticeCode, WebPage
from veracity.models.steps import WebSearchFacts, WebSearchTexts

# Notices about the whole turn; the others belong to one attempt and are dropped with it.
TURN_NOTICES = ("not_routed", "not_summarized", "web_not_configured", "web_failed", "web_empty")


def web_search(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Start a fresh attempt on evidence from the web. Without evidence the state keeps the earlier attempt."""
    context, query = runtime.context, _query(state)
    if context.web is None:
        return _failed(state, "none", "web_not_configured", "Web search is not configured: set web.provider.")
    provider = context.web.name
    if context.limits.deadline.has_passed:
        return _failed(state, provider, "deadline", "the run's deadline has passed")
    try:
        findings = context.web.look_up(query, query, context.limits.deadline.capped_at(context.settings.web.deadline))
    except VeracityError as error:  # for example an embedder that cannot be reached
        return _failed(state, provider, "web_failed", str(error))
    evidence = findings.evidence
    if not evidence:
        return _failed(state, provider, "web_failed", findings.problem, findings.pages)
    context.memory.keep_evidence(state["run_id"], evidence, given=False)
    attempt = state["attempt"] + bool(state["rejected"])
    return {
        **fresh_attempt(),
        "attempt": attempt,
        "notices": [notice for notice in state["notices"] if notice["code"] in TURN_NOTICES],
        "evidence_from": "web",
        "web_tried": True,
        "mended": "",
        "first_round": [],
        "notes": [],
        "best_round": {"query": query, "evidence": [item.model_dump() for item in evidence], "quality": None},
        **report(
            WebSearchFacts(attempt=attempt, provider=provider, evidence=[item.id for item in evidence]),
            WebSearchTexts(query=query, pages=findings.pages),
        ),
    }


def after_web_search(state: RunState) -> Literal["prepare_messages", "select_sources", "__end__"]:
    """If there is no web evidence, a rejected run ends; any other run searches the documents."""
    if state["evidence_from"] == "web":
        return "prepare_messages"
    return "__end__" if state["rejected"] else "select_sources"


def _query(state: RunState) -> str:
    """For a question about an earlier answer, search for its topic."""
    return state["topic"] if state["route"] == "history" and state["topic"] else standalone_question(state)


def _failed(state: RunState, provider: str, code: NoticeCode, problem: str, pages: Sequence[WebPage] = ()) -> Plain:
    return {
        "web_tried": True,
        "notices": [*state["notices"], {"code": code, "problem": problem}],
        **report(
            WebSearchFacts(attempt=state["attempt"], provider=provider, outcome=problem, evidence=[]),
            WebSearchTexts(query=_query(state), pages=list(pages)),
        ),
    }
