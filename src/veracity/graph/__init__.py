"""The run as a LangGraph graph: `state` is what it carries, `parts` what its nodes work with, `build` every edge.

One file per loop: `conversing` opens a turn, `retrieving` finds evidence, `answering` writes and reviews. Loading this
package loads LangGraph.
"""

from veracity.deferred_imports import deferred_in_commands

# Clients of LangGraph's services take as long to import as LangGraph. Commands import them on first use.
with deferred_in_commands("langgraph_sdk", "langsmith.client", "langsmith.types"):
    import langgraph.graph  # noqa: F401 - for the modules of this package
    import langsmith.run_helpers  # noqa: F401 - for `runs`
