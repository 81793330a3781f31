"""Earlier answers that may be used again (SPEC D4), found by the words and the meaning of what is looked for.

A lookup by words costs the same however many there are; one by meaning compares the newest only. A turn is found if it
bears on most of what is looked for: a topic of one word must be in it, and it may not be about something of another
name (Dublin, Osaka). Knows nothing about who looks, and why.
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
from veracity.ledger.rows import conversations
from veracity.ledger.rows.runs import HeldRun
from veracity.ledger.rows.weak_points import MOST_COMPARED, NEWEST_PER_TERM, names, newest_holding, terms
from veracity.ledger.tables import recall_terms, recall_vectors, runs
from veracity.models import PastTurn

ENOUGH_WORDS = 0.6  # share of the words looked for; tests/ledger/test_recalling.py shows what it tells apart
ENOUGH_MEANING = 0.4  # cosine; for the bundled embedder the same tests show it
IN_ANSWER = 0.7  # what a word counts that only the answer holds
MOST_WORDS = 300
NEWEST_VECTORS = 5000
# Words that ask for something said before, and say nothing about it.
_ASKING_BACK = re.compile(
    r"\b(?:remind|said|say|told|tell|asked?|mention(?:ed)?|earlier|previous(?:ly)?|before|again|conversation|answer(?:ed)?)\b"
    r"|刚才|刚刚|之前|以前|上次|先前|告诉|提到|说过|说了|回答|问过|对话|さっき|先ほど|以前|前回|会話|回答|教えて|聞いた|言った|言い",
    re.I,
)
_HAN = re.compile("[\u3400-\u9fff]+")
_EMPTY = re.compile("关于|有关|对于|[的了是在有和与或吗呢吧么也都就被把对你我您请]")  # Chinese words that say nothing


def add(connection: Connection, run: HeldRun, answer: str, vector: bytes | None) -> None:
    whose = {"run": run.number, "user_name": run.user, "conversation": run.conversation}
    words = dict.fromkeys([*_words(run.question), *_words(answer)])
    if words:
        connection.execute(insert(recall_terms), [{**whose, "term": word} for word in words])
    if vector:
        connection.execute(insert(recall_vectors), {**whose, "vector": vector})


def require_vector(vector: bytes) -> None:
    if not vector or len(vector) % 4:
        raise InputError("A vector is handed in as the bytes of its float32 numbers.")


def remove(connection: Connection, number: int) -> None:
    """The run of this number is not found again."""
    for index in (recall_terms, recall_vectors):
        connection.execute(delete(index).where(index.c.run == number))


def matching(
    connection: Connection,
    user: str,
    conversation: str | None,
    query: str,
    vector: bytes | None,
    limit: int,
    leave_out: str,
) -> list[PastTurn]:
    """The best first, then the newest. Without a conversation: of all of the user's."""
    words = _words(ASKING.sub(" ", _ASKING_BACK.sub(" ", query))) or _words(query)
    meaning = _by_meaning(connection, user, conversation, vector) if vector else {}
    numbers = {*_by_words(connection, user, conversation, words), *meaning}
    theirs = runs.c.number.in_(numbers) & (runs.c.user_name == user) & (runs.c.run_id != leave_out)
    theirs &= (runs.c.forgotten == 0) & runs.c.status.in_(conversations.USABLE)
    rows = connection.execute(conversations.TURN.where(theirs).order_by(runs.c.number.desc())).all() if numbers else []
    wanted = names(query)
    fitting = [row for row in rows if conversations.is_usable(row) and not _names_another(wanted, row)]
    scored = [(max(_share(words, row), meaning.get(row.number, 0.0)), row) for row in fitting]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:limit]
    return [conversations.past_turn(row, similarity) for similarity, row in best]


def _words(text: str) -> list[str]:
    """By which a turn is found. Chinese characters count in pairs: where words begin and end is guessed differently in
    a topic (年假) and in a question that holds it (多少天年假)."""
    runs_of_han = _HAN.findall(_EMPTY.sub(" ", normalized(text)))
    pairs = [run[at : at + 2] for run in runs_of_han for at in range(len(run) - 1)]
    others = [word for word in terms(text) if not _HAN.search(word)]
    return list(dict.fromkeys([*others, *pairs]))[:MOST_WORDS]


def _names_another(wanted: set[str], row: Any) -> bool:
    """It lacks a name that is looked for, and has others in its place."""
    text = normalized(f"{row.question} {_answer(row)}").casefold()
    return any(name.replace("_", " ") not in text for name in wanted) and bool(names(row.question) - wanted)


def _answer(row: Any) -> str:
    return str(row.answer["text"]) if row.answer else ""


def _share(words: Sequence[str], row: Any) -> float:
    """Of the words looked for, how many the turn holds; 0 where that is too little."""
    if not words:
        return 0.0
    asked, answered = set(_words(row.question)), set(_words(_answer(row)))
    share = sum(1.0 if word in asked else IN_ANSWER if word in answered else 0.0 for word in words) / len(words)
    return share if share >= ENOUGH_WORDS else 0.0


def _by_words(connection: Connection, user: str, conversation: str | None, words: Sequence[str]) -> list[int]:
    if conversation is None:
        return newest_holding(connection, _NEWEST, {"user": user}, words)
    return newest_holding(connection, _NEWEST_HERE, {"user": user, "conversation": conversation}, words)


def _by_meaning(connection: Connection, user: str, conversation: str | None, vector: bytes) -> dict[int, float]:
    """The turns that mean something close, by number. A vector of another embedder has another length."""
    wanted = select(recall_vectors.c.run, recall_vectors.c.vector).where(recall_vectors.c.user_name == user)
    if conversation is not None:
        wanted = wanted.where(recall_vectors.c.conversation == conversation)
    newest = wanted.order_by(recall_vectors.c.run.desc()).limit(NEWEST_VECTORS)
    rows = [(number, stored) for number, stored in connection.execute(newest) if len(stored) == len(vector)]
    if not rows:
        return {}
    known = _unit(np.frombuffer(b"".join(stored for _, stored in rows), np.float32).reshape(len(rows), -1))
    close = known @ _unit(np.frombuffer(vector, np.float32).reshape(1, -1))[0]
    best = np.argsort(-close, kind="stable")[:MOST_COMPARED]
    return {rows[at][0]: min(1.0, float(close[at])) for at in best if close[at] >= ENOUGH_MEANING}


def _unit(vectors: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.nan_to_num(vectors / np.where(lengths > 0, lengths, 1.0), nan=0.0, posinf=0.0, neginf=0.0)


_NEWEST = (  # built once: building it costs more than asking it
    select(recall_terms.c.run)
    .where((recall_terms.c.user_name == bindparam("user")) & (recall_terms.c.term == bindparam("word")))
    .order_by(recall_terms.c.run.desc())
    .limit(NEWEST_PER_TERM)
)
_NEWEST_HERE = _NEWEST.where(recall_terms.c.conversation == bindparam("conversation"))
