"""Benchmark of query rewriting."""
