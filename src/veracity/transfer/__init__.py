"""Backups of a workspace, and moves to another place of storage. Import what is needed from its modules: moves load
LangGraph."""
