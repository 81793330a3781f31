"""The checkable statements of a text, and the evidence to check them against."""

from __future__ import annotations

import re
from functools import lru_cache

from veracity.deadlines import check_time
from veracity.grounding.support import EvidenceTexts, checkable
from veracity.language import sentences
from veracity.language.citations import without_marks

MAX_FINDINGS = 3
MAX_FINDING_LENGTH = 160

# "The documents do not say" is not a claim that evidence could support. The evidence must be the subject:
# "the warranty does not cover fire" is a claim, and so is a sentence with a number.
_EVIDENCE = r"(?:documents?|context|sources?|texts?|evidence|passages?|materials?|excerpts?|articles?|records?)"
NO_INFORMATION = re.compile(
    rf"\b{_EVIDENCE}\b[^.;]{{0,40}}(?:\bnot|n't|\bnever) "
    r"(?:say|state|mention|specify|contain|provide|include|cover|address|give)"
    rf"|\bno (?:information|mention|details?|data)\b[^.;]{{0,60}}\b{_EVIDENCE}\b"
    rf"|\bnot (?:mentioned|stated|specified|covered|given|provided|found)\b[^.;]{{0,20}}\b{_EVIDENCE}\b"
    r"|(?:资料|文档|文件|证据|上下文|材料|原文|来源|文中)[^。；]{0,12}(?:没有|未|没)(?:提及|提到|说明|提供|涉及|包含|给出|记载)"
    r"|(?:資料|文書|根拠|文脈|本文|ドキュメント|出典|文中)[^。；]{0,20}(?:記載|言及|記述|説明|情報|書かれて)[^。；]{0,6}(?:ません|ない|なく)",
    re.IGNORECASE,
)
# Phrases around an answer that are not part of it.
SMALL_TALK = re.compile(
    r"(?:sure|certainly|of course|great question|good question|thanks?(?: you)?|you're welcome|hello|hi|"
    r"(?:i )?hope (?:this|that) helps|let me know if|please let me know|feel free to|here(?:'s| is| are)|based on the|"
    r"in summary|好的|当然|谢谢|以下是|希望|如有|はい、承知|承知しました|以下のとおり|ご参考|お役に立て)",
    re.IGNORECASE,
)
# `1.`, `2)`, `（3）`, `④` at the start of a line: the number of a list item, not an amount.
ITEM_NUMBER = re.compile(r"^(?:[(（]?\d{1,3}[.)）、．:：]|[(（]\d{1,3}[)）]|[\u2460-\u2473])\s*(?=\D)")
# A heading, a table rule, a line that introduces the next, an entry in a list of sources.
SCAFFOLDING = re.compile(
    r"^#{1,6}\s|^[|\s:+=-]+$|^\*\*[^*]+\*\*:?$|[:：]$|^(?:sources?|references?|来源|参考|出典)\b|^[\[［【]\d{1,3}[\]］】]\s",
    re.I,
)


def statements(submission: str) -> list[str]:
    """The sentences to check, with citation marks; omits headings, questions, small talk and remarks on missing
    evidence."""
    return list(_statements(submission))


@lru_cache(maxsize=4)
def _statements(submission: str) -> tuple[str, ...]:
    """Cached, because every local metric of a request needs them."""
    texts = (ITEM_NUMBER.sub("", sentence.text) for sentence in sentences(submission))
    return tuple(sentence for sentence in texts if _states_something(sentence))


def _states_something(sentence: str) -> bool:
    check_time()
    bare = without_marks(sentence).strip()
    if SCAFFOLDING.search(sentence) or bare.endswith(("?", "？")):
        return False
    digits = any(character.isdigit() for character in bare)
    if not digits and (NO_INFORMATION.search(bare) or (len(bare) <= 60 and SMALL_TALK.match(bare))):
        return False
    return checkable(bare)


@lru_cache(maxsize=2)
def index_evidence(context: tuple[str, ...]) -> EvidenceTexts:
    """The indexed evidence, cached for all metrics of a request."""
    return EvidenceTexts(context)


def list_findings(findings: list[str], separator: str) -> str:
    """The first findings, shortened."""
    short = [
        text if len(text) <= MAX_FINDING_LENGTH else text[:MAX_FINDING_LENGTH] + "…" for text in findings[:MAX_FINDINGS]
    ]
    return separator.join(short) + (" …" if len(findings) > MAX_FINDINGS else "")
