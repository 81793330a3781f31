"""Every edge of a run.

START → process_input → select_sources → retrieve (one task per source) → fuse → rerank → grade_documents
    grade_documents ─ low ─→ rewrite_query → select_sources
                    ─ good enough, or out of rounds or time ─→ prepare_messages
    prepare_messages → generate_answer ─ abstains ─→ settle_answer → END
                                       ─ answers ─→ eval_answer ─ failed ─→ prepare_messages
                                                                ─ else ─→ settle_answer → END
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from veracity.graph.answering import (
    after_eval_answer,
    after_generate_answer,
    eval_answer,
    generate_answer,
    prepare_messages,
    settle_answer,
)
from veracity.graph.conversing import process_input
from veracity.graph.parts import Parts
from veracity.graph.retrieving import (
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
from veracity.graph.tracing import traced

Graph = CompiledStateGraph[RunState, Parts, RunState, RunState]

NODES: tuple[Callable[[Any, Runtime[Parts]], Plain], ...] = (
    process_input,
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
)


def build_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(RunState, context_schema=Parts)
    for node in NODES:
        graph.add_node(node.__name__, traced(node))
    graph.add_edge(START, "process_input")
    graph.add_edge("process_input", "select_sources")
    graph.add_conditional_edges("select_sources", after_select_sources, ["retrieve"])
    graph.add_edge("retrieve", "fuse")
    graph.add_edge("fuse", "rerank")
    graph.add_edge("rerank", "grade_documents")
    graph.add_conditional_edges("grade_documents", after_grade_documents, ["rewrite_query", "prepare_messages"])
    graph.add_conditional_edges("rewrite_query", after_rewrite_query, ["select_sources", "prepare_messages"])
    graph.add_edge("prepare_messages", "generate_answer")
    graph.add_conditional_edges("generate_answer", after_generate_answer, ["eval_answer", "settle_answer"])
    graph.add_conditional_edges("eval_answer", after_eval_answer, ["prepare_messages", "settle_answer"])
    graph.add_edge("settle_answer", END)
    return graph.compile(checkpointer=checkpointer)
