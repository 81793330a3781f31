"""The durable truth of a workspace: runs and conversations, what they found, what waits for a person, what went wrong,
and what was observed.

Knows nothing about how a question is answered. Importing it imports SQLAlchemy: the engine does so when it needs it.
"""

from veracity.ledger.ledger import Ledger
from veracity.ledger.observations import Observations
from veracity.ledger.rows.approvals import draft_hash
from veracity.ledger.rows.users import Users
from veracity.ledger.rows.weak_points import WeakPoint

__all__ = ["Ledger", "Observations", "Users", "WeakPoint", "draft_hash"]
