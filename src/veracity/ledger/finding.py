"""Conversations that are found by what was said in them.

Every word of the query must be in one turn: in its question, or in an answer that went out. A word in Latin letters is
the beginning of a word there (refund, refunds); anything else may stand anywhere, since Chinese and Japanese do not
separate words. Wide and narrow forms, and great and small letters, are the same. Knows nothing about why one looks.
"""

from __future__ import annotations

import re

from sqlalchemy import Connection, case, select

from veracity.language import normalized
from veracity.ledger.conversations import USABLE
from veracity.ledger.schema import runs

MOST_WORDS = 20
_LATIN = "0-9a-z\u00df-\u024f"


def conversations_with(connection: Connection, user: str, query: str) -> set[str]:
    """The names of this user's conversations in which a turn holds the words."""
    patterns = [_pattern(word) for word in list(dict.fromkeys(_folded(query).split()))[:MOST_WORDS]]
    went_out = case((runs.c.status.in_(USABLE), runs.c.answer["text"].as_string()), else_="")
    theirs = (runs.c.user_name == user) & (runs.c.conversation != "")
    found: set[str] = set()
    for name, question, answer in connection.execute(
        select(runs.c.conversation, runs.c.question, went_out).where(theirs)
    ):
        if name not in found and _holds(f"{question}\n{answer or ''}", patterns):
            found.add(name)
    return found


def _holds(text: str, patterns: list[re.Pattern[str]]) -> bool:
    folded = _folded(text)
    return all(pattern.search(folded) for pattern in patterns)


def _pattern(word: str) -> re.Pattern[str]:
    begins = f"(?<![{_LATIN}])" if re.match(f"[{_LATIN}]", word) else ""
    return re.compile(begins + re.escape(word))


def _folded(text: str) -> str:
    return normalized(text).casefold()
