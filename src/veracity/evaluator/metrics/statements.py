"""What a submission states, sentence by sentence: the part that evidence can be held against. No metric itself."""

from __future__ import annotations

import re

from veracity.citations import without_marks
from veracity.grounding import checkable
from veracity.language import sentences

# "The documents do not say" states nothing that the documents could support.
ABSENCE = re.compile(
    r"\b(?:not|n't|never) (?:say|state|mention|specif|contain|provide|include|cover|address|disclose|give)"
    r"|\bno (?:information|mention|details?|data) (?:on|about|of|regarding|is|was|are)\b"
    r"|(?:没有|未|并未|没)(?:提及|提到|说明|提供|涉及|包含|给出|记载)"
    r"|(?:記載|言及|記述|説明|情報)(?:が|は)?(?:されていません|されていない|ありません|ない|なく|見当たりません)"
    r"|書かれていません|書かれていない",
    re.IGNORECASE,
)
SHOWN = 3
LONGEST_SHOWN = 160


def statements(submission: str) -> list[str]:
    """Its sentences, marks included, less questions, admissions that something is not known, and empty phrases."""
    return [sentence.text for sentence in sentences(submission) if _states_something(sentence.text)]


def _states_something(sentence: str) -> bool:
    bare = without_marks(sentence).strip()
    return not bare.endswith(("?", "？")) and not ABSENCE.search(bare) and checkable(bare)


def shown(findings: list[str], separator: str) -> str:
    """The first few findings, short enough to read."""
    cut = [text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…" for text in findings[:SHOWN]]
    return separator.join(cut) + (" …" if len(findings) > SHOWN else "")
