"""Benchmarks of finding passages. `docs/benchmarks.md` tells what was measured."""
