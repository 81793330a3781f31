"""Index of earlier answers that can be reused (SPEC D4), searched by words and by meaning.

A lookup by words costs the same however many answers there are; a lookup by meaning compares the newest vectors only.
A turn matches if it covers most of the query and is not about something of another name (Dublin, Osaka).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, delete, insert, select

from veracity.errors import InputError
from veracity.language import normalized
from veracity.language.questions import ASKING
from veracity.ledger.rows import conversations, weak_points
from veracity.ledger.rows.runs import LockedRun
from veracity.ledger.rows.weak_points import find_candidates, find_names, split_terms
from veracity.ledger.tables import recall_terms, recall_vectors, runs
from veracity.models import PastTurn

# tests/ledger/rows/test_recall.py shows what these two separate, MIN_COSINE for the bundled embedder.
MIN_WORD_SHARE = 0.6  # of the query's words
MIN_COSINE = 0.4
ANSWER_WORD_WEIGHT = 0.7  # of a word that occurs in the answer but not in the question
MAX_WORDS = 300
MAX_VECTORS = 5000
# Words that ask for an earlier answer without saying which.
_ASKING_BACK = re.compile(
    r"\b(?:remind|said|say|told|tell|asked?|mention(?:ed)?|earlier|previous(?:ly)?|before|again|conversation|answer(?:ed)?)\b"
    r"|刚才|刚刚|之前|以前|上次|先前|告诉|提到|说过|说了|回答|问过|对话|さっき|先ほど|以前|前回|会話|回答|教えて|聞いた|言った|言い",
    re.I,
)
_HAN = re.compile("[\u3400-\u9fff]+")
_CHINESE_STOP_WORDS = re.compile("关于|有关|对于|[的了是在有和与或吗呢吧么也都就被把对你我您请]")
_NEWEST_WITH_TERM = (  # a constant, because building a statement costs more than running it
    select(recall_terms.c.run)
    .where((recall_terms.c.user_name == bindparam("user")) & (recall_terms.c.term == bindparam("term")))
    .order_by(recall_terms.c.run.desc())
    .limit(weak_points.MAX_CANDIDATES_PER_TERM)
)
_NEWEST_IN_CONVERSATION = _NEWEST_WITH_TERM.where(recall_terms.c.conversation == bindparam("conversation"))


def add(connection: Connection, run: LockedRun, answer: str, vector: bytes | None) -> None:
    key = {"run": run.number, "user_name": run.user, "conversation": run.conversation}
    words = dict.fromkeys([*_words(run.question), *_words(answer)])
    if words:
        connection.execute(insert(recall_terms), [{**key, "term": word} for word in words])
    if vector:
        connection.execute(insert(recall_vectors), {**key, "vector": vector})


def require_vector(vector: bytes) -> None:
    if not vector or len(vector) % 4:
        raise InputError("A vector must be the bytes of one or more float32 numbers.")


def remove(connection: Connection, run_number: int) -> None:
    for index in (recall_terms, recall_vectors):
        connection.execute(delete(index).where(index.c.run == run_number))


def find_turns(
    connection: Connection,
    user: str,
    conversation: str | None,
    query: str,
    vector: bytes | None,
    limit: int,
    exclude_run: str,
) -> list[PastTurn]:
    words = _words(ASKING.sub(" ", _ASKING_BACK.sub(" ", query))) or _words(query)
    cosines = _find_by_meaning(connection, user, conversation, vector) if vector else {}
    numbers = {*_find_by_words(connection, user, conversation, words), *cosines}
    own = runs.c.number.in_(numbers) & (runs.c.user_name == user) & (runs.c.run_id != exclude_run)
    own &= (runs.c.forgotten == 0) & runs.c.status.in_(conversations.REUSABLE_STATUSES)
    rows = connection.execute(conversations.TURN.where(own).order_by(runs.c.number.desc())).all() if numbers else []
    names = find_names(query)
    matching = [row for row in rows if conversations.is_reusable(row) and not _has_other_names(names, row)]
    scored = [(max(_word_share(words, row), cosines.get(row.number, 0.0)), row) for row in matching]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:limit]
    return [conversations.past_turn(row, similarity) for similarity, row in best]


def _words(text: str) -> list[str]:
    """The words that index a turn. Chinese counts in pairs of characters, because segmentation differs between a topic
    (年假) and a question that contains it (多少天年假)."""
    chinese = _HAN.findall(_CHINESE_STOP_WORDS.sub(" ", normalized(text)))
    pairs = [piece[at : at + 2] for piece in chinese for at in range(len(piece) - 1)]
    others = [term for term in split_terms(text) if not _HAN.search(term)]
    return list(dict.fromkeys([*others, *pairs]))[:MAX_WORDS]


def _has_other_names(names: set[str], row: Any) -> bool:
    """Whether the turn lacks a name of the query and has others instead."""
    text = normalized(f"{row.question} {_answer(row)}").casefold()
    return any(name.replace("_", " ") not in text for name in names) and bool(find_names(row.question) - names)


def _answer(row: Any) -> str:
    return str(row.answer["text"]) if row.answer else ""


def _word_share(words: Sequence[str], row: Any) -> float:
    """The share of the query's words in the turn; 0 if it is too low."""
    if not words:
        return 0.0
    asked, answered = set(_words(row.question)), set(_words(_answer(row)))
    weights = (1.0 if word in asked else ANSWER_WORD_WEIGHT if word in answered else 0.0 for word in words)
    share = sum(weights) / len(words)
    return share if share >= MIN_WORD_SHARE else 0.0


def _find_by_words(connection: Connection, user: str, conversation: str | None, words: Sequence[str]) -> list[int]:
    newest = _NEWEST_WITH_TERM if conversation is None else _NEWEST_IN_CONVERSATION
    return find_candidates(connection, newest, {"user": user, "conversation": conversation}, words)


def _find_by_meaning(connection: Connection, user: str, conversation: str | None, vector: bytes) -> dict[int, float]:
    """Run numbers and cosines. Skips vectors of another length, which come from another embedder."""
    query = select(recall_vectors.c.run, recall_vectors.c.vector).where(recall_vectors.c.user_name == user)
    if conversation is not None:
        query = query.where(recall_vectors.c.conversation == conversation)
    newest = connection.execute(query.order_by(recall_vectors.c.run.desc()).limit(MAX_VECTORS))
    rows = [(number, stored) for number, stored in newest if len(stored) == len(vector)]
    if not rows:
        return {}
    stored = _unit(np.frombuffer(b"".join(stored for _, stored in rows), np.float32).reshape(len(rows), -1))
    cosines = stored @ _unit(np.frombuffer(vector, np.float32).reshape(1, -1))[0]
    best = np.argsort(-cosines, kind="stable")[: weak_points.MAX_CANDIDATES]
    return {rows[at][0]: min(1.0, float(cosines[at])) for at in best if cosines[at] >= MIN_COSINE}


def _unit(vectors: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.nan_to_num(vectors / np.where(lengths > 0, lengths, 1.0), nan=0.0, posinf=0.0, neginf=0.0)
