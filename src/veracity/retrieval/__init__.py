"""Finds the passages that bear on a question: sources, fusion across them, reranking, calibrated relevance.

The store and the embedder are handed in. Knows nothing about files, databases or language models.
"""

from veracity.retrieval.search import Searcher, make_searcher

__all__ = ["Searcher", "make_searcher"]
