"""Runs and conversations that are found by what was asked and said in them.

For a conversation, every word of the query must be in one turn: in its question, or in an answer that went out. A word
in Latin letters is the beginning of a word there (refund, refunds); anything else may stand anywhere, since Chinese and
Japanese do not separate words. Wide and narrow forms, and great and small letters, are the same. Knows nothing about
why one looks.
"""

from __future__ import annotations

import re

from sqlalchemy import Connection, case, func, select

from veracity.language import normalized
from veracity.ledger.columns import as_stored
from veracity.ledger.conversations import USABLE
from veracity.ledger.runs import fitting
from veracity.ledger.schema import HEAD, question_head, runs
from veracity.models import RunSummary

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


def runs_asking(connection: Connection, user: str, question: str, limit: int) -> list[RunSummary]:
    """Those of this user that ask exactly this, the newest first."""
    asked = as_stored(question)
    same = (question_head == asked[:HEAD]) & (func.substr(runs.c.question, HEAD + 1) == asked[HEAD:])
    return fitting(connection, (runs.c.user_name == user) & same, limit)


def run_under(connection: Connection, user: str, key: str) -> RunSummary | None:
    """The one that this user asked under the key."""
    found = fitting(connection, (runs.c.user_name == user) & (runs.c.request_key == key), 1)
    return found[0] if found else None


def _holds(text: str, patterns: list[re.Pattern[str]]) -> bool:
    folded = _folded(text)
    return all(pattern.search(folded) for pattern in patterns)


def _pattern(word: str) -> re.Pattern[str]:
    begins = f"(?<![{_LATIN}])" if re.match(f"[{_LATIN}]", word) else ""
    return re.compile(begins + re.escape(word))


def _folded(text: str) -> str:
    return normalized(text).casefold()
