"""Weak points (SPEC C3): questions of a user that failed review, scored low or were rejected, or whose answer somebody
disliked.

They are found by the words of a new question, at a cost that does not grow with their number. What failed is never kept
here: only the question, and by its run the passages the writer had. Knows nothing about how they are used.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, insert, select

from veracity.language import content_tokens, entities, guess_language
from veracity.language.questions import ASKING, kind_asked_for, question_parts
from veracity.ledger.rows import evidence
from veracity.ledger.tables import weak_points, weak_terms

ALIKE = 0.5  # of 1; tests/ledger/test_likeness.py shows how many of its pairs lie on the right side
MOST_TERMS = 60
LONGEST_TERM = 100  # characters
NEWEST_PER_TERM = 50
MOST_COMPARED = 50
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_HAN = re.compile("[\u3400-\u9fff]{3,}")


def terms(question: str) -> list[str]:
    """The words by which a question is compared, each once. None for a question of signs only."""
    words = content_tokens(ASKING.sub(" ", question), guess_language(question))
    cut = [piece[:LONGEST_TERM] for word in words for piece in _pieces(word)]
    telling = [word for word in cut if not _HIRAGANA.fullmatch(word) and (len(word) > 1 or word.isascii())]
    return list(dict.fromkeys(telling or cut))[:MOST_TERMS]


class Likeness:
    """To one question, of any number of others."""

    def __init__(self, question: str) -> None:
        self.terms = terms(question)
        self._names = names(question)
        self._kinds = _kinds(question)

    def to(self, other: str) -> float:
        """From 0 to 1, the share of words they have in common; 0 where that is too little or something contradicts."""
        these, those = set(self.terms), set(terms(other))
        share = len(these & those) / len(these | those) if these & those else 0.0
        return 0.0 if share < ALIKE or self._contradicts(other) else share

    def _contradicts(self, other: str) -> bool:
        theirs, kinds = names(other), _kinds(other)
        if self._names - theirs and theirs - self._names:
            return True
        return bool(self._kinds and kinds and not self._kinds & kinds)


def newest_holding(
    connection: Connection, newest: Select[Any], known: Mapping[str, Any], words: Sequence[str]
) -> list[int]:
    """Of those that `newest` finds for each word, those that hold the most of them. A rare word counts for more: an old
    one is not among the newest that hold the common ones."""
    weight: defaultdict[int, float] = defaultdict(float)
    for word in words:
        found = connection.execute(newest, {**known, "word": word}).scalars().all()
        for number in found:
            weight[number] += 1 / len(found)
    return sorted(weight, key=lambda number: (-weight[number], -number))[:MOST_COMPARED]


def names(question: str) -> set[str]:
    """What it names, and its numbers."""
    language = guess_language(question)
    numbers = {token for token in content_tokens(question, language) if token[0].isdigit()}
    return numbers | set(entities(question, language))


def _kinds(question: str) -> set[str]:
    return {kind for part in question_parts(question) if (kind := kind_asked_for(part))}


def _pieces(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)] if _HAN.fullmatch(word) else [word]


_NEWEST = (  # built once: building it costs more than asking it
    select(weak_terms.c.weak_point)
    .where((weak_terms.c.user_name == bindparam("user")) & (weak_terms.c.term == bindparam("word")))
    .order_by(weak_terms.c.weak_point.desc())
    .limit(NEWEST_PER_TERM)
)


@dataclass(frozen=True, slots=True)
class WeakPoint:
    """`passage_ids` are of what was found then, the writer's first; `similarity` is to the question asked now."""

    question: str
    reason: str
    run_id: str
    created: datetime
    passage_ids: tuple[str, ...]
    similarity: float


def add(connection: Connection, run_id: str, user: str, question: str, reason: str) -> None:
    values = {"run_id": run_id, "user_name": user, "question": question, "reason": reason, "created": datetime.now(UTC)}
    (number,) = connection.execute(insert(weak_points).values(values).returning(weak_points.c.number)).one()
    rows = [{"user_name": user, "term": term, "weak_point": number} for term in terms(question)]
    if rows:
        connection.execute(insert(weak_terms), rows)


def add_once(connection: Connection, run_id: str, user: str, question: str, reason: str) -> None:
    """A run that is one already stays one, for the reason it was."""
    if connection.execute(select(weak_points.c.number).where(weak_points.c.run_id == run_id)).first() is None:
        add(connection, run_id, user, question, reason)


def remove(connection: Connection, run_id: str, reason: str | None = None) -> None:
    """With a `reason`, only if that is what made it one."""
    its = weak_points.c.run_id == run_id
    if reason is not None:
        its &= weak_points.c.reason == reason
    theirs = select(weak_points.c.number).where(its)
    connection.execute(delete(weak_terms).where(weak_terms.c.weak_point.in_(theirs)))
    connection.execute(delete(weak_points).where(its))


def matching(connection: Connection, user: str, question: str, limit: int) -> list[WeakPoint]:
    """Those of this user that ask the same as this question: the most similar first, then the newest."""
    likeness = Likeness(question)
    candidates = newest_holding(connection, _NEWEST, {"user": user}, likeness.terms)
    if not candidates:
        return []
    theirs = weak_points.c.number.in_(candidates) & (weak_points.c.user_name == user)
    rows = connection.execute(select(weak_points).where(theirs).order_by(weak_points.c.number.desc())).all()
    scored = [(likeness.to(row.question), row) for row in rows]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:limit]
    given = evidence.remembered_ids(connection, [row.run_id for _, row in best])
    return [
        WeakPoint(row.question, row.reason, row.run_id, row.created, given.get(row.run_id, ()), similarity)
        for similarity, row in best
    ]
