"""Benchmarks of grading evidence and rewriting queries."""
