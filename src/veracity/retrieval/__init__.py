"""Finds the passages relevant to a question: sources, fusion across them, reranking, calibrated relevance."""

from veracity.retrieval.search import Searcher, make_searcher

__all__ = ["Searcher", "make_searcher"]
