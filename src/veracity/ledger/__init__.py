"""Durable storage of a workspace: runs, conversations, evidence, approvals, feedback, users and observations.

Importing it imports SQLAlchemy, so the engine imports it on first use.
"""

from veracity.ledger.ledger import Ledger, RunRecords
from veracity.ledger.observations import Observations
from veracity.ledger.rows.approvals import draft_hash
from veracity.ledger.rows.users import Users
from veracity.ledger.rows.weak_points import WeakPoint

__all__ = ["Ledger", "Observations", "RunRecords", "Users", "WeakPoint", "draft_hash"]
