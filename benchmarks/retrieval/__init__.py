"""Retrieval benchmarks. Results are in `docs/benchmarks.md`."""
