"""Weak points (SPEC C3): a user's questions that failed review, scored low, were rejected or got a disliked answer.

They are found by the words of a new question, at a cost that does not grow with their number. Only the question is
stored, and through its run the passages it found: never the failed answer.
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

MIN_SIMILARITY = 0.5  # of 1; tests/ledger/rows/test_weak_points.py shows which pairs of questions it separates
MAX_TERMS = 60
MAX_TERM_LENGTH = 100
MAX_CANDIDATES_PER_TERM = 50
MAX_CANDIDATES = 50
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_HAN = re.compile("[\u3400-\u9fff]{3,}")
_NEWEST_WITH_TERM = (  # a constant, because building a statement costs more than running it
    select(weak_terms.c.weak_point)
    .where((weak_terms.c.user_name == bindparam("user")) & (weak_terms.c.term == bindparam("term")))
    .order_by(weak_terms.c.weak_point.desc())
    .limit(MAX_CANDIDATES_PER_TERM)
)


@dataclass(frozen=True, slots=True)
class WeakPoint:
    """`passage_ids` were found then, those given to the writer first. `similarity` is to the current question."""

    question: str
    reason: str
    run_id: str
    created: datetime
    passage_ids: tuple[str, ...]
    similarity: float


def add(connection: Connection, run_id: str, user: str, question: str, reason: str) -> None:
    """No-op if the run is a weak point already: it keeps its first reason."""
    if connection.execute(select(weak_points.c.number).where(weak_points.c.run_id == run_id)).first() is not None:
        return
    values = {"run_id": run_id, "user_name": user, "question": question, "reason": reason, "created": datetime.now(UTC)}
    (number,) = connection.execute(insert(weak_points).values(values).returning(weak_points.c.number)).one()
    rows = [{"user_name": user, "term": term, "weak_point": number} for term in split_terms(question)]
    if rows:
        connection.execute(insert(weak_terms), rows)


def remove(connection: Connection, run_id: str, reason: str | None = None) -> None:
    """With a `reason`, only if it was added for that reason."""
    condition = weak_points.c.run_id == run_id
    if reason is not None:
        condition &= weak_points.c.reason == reason
    numbers = select(weak_points.c.number).where(condition)
    connection.execute(delete(weak_terms).where(weak_terms.c.weak_point.in_(numbers)))
    connection.execute(delete(weak_points).where(condition))


def find_similar(connection: Connection, user: str, question: str, limit: int) -> list[WeakPoint]:
    similarity = QuestionSimilarity(question)
    candidates = find_candidates(connection, _NEWEST_WITH_TERM, {"user": user}, similarity.terms)
    if not candidates:
        return []
    own = weak_points.c.number.in_(candidates) & (weak_points.c.user_name == user)
    rows = connection.execute(select(weak_points).where(own).order_by(weak_points.c.number.desc())).all()
    scored = [(similarity.to(row.question), row) for row in rows]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:limit]
    passages = evidence.list_ids_by_run(connection, [row.run_id for _, row in best])
    return [
        WeakPoint(row.question, row.reason, row.run_id, row.created, passages.get(row.run_id, ()), score)
        for score, row in best
    ]


class QuestionSimilarity:
    """Compares one question with any number of others."""

    def __init__(self, question: str) -> None:
        self.terms = split_terms(question)
        self._names = find_names(question)
        self._kinds = _kinds(question)

    def to(self, other: str) -> float:
        """The share of common terms; 0 if it is too low or the questions name or ask for different things."""
        own, others = set(self.terms), set(split_terms(other))
        share = len(own & others) / len(own | others) if own & others else 0.0
        if share < MIN_SIMILARITY:
            return 0.0
        names, kinds = find_names(other), _kinds(other)
        differ = (self._names - names and names - self._names) or (self._kinds and kinds and not self._kinds & kinds)
        return 0.0 if differ else share


def split_terms(question: str) -> list[str]:
    """The distinct words by which questions are compared. Empty for a question without words."""
    words = content_tokens(ASKING.sub(" ", question), guess_language(question))
    terms = [piece[:MAX_TERM_LENGTH] for word in words for piece in _pieces(word)]
    specific = [term for term in terms if not _HIRAGANA.fullmatch(term) and (len(term) > 1 or term.isascii())]
    return list(dict.fromkeys(specific or terms))[:MAX_TERMS]


def find_names(question: str) -> set[str]:
    """Named entities and numbers."""
    language = guess_language(question)
    numbers = {token for token in content_tokens(question, language) if token[0].isdigit()}
    return numbers | set(entities(question, language))


def find_candidates(
    connection: Connection, newest_with_term: Select[Any], scope: Mapping[str, Any], terms: Sequence[str]
) -> list[int]:
    """The row numbers that match most terms. Rare terms weigh more, so that old rows with common terms are found."""
    weights: defaultdict[int, float] = defaultdict(float)
    for term in terms:
        numbers = connection.execute(newest_with_term, {**scope, "term": term}).scalars().all()
        for number in numbers:
            weights[number] += 1 / len(numbers)
    return sorted(weights, key=lambda number: (-weights[number], -number))[:MAX_CANDIDATES]


def _kinds(question: str) -> set[str]:
    return {kind for part in question_parts(question) if (kind := kind_asked_for(part))}


def _pieces(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)] if _HAN.fullmatch(word) else [word]
