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
    settings,
    suggestions,
    upload_lists,
    users,
)

MODULES = (
    session,
    ask,
    runs,
    approvals,
    conversations,
    upload_lists,
    documents,
    originals,
    search,
    suggestions,
    evaluate,
    experiments,
    feed,
    users,
    settings,
)
ROUTERS = tuple(module.router for module in MODULES)

__all__ = ["ROUTERS", "documents"]
