"""Searches the web through a provider and opens the pages it names.

Pages are opened by a fetcher that connects to public addresses alone, and read in capped subprocesses. Knows nothing
about runs, stores and ranking.
"""
