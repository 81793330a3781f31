"""The retrieval loop: search the sources, fuse and grade the results, rewrite the query until they are good enough
(SPEC C). The best round of all is used.

A failing first search ends the run. Any later failure or timeout adds a notice, and the run continues with the results
it has.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from veracity.agents.base import RewriteTask, format_query
from veracity.errors import OutOfTimeError, VeracityError
from veracity.graph.context import RunContext
from veracity.graph.report import report
from veracity.graph.state import Plain, RunState, standalone_question
from veracity.models import Evidence, Passage, Quality
from veracity.models.steps import (
    FuseFacts,
    GradedEvidence,
    GradeFacts,
    QueryTexts,
    RerankFacts,
    RetrieveFacts,
    RewriteFacts,
    RewriteTexts,
    SelectSourcesFacts,
)
from veracity.retrieval.base import RankedPassage
from veracity.retrieval.search import RERANK_DEPTH

PASSAGE_FIELDS = tuple(field.name for field in fields(Passage))
GRAPH, TEMPORAL = "graph", "temporal"
MODEL_GRACE_SECONDS = 0.7  # a model call ends by itself at most half a second after its deadline
REWRITE_PASSAGES = 10  # passages a rewrite may draw on
FIRST_ROUND_PASSAGES = 2  # kept from the first round, because a rewrite may drift off topic
WIDENING_FACTOR = 2


def select_sources(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Choose the sources of this round.

    The first round uses the configured sources, and the temporal source if the question matches one of the user's weak
    points. Later rounds use those the rewrite chose.
    """
    context = runtime.context
    if state["retry_count"]:
        return {"found": None, **report(SelectSourcesFacts(sources=state["sources"]))}
    question = standalone_question(state)
    weak_points = context.memory.weak_points(state["user"], question)
    sources = [*context.settings.retrieval.sources, *([TEMPORAL] if weak_points else [])]
    return {
        "found": None,
        "evidence_from": "knowledge",
        "best_round": {},
        "abstains": False,
        "sources": sources,
        "width": context.settings.answering.graded,
        "weak_points": [{"question": weak.question, "passage_ids": list(weak.passage_ids)} for weak in weak_points],
        **report(SelectSourcesFacts(sources=sources, weak_points=len(weak_points))),
    }


def after_select_sources(state: RunState) -> list[Send]:
    """One parallel task per source."""
    task = {
        "query": state["query"],
        "added": state["added"],
        "depth": max(RERANK_DEPTH, state["width"]),
        "passage_ids": [passage_id for weak in state["weak_points"] for passage_id in weak["passage_ids"]],
        "is_first_round": not state["retry_count"],
    }
    return [Send("retrieve", {**task, "source": source}) for source in state["sources"]]


def retrieve(task: Plain, runtime: Runtime[RunContext]) -> Plain:
    context, source, query = runtime.context, task["source"], task["query"]
    depth, added = task["depth"], task["added"]

    def search() -> list[RankedPassage]:
        if source == TEMPORAL:
            return context.searcher.find_recalled(query, task["passage_ids"], depth, added)
        return context.searcher.find(source, query, depth, added)

    try:
        results = context.run_within(context.limits.loop, search)
    except VeracityError as error:
        if task["is_first_round"] and not isinstance(error, OutOfTimeError):
            raise
        return report(RetrieveFacts(source=source, found=0, problem=str(error)))
    return {
        "found": {source: [_to_plain(result) for result in results]},
        **report(RetrieveFacts(source=source, found=len(results))),
    }


