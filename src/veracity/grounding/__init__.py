"""Does this text support this sentence? Checked by rules: no language model, no network, deterministic.

`claims.py` reads what a passage states, `quantities.py` its numbers and dates; `support.py` compares them. For a text
in another language `translation.py` compares meanings with the bundled embedder, and `transliteration.py` names.
"""

from veracity.grounding.support import SUPPORT_THRESHOLD, EvidenceTexts, Support, checkable, support

__all__ = ["SUPPORT_THRESHOLD", "EvidenceTexts", "Support", "checkable", "support"]
