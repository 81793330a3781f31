"""Veracity over HTTP: an API, and a page for a team on top of it.

Parses, calls the engine, renders; knows nothing about how answers come about.
"""