def fuse(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    context = runtime.context
    sources = [source for source in state["sources"] if source in state["found"]]  # tasks finish in any order
    results = {source: [_from_plain(result) for result in state["found"][source]] for source in sources}
    limit = max(RERANK_DEPTH, state["width"])
    fused = context.searcher.fuse(results, limit, context.settings.quality.priority_source)
    is_complete = len(sources) == len(state["sources"])
    new: list[Plain] = [] if is_complete else [{"code": "search_incomplete"}]
    if context.searcher.has_outdated_vectors:
        new.append({"code": "outdated_index"})
    return {
        "found": None,
        "fused_results": [evidence.model_dump() for evidence in fused],
        "notices": _add_once(state["notices"], *new),
        **report(FuseFacts(passages=len(fused), method=context.settings.retrieval.fusion)),
    }


def _add_once(notices: list[Plain], *new: Plain) -> list[Plain]:
    """Several rounds of a search report a problem once, also if its details differ."""
    codes = {item["code"] for item in notices}
    return [*notices, *(item for item in new if item["code"] not in codes)]


def rerank(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """A failing reranker leaves the fused order, with a notice."""
    context, notices = runtime.context, state["notices"]
    fused, facts = _load_evidence(state["fused_results"]), RerankFacts(reranker=context.settings.reranker)
    try:
        if fused:
            fused = context.run_within(context.limits.loop, lambda: context.searcher.rerank(state["query"], fused))
    except VeracityError as error:
        facts = RerankFacts(reranker=facts.reranker, problem=str(error))
        notices = _add_once(notices, {"code": "not_reranked", "problem": str(error)})
    return {
        "fused_results": [evidence.model_dump() for evidence in fused[: state["width"]]],
        "notices": notices,
        **report(facts),
    }


def grade_documents(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Grade the round and keep the best one so far. On a tie the later round wins."""
    context, evidence = runtime.context, _load_evidence(state["fused_results"])
    quality = context.checker.check(evidence, bool(state["weak_points"]), state["language"])
    context.memory.keep_evidence(state["run_id"], evidence, given=False)
    top = state["fused_results"][: max(REWRITE_PASSAGES, context.settings.answering.evidence)]
    this_round = {"query": _full_query(state), "evidence": top, "quality": quality.model_dump()}
    best = state["best_round"]
    is_best = not best or quality.score >= best["quality"]["score"]
    graded = [GradedEvidence.of(item) for item in evidence]
    return {
        "quality_grade": quality.grade,
        "quality_score": quality.score,
        "quality_issues": [issue.text for issue in quality.issues],
        "best_round": this_round if is_best else best,
        "first_round": state["first_round"] or top[:FIRST_ROUND_PASSAGES],
        **report(
            GradeFacts(quality=quality, evidence=graded, sources=state["sources"], is_best=is_best),
            QueryTexts(query=_full_query(state)),
        ),
    }


def after_grade_documents(
    state: RunState, runtime: Runtime[RunContext]
) -> Literal["rewrite_query", "prepare_messages"]:
    """Rewrite a low-grade round without a strong passage, while rewrites and time are left (SPEC C4, C5)."""
    limits, settings = runtime.context.limits, runtime.context.settings.quality
    may_rewrite = state["retry_count"] < state["max_rewrites"] and not limits.loop.has_passed
    relevances = (item["metadata"]["relevance_score"] for item in state["fused_results"])
    is_weak = state["quality_score"] < settings.medium and max(relevances, default=0.0) < settings.strong_passage
    return "rewrite_query" if is_weak and may_rewrite else "prepare_messages"


def rewrite_query(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Replace the query. The failed one joins `original_queries` (SPEC C4)."""
    context = runtime.context
    tried = [*state["original_queries"], _full_query(state)]
    counted = {"retry_count": state["retry_count"] + 1, "original_queries": tried}
    task = _rewrite_task(state, context, tried)
    try:
        rewrite = context.run_within(context.limits.loop, lambda: context.rewriter.rewrite(task), MODEL_GRACE_SECONDS)
    except VeracityError as error:
        notices = [*state["notices"], {"code": "rewrite_failed", "problem": str(error)}]
        return {**counted, "rewrote": False, "notices": notices, **report(RewriteFacts(problem=str(error)))}
    if rewrite is None:
        return {**counted, "rewrote": False, **report(RewriteFacts(outcome="no new query to try"))}
    sources = list(rewrite.sources)
    return {
        **counted,
        "rewrote": True,
        "query": rewrite.query,
        "added": list(rewrite.added),
        "mended": rewrite.corrected or state["mended"],
        "sources": sources,
        "width": state["width"] * (WIDENING_FACTOR if rewrite.widen else 1),
        **report(
            RewriteFacts(model=context.rewriter.model, usage=rewrite.usage, sources=sources),
            RewriteTexts(query=rewrite.full_query, reason=rewrite.reason),
        ),
    }


def after_rewrite_query(state: RunState) -> Literal["select_sources", "prepare_messages"]:
    return "select_sources" if state["rewrote"] else "prepare_messages"


def _rewrite_task(state: RunState, context: RunContext, tried: list[str]) -> RewriteTask:
    best = state["best_round"]
    return RewriteTask(
        question=standalone_question(state),
        tried=tried,
        evidence=_load_evidence(best["evidence"]),
        quality=Quality.model_validate(best["quality"]),
        sources=state["sources"],
        available=["knowledge", GRAPH, *([TEMPORAL] if state["weak_points"] else [])],
        weak_points=[weak["question"] for weak in state["weak_points"]],
        deadline=context.limits.loop,
        budget=context.limits.budget,
    )


def _full_query(state: RunState) -> str:
    return format_query(state["query"], state["added"])


def _to_plain(result: RankedPassage) -> Plain:
    passage = {name: getattr(result.passage, name) for name in PASSAGE_FIELDS}
    return {"passage": passage, "score": result.score, "relevance": result.relevance}


def _from_plain(result: Plain) -> RankedPassage:
    """The state turns tuples into lists."""
    passage = result["passage"]
    tuples = {name: tuple(passage[name]) for name in ("headings", "entities")}
    return RankedPassage(Passage(**{**passage, **tuples}), result["score"], result["relevance"])


def _load_evidence(plain: list[Plain]) -> list[Evidence]:
    return [Evidence.model_validate(item) for item in plain]
