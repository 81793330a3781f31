"""The run as a LangGraph graph: `state` is what it carries, `parts` what its nodes work with, `build` every edge.

One file per loop: `conversing` opens a turn, `retrieving` finds evidence, `answering` writes and reviews. Loading this
package loads LangGraph.
"""

from veracity.deferred_imports import deferred

# Clients of remote services: LangGraph imports them for a class each, and Veracity calls no such service.
with deferred(
    "langsmith.types", "langgraph_sdk.client", "langgraph_sdk._async", "langgraph_sdk._sync", "langgraph_sdk.stream"
):
    import langgraph.graph  # noqa: F401
