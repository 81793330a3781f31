"""Recognizes a conversation by what was said in it: OpenAI's clients send that with every question, and no name.

It is compared from the end, since clients leave out what is long ago, and let people edit what they said: then a new
conversation begins, and is the end of what they send from there on. The ledger is what is compared with, so that it
works after a restart and in any process. Knows nothing about HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from veracity.engine import Veracity
from veracity.models import PastTurn, User
from veracity.printable import encodable
from veracity.server.openai.schemas import Exchange

ALIKE = 10  # of the latest turns with the same question whose conversations are compared
LONGEST = 1000  # turns that are compared


class Fit(NamedTuple):
    """The greater the better."""

    answers: int  # that are those that were given
    questions: int  # that are the same, from the last one back
    is_whole: bool  # none but these were said


NONE = Fit(0, 0, False)


def conversation_of(engine: Veracity, caller: User, before: Sequence[Exchange], question: str) -> str:
    """The name of the caller's whose turns these are, the latest of those that fit as well. Empty where none fits."""
    if not before:
        return ""
    said = [Exchange(_asked(one.question), _words(one.answer)) for one in before[-LONGEST:]]
    alike = engine.runs_asking(said[-1].question, user=caller.name, limit=ALIKE)
    best, found = NONE, ""
    for name in dict.fromkeys(run.conversation for run in alike if run.conversation):
        turns = engine.turns(name, user=caller.name, limit=min(LONGEST, 20 + 3 * len(said)))
        if (fit := _fit(turns, said, _asked(question))) > best:
            best, found = fit, name
    return found


def _fit(turns: list[PastTurn], said: list[Exchange], question: str) -> Fit:
    """A turn that failed was no answer: clients drop it, or keep it. A question that was put again at once, as clients
    do for another answer, is one."""
    stood = [turn for turn in turns if turn.status != "failed"]
    failed = {turn.question for turn in turns} - {turn.question for turn in stood}
    known = [list(group) for _, group in groupby(stood, lambda turn: turn.question)]
    told = [list(group) for _, group in groupby(_without(failed, said), lambda one: one.question)]
    fit = _compared(known, told)
    if known and known[-1][0].question == question:  # it was asked already, and its answer is to be another
        fit = max(fit, _compared(known[:-1], told))
    return fit


def _without(questions: set[str], said: list[Exchange]) -> list[Exchange]:
    return [one for one in said if one.question not in questions]


def _compared(known: list[list[PastTurn]], told: list[list[Exchange]]) -> Fit:
    """From the last question back to where one of the two begins. Where only a part was said, an answer is what tells
    that it is a part of this."""
    common = min(len(known), len(told))
    pairs = list(zip(known[len(known) - common :], told[len(told) - common :], strict=True))
    if not pairs or any(turns[0].question != said[0].question for turns, said in pairs):
        return NONE
    answers = sum(any(_gave(turn, one.answer) for turn in turns for one in said) for turns, said in pairs)
    is_whole = len(known) == len(told)
    return Fit(answers, common, is_whole) if answers or is_whole else NONE


def _gave(turn: PastTurn, said: str) -> bool:
    """Sources may stand below the answer. Where a person was asked, its text named the run."""
    answer = _words(turn.answer)
    return turn.run_id in said or (bool(answer) and said.startswith(answer))


def _words(text: str) -> str:
    return " ".join(text.split())


def _asked(question: str) -> str:
    """As the ledger keeps it."""
    return encodable(question.strip())
