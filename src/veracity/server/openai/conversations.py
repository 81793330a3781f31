"""Finds a chat's conversation by its earlier turns, which OpenAI's clients send with every question instead of a name.

Turns are compared from the end, because clients drop old turns. An edited turn matches no conversation and starts a new
one, which the rest of the chat then matches. The turns come from the ledger, so that it works in any process.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from veracity.engine import Veracity
from veracity.models import PastTurn, User
from veracity.printable import encodable
from veracity.server.openai.schemas import Exchange

MAX_CANDIDATES = 10  # newest runs with the same question whose conversations are compared
MAX_TURNS = 1000  # compared per conversation


class Match(NamedTuple):
    """How well a conversation matches: the greater the better."""

    answers: int = 0
    questions: int = 0
    is_complete: bool = False  # the conversation has no other turns


def find_conversation(engine: Veracity, user: User, earlier: Sequence[Exchange], question: str) -> str:
    """The user's conversation that matches best, the newest of several, or ""."""
    if not earlier:
        return ""
    said = [Exchange(encodable(one.question.strip()), _normalize(one.answer)) for one in earlier[-MAX_TURNS:]]
    runs = engine.runs_asking(said[-1].question, user=user.name, limit=MAX_CANDIDATES)
    best, name = Match(), ""
    for candidate in dict.fromkeys(run.conversation for run in runs if run.conversation):
        turns = engine.turns(candidate, user=user.name, limit=min(MAX_TURNS, 20 + 3 * len(said)))
        if (match := _match(turns, said, encodable(question.strip()))) > best:
            best, name = match, candidate
    return name


def _match(turns: list[PastTurn], said: list[Exchange], question: str) -> Match:
    """Ignores failed turns, which clients may drop or keep. Repetitions of a question count once: clients repeat it for
    another answer, also to the last question."""
    answered = [turn for turn in turns if turn.status != "failed"]
    failed = {turn.question for turn in turns} - {turn.question for turn in answered}
    known = [list(group) for _, group in groupby(answered, lambda turn: turn.question)]
    kept = (exchange for exchange in said if exchange.question not in failed)
    sent = [list(group) for _, group in groupby(kept, lambda exchange: exchange.question)]
    match = _compare(known, sent)
    if known and known[-1][0].question == question:
        match = max(match, _compare(known[:-1], sent))
    return match


def _compare(known: list[list[PastTurn]], sent: list[list[Exchange]]) -> Match:
    """Compares from the last question back to the start of the shorter list. If one is longer, questions alone are not
    enough: at least one answer must match."""
    count = min(len(known), len(sent))
    pairs = list(zip(known[len(known) - count :], sent[len(sent) - count :], strict=True))
    if not pairs or any(turns[0].question != exchanges[0].question for turns, exchanges in pairs):
        return Match()
    answers = sum(any(_is_answer(turn, one.answer) for turn in turns for one in said) for turns, said in pairs)
    is_complete = len(known) == len(sent)
    return Match(answers, count, is_complete) if answers or is_complete else Match()


def _is_answer(turn: PastTurn, text: str) -> bool:
    """Sources may follow the answer in the text. The text for a pending answer contains the run's id."""
    answer = _normalize(turn.answer)
    return turn.run_id in text or (bool(answer) and text.startswith(answer))


def _normalize(text: str) -> str:
    return " ".join(text.split())
