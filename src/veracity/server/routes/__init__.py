"""The routes below /api, one module per resource."""

from veracity.server.routes import (
    approvals,
    ask,
    conversations,
    documents,
    evaluate,
    experiments,
    feed,
    runs,
    search,
    session,
    suggestions,
)

MODULES = (session, ask, runs, approvals, conversations, documents, search, suggestions, evaluate, experiments, feed)
ROUTERS = tuple(module.router for module in MODULES)

__all__ = ["ROUTERS", "documents"]
