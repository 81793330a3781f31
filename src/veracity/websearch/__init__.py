"""Searches the web through a provider and fetches the pages it names.

Pages are fetched from public addresses only, and read in sandboxed subprocesses.
"""
