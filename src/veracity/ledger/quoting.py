"""What went wrong is told in the words of what failed, and these may quote: a metric its submission, a provider its
prompt. When something is forgotten they go; that it went wrong stays. Knows nothing about what is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from veracity.models import Notice, NoticeCode

GONE = "(removed with what was forgotten)"
NOTHING_BUT: NoticeCode = "evaluator_warning"  # has no words of ours
# Notices that end with such words, behind a colon (runs/notices.py).
QUOTING: frozenset[NoticeCode] = frozenset(
    (
        "not_reviewed",
        "redraft_failed",
        "rewrite_failed",
        "not_reranked",
        "not_scored",
        "web_failed",
        "web_not_written",
        "not_routed",
        "not_summarized",
    )
)
_FACTS = frozenset(("problem", "failed"))
_FACTS_OF = {"web_search": _FACTS | {"outcome"}}  # elsewhere an outcome is a word of ours
_BEHIND = re.compile("([:：]).*", re.S)
_ENDS = {":": ".", "：": "。"}


def notices_without(notices: Iterable[Notice]) -> list[Notice]:
    return [_without(one) if one.code in QUOTING else one for one in notices if one.code != NOTHING_BUT]


def facts_without(step: str, facts: dict[str, Any]) -> dict[str, Any]:
    quoting = _FACTS_OF.get(step, _FACTS)
    return {name: GONE if name in quoting else fact for name, fact in facts.items()}


def _without(notice: Notice) -> Notice:
    return notice.model_copy(update={"text": _BEHIND.sub(lambda found: _ENDS[found[1]], notice.text)})
