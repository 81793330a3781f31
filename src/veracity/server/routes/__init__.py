"""The routes below /api, one module per resource."""

from veracity.server.routes import (
    approvals,
    ask,
    conversations,
    documents,
    evaluate,
    experiments,
    feed,
    originals,
    runs,
    search,
    session,
)

MODULES = (session, ask, runs, approvals, conversations, documents, originals, search, evaluate, experiments, feed)
ROUTERS = tuple(module.router for module in MODULES)

__all__ = ["ROUTERS", "documents"]
