"""The steps of a run as lines for people."""

from __future__ import annotations

from rich.text import Text

from veracity.cli.console import plain
from veracity.models import Step

UNDER_WAY = {
    "process_input": "Reading the question",
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
}


def under_way(name: str) -> str:
    return f"{UNDER_WAY.get(name, name)} …"


def told(step: Step) -> Text:
    """The name, the time it took, and what came of it."""
    line = plain(f"{step.name:<17}").append_text(plain(f"{1000 * step.seconds:8.0f} ms  ", "dim"))
    return line.append_text(plain(_outcome(step)))


def _outcome(step: Step) -> str:  # noqa: PLR0911 - one line for each kind of step
    facts, texts = step.facts, step.texts or {}
    if "problem" in facts:
        return f"failed: {facts['problem']}"
    match step.name:
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
