"""How a turn begins."""

from __future__ import annotations

from langgraph.runtime import Runtime

from veracity.agents import messages, writer
from veracity.graph.parts import Parts
from veracity.graph.spoken import as_langchain
from veracity.graph.state import Plain, RunState
from veracity.graph.tracing import trace
from veracity.language import guess_language


def process_input(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """The question opens the conversation with the writer (SPEC A10)."""
    question = state["question"]
    language = guess_language(question)
    instructions = runtime.context.prompts.get("writer", writer.INSTRUCTIONS)
    opening = messages.opening(question, language, instructions)
    return {
        "language": language,
        "messages": [as_langchain(message) for message in opening],
        **trace({"language": language, "route": "knowledge"}),
    }
