"""Does this text support this sentence? Checked by rules: no model, no network, deterministic.

`claims.py` reads what a passage states, `quantities.py` its numbers and dates; `support.py` compares them.
"""

from veracity.grounding.support import SUPPORT_THRESHOLD, EvidenceTexts, Support, checkable, support

__all__ = ["SUPPORT_THRESHOLD", "EvidenceTexts", "Support", "checkable", "support"]
