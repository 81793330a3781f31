"""The retrieval loop: ask the sources, fuse and grade what they found, rewrite the query while it is not good enough
(SPEC C). What goes on is the best of all rounds.

A first search that fails ends the run: without it nothing could be said. All else that fails or hangs does not: the
run goes on with what there is, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from veracity.agents.rewriter import RewriteTask, whole_query
from veracity.errors import OutOfTimeError, VeracityError
from veracity.graph.context import Parts
from veracity.graph.state import Plain, RunState, asked
from veracity.graph.steps import trace
from veracity.language import entities, guess_language
from veracity.models import Evidence, Passage, Quality
from veracity.retrieval.base import Found
from veracity.retrieval.search import RERANKED

PASSAGE = tuple(field.name for field in fields(Passage))
GRAPH, TEMPORAL = "graph", "temporal"
GRACE = 0.7  # seconds; a model's call ends by itself, half a second after its deadline at the latest
LED_BY = 10  # passages that may lead a rewrite on
KEPT = 2  # passages of the first round that go on whatever a rewrite finds: it may stray
WIDENED = 2  # times as many passages when a rewrite asks for more


def select_sources(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Those of the settings; but names are followed only where the question has some, and the temporal source is asked
    where an earlier question of the asker went wrong that matches this one. Later rounds ask those that the rewrite
    asks for."""
    parts = runtime.context
    if state["retry_count"]:
        return {"found": None, **trace({"sources": state["sources"]})}
    weak = parts.memory.weak_points(state["user"], asked(state))
    sources = [*_first_sources(asked(state), parts.settings.retrieval.sources), *([TEMPORAL] if weak else [])]
    return {
        "found": None,
        "evidence_from": "knowledge",
        "best_round": {},
        "abstains": False,
        "sources": sources,
        "width": parts.settings.answering.graded,
        "weak_points": [{"question": one.question, "passage_ids": list(one.passage_ids)} for one in weak],
        **trace({"sources": sources, "weak_points": len(weak)}),
    }


def after_select_sources(state: RunState) -> list[Send]:
    """One task for each source, at the same time."""
    passages = [name for weak in state["weak_points"] for name in weak["passage_ids"]]
    depth = max(RERANKED, state["width"])
    return [
        Send(
            "retrieve",
            {
                "source": source,
                "query": state["query"],
                "added": state["added"],
                "depth": depth,
                "passage_ids": passages,
                "is_first_round": not state["retry_count"],
            },
        )
        for source in state["sources"]
    ]


def retrieve(task: Plain, runtime: Runtime[Parts]) -> Plain:
    parts, source, query = runtime.context, task["source"], task["query"]
    depth, added = task["depth"], task["added"]

    def search() -> list[Found]:
        if source == TEMPORAL:
            return parts.searcher.remembered(query, task["passage_ids"], depth, added)
        return parts.searcher.find(source, query, depth, added)

    try:
        found = parts.within(parts.limits.loop, search)
    except VeracityError as problem:
        if task["is_first_round"] and not isinstance(problem, OutOfTimeError):
            raise
        return trace({"source": source, "found": 0, "problem": str(problem)})
    return {"found": {source: [_plain(one) for one in found]}, **trace({"source": source, "found": len(found)})}


def fuse(state: RunState, runtime: Runtime[Parts]) -> Plain:
    parts = runtime.context
    order = [source for source in state["sources"] if source in state["found"]]  # tasks end in any order
    lists = {source: [_found(one) for one in state["found"][source]] for source in order}
    limit = max(RERANKED, state["width"])
    fused = parts.searcher.fuse(lists, limit, parts.settings.quality.priority_source)
    late = [] if len(order) == len(state["sources"]) else [{"code": "search_incomplete"}]
    return {
        "found": None,
        "fused_results": [one.model_dump() for one in fused],
        "notices": [*state["notices"], *late],
        **trace({"passages": len(fused), "method": parts.settings.retrieval.fusion}),
    }


def rerank(state: RunState, runtime: Runtime[Parts]) -> Plain:
    parts = runtime.context
    fused, facts = _evidence(state["fused_results"]), {"reranker": parts.settings.retrieval.reranker}
    notices = state["notices"]
    try:
        if fused:
            fused = parts.within(parts.limits.loop, lambda: parts.searcher.rerank(state["query"], fused))
    except VeracityError as problem:
        facts["problem"] = str(problem)
        notices = [*notices, {"code": "not_reranked", "problem": str(problem)}]
    return {
        "fused_results": [one.model_dump() for one in fused[: state["width"]]],
        "notices": notices,
        **trace(facts),
    }


