"""The durable truth of a workspace: runs, what they found, what went wrong, and what was observed.

Knows nothing about how a question is answered. Importing it imports SQLAlchemy: the engine does so when it needs it.
"""

from veracity.ledger.ledger import Ledger
from veracity.ledger.observations import Observations
from veracity.ledger.weakpoints import WeakPoint

__all__ = ["Ledger", "Observations", "WeakPoint"]
