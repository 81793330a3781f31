"""The run as a LangGraph graph: `state` is what it carries, `parts` what its nodes work with, `build` every edge.

One file per loop: `conversing` opens a turn, `retrieving` finds evidence, `answering` writes and reviews. Loading this
package loads LangGraph.
"""
