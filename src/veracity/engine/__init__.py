"""The engine: owns a workspace: its documents, answering questions about them, and what came of that.

Puts the parts together, and knows how none of them works.
"""

from veracity.engine.approving import Approving
from veracity.engine.asking import Asking
from veracity.engine.documents import Documents
from veracity.engine.remembering import Remembering
from veracity.engine.scoring import Scoring

__all__ = ["Veracity"]


class Veracity(Documents, Asking, Approving, Remembering, Scoring):
    """A workspace. Can be shared by threads. `close` it, or use it in a `with`, to end its processes at once; it cannot
    be used after that.

    A folder that is not there is created when something is brought in.
    """
