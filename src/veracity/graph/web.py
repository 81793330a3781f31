"""The web: asked for by the question, or after a person rejected what the documents gave (SPEC D7–D9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime

from veracity.errors import VeracityError
from veracity.graph.context import Parts
from veracity.graph.state import Plain, RunState, asked, fresh_attempt
from veracity.graph.steps import trace
from veracity.models import NoticeCode, WebPage

# What is true of the turn; other notices are those of an attempt.
OF_THE_TURN = ("not_routed", "not_summarized", "web_not_configured", "web_failed", "web_empty")
NOT_CONFIGURED = "Web search is not configured: set web.provider."


def web_search(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """A fresh attempt on what the web holds. What cannot be had is told, never made up."""
    parts, query = runtime.context, _query(state)
    if parts.web is None:
        return _in_vain(state, "none", "web_not_configured", NOT_CONFIGURED)
    if parts.limits.run.has_passed:
        return _in_vain(state, parts.web.name, "deadline", "the time for the run was up")
    try:
        found = parts.web.look_up(query, query, parts.limits.run.or_within(parts.settings.web.deadline))
    except VeracityError as problem:  # an embedder that is down, say
        return _in_vain(state, parts.web.name, "web_failed", str(problem))
    evidence = list(found.evidence)
    if not evidence:
        return _in_vain(state, parts.web.name, "web_failed", found.problem, found.pages)
    parts.memory.keep_evidence(state["run_id"], evidence, given=False)
    attempt = state["attempt"] + bool(state["rejected"])
    return {
        **fresh_attempt(),
        "attempt": attempt,
        "notices": [one for one in state["notices"] if one["code"] in OF_THE_TURN],
        "evidence_from": "web",
        "web_tried": True,
        "mended": "",
        "first_round": [],
        "best_round": {"query": query, "evidence": [one.model_dump() for one in evidence], "quality": None},
        **trace(
            {"attempt": attempt, "provider": parts.web.name, "evidence": [one.id for one in evidence]},
            {"query": query, "pages": _plain(found.pages)},
        ),
    }


def after_web_search(state: RunState) -> Literal["prepare_messages", "select_sources", "__end__"]:
    """Where nothing came of it: what was rejected stays the last word, or the documents are asked."""
    if state["evidence_from"] == "web":
        return "prepare_messages"
    return "__end__" if state["rejected"] else "select_sources"


def _query(state: RunState) -> str:
    """What was asked for among earlier answers is not what was said about them."""
    return state["topic"] if state["route"] == "history" and state["topic"] else asked(state)


def _in_vain(state: RunState, provider: str, code: NoticeCode, problem: str, pages: Sequence[WebPage] = ()) -> Plain:
    facts = {"attempt": state["attempt"], "provider": provider, "outcome": problem, "evidence": []}
    texts = {"query": _query(state), "pages": _plain(pages)}
    notices = [*state["notices"], {"code": code, "problem": problem}]
    return {"web_tried": True, "notices": notices, **trace(facts, texts)}


def _plain(pages: Sequence[WebPage]) -> list[Plain]:
    return [page.model_dump(mode="json") for page in pages]
