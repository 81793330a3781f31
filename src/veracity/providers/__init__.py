"""Shared code for calls to providers: keys, HTTP, retries and errors."""
