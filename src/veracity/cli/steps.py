"""The steps of a run as lines for people."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from veracity.cli.console import plain
from veracity.models import Step

Facts = dict[str, Any]

UNDER_WAY = {
    "process_input": "Reading the question",
    "summarize_if_needed": "Recalling what was said",
    "decide_route": "Understanding the question",
    "answer_directly": "Answering",
    "search_context": "Searching earlier answers",
    "select_sources": "Choosing where to look",
    "retrieve": "Searching the documents",
    "fuse": "Putting together what was found",
    "rerank": "Reordering what was found",
    "grade_documents": "Grading the evidence",
    "rewrite_query": "Rewriting the query",
    "prepare_messages": "Preparing the draft",
    "generate_answer": "Writing",
    "eval_answer": "Reviewing the draft",
    "settle_answer": "Settling the answer",
    "evaluate": "Scoring the answer",
    "human_approval": "Asking a person",
    "web_search": "Searching the web",
}


def under_way(name: str) -> str:
    return f"{UNDER_WAY.get(name, name)} …"


def told(step: Step) -> Text:
    """The name, the time it took, and what came of it."""
    line = plain(f"{step.name:<20}").append_text(plain(f"{1000 * step.seconds:8.0f} ms  ", "dim"))
    return line.append_text(plain(_outcome(step)))


def _outcome(step: Step) -> str:
    if "problem" in step.facts:
        return f"failed: {step.facts['problem']}"
    facts, texts = step.facts, step.texts or {}
    return (
        _of_conversation(step.name, facts, texts)
        or _of_gate(step.name, facts, texts)
        or _of_loop(step.name, facts, texts)
    )


def _of_conversation(name: str, facts: Facts, texts: Facts) -> str:
    match name:
        case "summarize_if_needed":
            return f"the turns up to number {facts['folded']} are summed up" if facts["folded"] else ""
        case "decide_route":
            understood = f" “{texts['standalone']}”" if texts.get("standalone") else ""
            return f"{facts['route']}:{understood} {texts.get('reason', '')}".rstrip()
        case "answer_directly":
            return "a courtesy, which states nothing"
        case "search_context":
            return f"found {facts['found']} earlier answer{'' if facts['found'] == 1 else 's'}"
    return ""


def _of_gate(name: str, facts: Facts, texts: Facts) -> str:
    match name:
        case "evaluate":
            if facts["score"] is None:
                return f"not scored: {facts.get('failed', '')}"
            sign = "≥" if facts["score"] >= facts["threshold"] else "<"
            return f"{facts['score']:.2f} {sign} {facts['threshold']:.2f}"
        case "human_approval":
            verdict = {"approve": "approved", "reject": "rejected"}[facts["verdict"]]
            edited = " and edited" if facts["edited"] else ""
            reason = f": {texts['reason']}" if texts.get("reason") else ""
            return f"{verdict}{edited} by {facts['by']}{reason}"
        case "web_search":
            if "outcome" in facts:
                return f"{facts['provider']}: {facts['outcome']}"
            return f"{facts['provider']}: {len(facts['pages'])} pages, {len(facts['evidence'])} passages"
    return ""


def _of_loop(name: str, facts: Facts, texts: Facts) -> str:  # noqa: PLR0911 - one line for each kind of step
    match name:
        case "select_sources":
            return ", ".join(facts["sources"])
        case "retrieve":
            return f"{facts['source']}: {facts['found']} passages"
        case "grade_documents":
            quality = facts["quality"]
            issues = "; ".join(issue["text"] for issue in quality["issues"])
            return f"{quality['grade']} ({quality['score']:.2f}){': ' if issues else ''}{issues}"
        case "rewrite_query":
            return facts.get("outcome") or f"“{texts.get('query', '')}” ({texts.get('reason', '')})"
        case "generate_answer":
            what = "abstains" if facts["abstains"] else f"draft {facts['epoch']}"
            return f"{what}, {facts['model'] or facts['form']}"
        case "eval_answer":
            suggestions = " ".join(texts.get("review", {}).get("suggestions", []))
            return f"{facts['outcome']} ({facts['confidence']:.2f}) {suggestions}".rstrip()
    return ""