def grade_documents(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Keeps the better of this round and the best before it; the later one, where they are equal."""
    parts, evidence = runtime.context, _evidence(state["fused_results"])
    quality = parts.checker.check(evidence, bool(state["weak_points"]))
    parts.memory.keep_evidence(state["run_id"], evidence, given=False)
    kept = state["fused_results"][: max(LED_BY, parts.settings.answering.evidence)]
    this_round = {"query": _whole(state), "evidence": kept, "quality": quality.model_dump()}
    best = state["best_round"]
    is_best = not best or quality.score >= best["quality"]["score"]
    first = state["first_round"] or kept[:KEPT]
    scored = [
        {"id": one.id, "source": one.source, **one.metadata.model_dump(include={"relevance_score", "found_by"})}
        for one in evidence
    ]
    return {
        "quality_grade": quality.grade,
        "quality_score": quality.score,
        "quality_issues": [issue.text for issue in quality.issues],
        "best_round": this_round if is_best else best,
        "first_round": first,
        **trace(
            {"quality": quality.model_dump(), "evidence": scored, "sources": state["sources"], "is_best": is_best},
            {"query": _whole(state)},
        ),
    }


def after_grade_documents(state: RunState, runtime: Runtime[Parts]) -> Literal["rewrite_query", "prepare_messages"]:
    """Good enough, tried often enough, or out of time (SPEC C5)."""
    limits, enough = runtime.context.limits, runtime.context.settings.quality.medium
    may_go_on = state["retry_count"] < state["max_rewrites"] and not limits.loop.has_passed
    return "rewrite_query" if state["quality_score"] < enough and may_go_on else "prepare_messages"


def rewrite_query(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """The query that failed joins the `original_queries` (SPEC C4)."""
    parts, best = runtime.context, state["best_round"]
    tried = [*state["original_queries"], _whole(state)]
    task = RewriteTask(
        question=asked(state),
        tried=tried,
        evidence=_evidence(best["evidence"]),
        quality=Quality.model_validate(best["quality"]),
        sources=state["sources"],
        available=["knowledge", GRAPH, *([TEMPORAL] if state["weak_points"] else [])],
        weak_points=[weak["question"] for weak in state["weak_points"]],
        deadline=parts.limits.loop,
        budget=parts.limits.budget,
    )
    counted = {"retry_count": state["retry_count"] + 1, "original_queries": tried}
    try:
        rewrite = parts.within(parts.limits.loop, lambda: parts.rewriter.rewrite(task), GRACE)
    except VeracityError as problem:
        notices = [*state["notices"], {"code": "rewrite_failed", "problem": str(problem)}]
        return {**counted, "rewrote": False, "notices": notices, **trace({"problem": str(problem)})}
    if rewrite is None:
        return {**counted, "rewrote": False, **trace({"outcome": "there is nothing new to try"})}
    return {
        **counted,
        "rewrote": True,
        "query": rewrite.query,
        "added": list(rewrite.added),
        "mended": rewrite.mended or state["mended"],
        "sources": list(rewrite.sources),
        "width": state["width"] * (WIDENED if rewrite.widen else 1),
        **trace(
            {"model": parts.rewriter.model, "usage": rewrite.usage.model_dump(), "sources": list(rewrite.sources)},
            {"query": rewrite.whole, "reason": rewrite.reason},
        ),
    }


def after_rewrite_query(state: RunState) -> Literal["select_sources", "prepare_messages"]:
    return "select_sources" if state["rewrote"] else "prepare_messages"


def _first_sources(question: str, available: Sequence[str]) -> Sequence[str]:
    if entities(question, guess_language(question)):
        return available
    return [source for source in available if source != GRAPH] or available


def _whole(state: RunState) -> str:
    return whole_query(state["query"], state["added"])


def _plain(one: Found) -> Plain:
    passage = {name: getattr(one.passage, name) for name in PASSAGE}
    return {"passage": passage, "score": one.score, "relevance": one.relevance}


def _found(one: Plain) -> Found:
    """Back from the state, which knows lists and no tuples."""
    passage = one["passage"]
    tuples = {name: tuple(passage[name]) for name in ("headings", "entities")}
    return Found(Passage(**{**passage, **tuples}), one["score"], one["relevance"])


def _evidence(plain: list[Plain]) -> list[Evidence]:
    return [Evidence.model_validate(one) for one in plain]
