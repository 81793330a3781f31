"""Does this text support this sentence? Decided by form alone: no model, no network, the same answer every time.

`scoring` scores what `windows` finds of what `claims` reads; `quantities`, `units` and `opposites` say what counts as
the same and what as the contrary.
"""

from veracity.grounding.support import SUPPORT_THRESHOLD, EvidenceTexts, Support, checkable, support

__all__ = ["SUPPORT_THRESHOLD", "EvidenceTexts", "Support", "checkable", "support"]
