"""Experiments: suites of cases, run through the engine, and statistics that say what a difference is worth (X6)."""
