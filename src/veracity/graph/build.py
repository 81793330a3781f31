"""Every edge of a run.

START → process_input → summarize_if_needed → decide_route
    decide_route ─ direct ─→ answer_directly → END
                 ─ history ─→ search_context ─ found ─→ prepare_messages
                                             ─ not found ─→ select_sources
                 ─ knowledge ─→ select_sources
                 ─ web ─→ web_search
    select_sources → retrieve (one task per source) → fuse → rerank → grade_documents
    grade_documents ─ low ─→ rewrite_query → select_sources
                    ─ good enough, or out of rounds or time ─→ prepare_messages
    prepare_messages → generate_answer ─ abstains ─→ settle_answer (or select_sources, after earlier answers)
                                       ─ answers ─→ eval_answer ─ failed ─→ prepare_messages
                                                                ─ else ─→ settle_answer
    settle_answer ─ answers ─→ evaluate ─ every check passes ─→ END
                                        ─ failed review, weak grounding, low score or none ─→ human_approval
                  ─ not reviewed, or abstains and the web is configured ─→ human_approval
                  ─ abstains ─→ END
    human_approval ─ approved, or expired ─→ END
                   ─ sent back with a note ─→ prepare_messages
                   ─ rejected ─→ web_search, once ─ found ─→ prepare_messages
                                                  ─ not found, or not configured ─→ END
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from veracity.graph.answer import (
    after_eval_answer,
    after_generate_answer,
    eval_answer,
    generate_answer,
    prepare_messages,
    settle_answer,
)
from veracity.graph.approval import after_evaluate, after_human_approval, after_settle_answer, evaluate, human_approval
from veracity.graph.context import RunContext
from veracity.graph.report import reporting
from veracity.graph.retrieval import (
    after_grade_documents,
    after_rewrite_query,
    after_select_sources,
    fuse,
    grade_documents,
    rerank,
    retrieve,
    rewrite_query,
    select_sources,
)
from veracity.graph.state import Plain, RunState
from veracity.graph.turn import (
    after_decide_route,
    after_search_context,
    answer_directly,
    decide_route,
    process_input,
    search_context,
    summarize_if_needed,
)
from veracity.graph.web import after_web_search, web_search

Graph = CompiledStateGraph[RunState, RunContext, RunState, RunState]

NODES: tuple[Callable[[Any, Runtime[RunContext]], Plain], ...] = (
    process_input,
    summarize_if_needed,
    decide_route,
    answer_directly,
    search_context,
    select_sources,
    retrieve,
    fuse,
    rerank,
    grade_documents,
    rewrite_query,
    prepare_messages,
    generate_answer,
    eval_answer,
    settle_answer,
    evaluate,
    human_approval,
    web_search,
)


def build_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """The graph with this checkpointer. It is compiled once per process."""
    graph = copy.copy(_compiled())
    graph.checkpointer = checkpointer
    return graph


@cache
def _compiled() -> Graph:
    graph = StateGraph(RunState, context_schema=RunContext)
    for node in NODES:
        graph.add_node(node.__name__, reporting(node))
    graph.add_edge(START, "process_input")
    graph.add_edge("process_input", "summarize_if_needed")
    graph.add_edge("summarize_if_needed", "decide_route")
    graph.add_conditional_edges(
        "decide_route", after_decide_route, ["answer_directly", "search_context", "select_sources", "web_search"]
    )
    graph.add_edge("answer_directly", END)
    graph.add_conditional_edges(
        "search_context", after_search_context, ["prepare_messages", "select_sources", "answer_directly"]
    )
    graph.add_conditional_edges("select_sources", after_select_sources, ["retrieve"])
    graph.add_edge("retrieve", "fuse")
    graph.add_edge("fuse", "rerank")
    graph.add_edge("rerank", "grade_documents")
    graph.add_conditional_edges("grade_documents", after_grade_documents, ["rewrite_query", "prepare_messages"])
    graph.add_conditional_edges("rewrite_query", after_rewrite_query, ["select_sources", "prepare_messages"])
    graph.add_edge("prepare_messages", "generate_answer")
    graph.add_conditional_edges(
        "generate_answer", after_generate_answer, ["eval_answer", "settle_answer", "select_sources"]
    )
    graph.add_conditional_edges("eval_answer", after_eval_answer, ["prepare_messages", "settle_answer"])
    graph.add_conditional_edges("settle_answer", after_settle_answer, ["evaluate", "human_approval", END])
    graph.add_conditional_edges("evaluate", after_evaluate, ["human_approval", END])
    graph.add_conditional_edges("human_approval", after_human_approval, ["prepare_messages", "web_search", END])
    graph.add_conditional_edges("web_search", after_web_search, ["prepare_messages", "select_sources", END])
    return graph.compile()
