"""Turns the bytes of a document into plain text, in sandboxed processes. `extract.py` says how to add a file format.

Imports nothing, because the worker processes of `sandbox/` import this package before their limits are set.
"""
